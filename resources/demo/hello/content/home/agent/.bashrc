PS1='agent@hello:\w\$ '
