"""Foreign pictures become pixels in another process, one at a time, within limits of memory and time.

The process (``ui.icon_process``) is started for the first icon and kept; one that dies, hangs or answers anything but
pixels is ended, and the next icon gets a new one. All calls block: they belong in a thread.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import IO

from kitstudio.registry.icon_format import IconRefused

FORMATS = ("png", "jpeg", "webp", "gif", "svg")
REQUEST = struct.Struct(">IBH")
"""Bytes of the picture, its format as a place in ``FORMATS``, the largest side wanted."""
ANSWER = struct.Struct(">HH")
"""Width and height of the pixels that follow; two zeros where there is no picture."""
MAX_BYTES = 512 * 1024
MAX_SIDE = 512
SECONDS = 5.0
STARTING = 20.0
REUSED = 500
"""Icons one process decodes before a fresh one takes its place."""
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": os.defpath, "QT_NO_GLIB": "1", "MALLOC_ARENA_MAX": "1"}


@dataclass(frozen=True, slots=True)
class Pixels:
    """A decoded icon: RGBA, premultiplied, four bytes a pixel, no padding."""

    width: int
    height: int
    data: bytes = field(repr=False)


class IconDecoder:
    """``seconds``: how long one icon may take; ``command``: the program, for tests of what it may do wrong."""

    def __init__(self, *, seconds: float = SECONDS, command: tuple[str, ...] = ()) -> None:
        self._seconds = seconds
        # -I: neither the folder this runs in nor the environment says what is imported.
        self._command = command or (sys.executable, "-I", "-m", "kitstudio.ui.icon_process")
        self._process: subprocess.Popen[bytes] | None = None
        self._done = 0
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """The running process; 0 where none runs."""
        return self._process.pid if self._process is not None else 0

    def decode(self, data: bytes, kind: str, side: int) -> Pixels:
        """Pixels of at most ``side`` a side. Raises ``IconRefused``."""
        if kind not in FORMATS or not 0 < len(data) <= MAX_BYTES or not 0 < side <= MAX_SIDE:
            raise IconRefused("This picture is not decoded: it is outside the limits.")
        with self._lock:
            first = self._process is None
            process = self._running()
            try:
                head = REQUEST.pack(len(data), FORMATS.index(kind), side)
                limit = time.monotonic() + self._seconds + (STARTING if first else 0.0)
                pixels = self._exchange(process, head + data, side, limit)
            except (OSError, EOFError, TimeoutError) as error:
                self._end()
                slow = isinstance(error, TimeoutError)
                raise IconRefused(
                    "The picture took too long to decode." if slow else "The picture could not be decoded."
                ) from error
            self._done += 1
            if self._done >= REUSED:
                self._end()
        if pixels is None:
            raise IconRefused("The picture is damaged.")
        return pixels

    def close(self) -> None:
        """End the process, whatever it is doing."""
        # Without the lock: a decoding that runs fails, and its thread goes.
        process = self._process
        if process is not None:
            process.kill()
        if self._lock.acquire(timeout=1.0):
            try:
                self._end()
            finally:
                self._lock.release()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            try:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    env=ENVIRONMENT,
                    cwd="/",
                    close_fds=True,
                    start_new_session=True,
                )
            except OSError as error:
                raise IconRefused("The program that decodes pictures could not be started.") from error
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes, side: int, limit: float) -> Pixels | None:
        assert process.stdin is not None and process.stdout is not None
        left = memoryview(request)
        while left:
            _wait(process.stdin, selectors.EVENT_WRITE, limit)
            left = left[os.write(process.stdin.fileno(), left[:65_536]) :]
        width, height = ANSWER.unpack(_read(process.stdout, ANSWER.size, limit))
        if not width or not height:
            return None
        if width > side or height > side:
            raise EOFError("more pixels than were asked for")
        return Pixels(width, height, _read(process.stdout, width * height * 4, limit))

    def _end(self) -> None:
        process, self._process, self._done = self._process, None, 0
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.kill()
        process.wait()


def _read(pipe: IO[bytes], size: int, limit: float) -> bytes:
    found = bytearray()
    while len(found) < size:
        _wait(pipe, selectors.EVENT_READ, limit)
        part = os.read(pipe.fileno(), min(size - len(found), 65_536))
        if not part:
            raise EOFError("the process ended")
        found += part
    return bytes(found)


def _wait(pipe: IO[bytes], event: int, limit: float) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, event)
        if not selector.select(max(0.0, limit - time.monotonic())):
            raise TimeoutError
