"""Starts QEMU bound to its owner; run as a program with only the standard library, then replaced by QEMU.

``launch.py OWNER UID:GID|- COMMAND…``: dies with process OWNER (even when that is killed), and with ``UID:GID`` first
enters a user namespace where this user is UID:GID and has no other privilege.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x10000000


def main(arguments: list[str]) -> None:
    """Never returns: QEMU, or an exit with a sentence on stderr (status 70: no user namespace, 71: no QEMU)."""
    owner, identity, *command = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    os.umask(0o077)
    if identity != "-":
        _enter_user_namespace(libc, *identity.split(":"))
    # after the namespace: gaining its privileges would clear the signal
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(owner):
        sys.exit(72)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        _fail(71, f"{command[0]}: {error.strerror}")


def _enter_user_namespace(libc: ctypes.CDLL, uid: str, gid: str) -> None:
    host_uid, host_gid = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWUSER):
        _fail(70, f"this system does not let you make a user namespace ({os.strerror(ctypes.get_errno())})")
    try:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {host_uid} 1"),
            ("gid_map", f"{gid} {host_gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
                stream.write(text)
    except OSError as error:
        _fail(70, f"this system does not let you map users in a user namespace ({error.strerror})")


def _fail(status: int, text: str) -> None:
    print(text, file=sys.stderr, flush=True)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
