PS1='agent@workbench:\w\$ '
alias ll='ls -l'
