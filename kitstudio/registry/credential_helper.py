"""Docker's credential helpers: programs named ``docker-credential-NAME`` that hand out one sign-in on request.

They are run without a shell, found on ``PATH`` only, and bounded in time and output. What they say is hostile input,
and what they print beside a sign-in is never repeated: it may be one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import time

from kitstudio.registry.reference import RegistryError

SECONDS = 20.0
MAX_OUTPUT = 64 * 1024

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ABSENT = ("credentials not found", "no credentials", "not found in native keychain")


class HelperFailed(RegistryError):
    """A credential helper is missing, does not answer, or answers nonsense."""


def ask_helper(name: str, server: str, *, seconds: float = SECONDS) -> tuple[str, str] | None:
    """User name and secret kept for ``server``, or None where the helper has none. Raises ``HelperFailed``."""
    if not _NAME.fullmatch(name):
        raise HelperFailed("Docker's configuration names a credential helper that cannot exist.", where=name[:64])
    program = shutil.which(f"docker-credential-{name}")
    if program is None or not os.path.isabs(program):
        # A relative entry of PATH would run what lies in whatever folder we were started from.
        raise HelperFailed(
            f"The credential helper docker-credential-{name} is not installed.",
            where=server,
            remedy="Install it, or sign in here.",
        )
    status, output = _run(program, server.encode(), seconds)
    if status != 0:
        said = output.decode(errors="replace").lower()
        if any(words in said for words in _ABSENT):
            return None
        raise HelperFailed(
            f"The credential helper docker-credential-{name} failed (exit status {status}).",
            where=server,
            remedy="Try it in a terminal, or sign in here.",
        )
    return _parsed(name, server, output)


def _parsed(name: str, server: str, output: bytes) -> tuple[str, str] | None:
    try:
        document = json.loads(output)
        username, secret = document["Username"], document["Secret"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise HelperFailed(
            f"The credential helper docker-credential-{name} does not answer as one does.", where=server
        ) from None
    if not isinstance(username, str) or not isinstance(secret, str) or not secret:
        return None
    return username, secret


def _run(program: str, question: bytes, seconds: float) -> tuple[int, bytes]:
    """Exit status and bounded standard output of ``program get``."""
    name = os.path.basename(program)
    deadline = time.monotonic() + seconds
    try:
        process = subprocess.Popen(
            [program, "get"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise HelperFailed(f"{name} cannot be started: {error.strerror}.") from error
    assert process.stdin is not None
    assert process.stdout is not None
    output = bytearray()
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(question)
            process.stdin.close()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise HelperFailed(f"{name} did not answer within {seconds:g} s.", remedy="Sign in here.")
                chunk = os.read(process.stdout.fileno(), 65536)
                if not chunk:
                    break
                output += chunk
                if len(output) > MAX_OUTPUT:
                    raise HelperFailed(f"{name} prints more than a sign-in.")
        return process.wait(max(0.1, deadline - time.monotonic())), bytes(output)
    except subprocess.TimeoutExpired:
        raise HelperFailed(f"{name} did not end within {seconds:g} s.", remedy="Sign in here.") from None
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
