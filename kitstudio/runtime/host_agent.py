"""The SSH agent of this computer, looked for without speaking to it: whoever only asks for it need not know SSH."""

from __future__ import annotations

import socket


def is_agent(path: str) -> bool:
    """Whether somebody listens at a Unix socket. Blocking, for at most a second."""
    if not path:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as trial:
        trial.settimeout(1)
        try:
            trial.connect(path)
        except (OSError, ValueError):
            return False
    return True
