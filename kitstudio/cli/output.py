"""What a command prints: one JSON document (or lines) on standard output, or calm text; never a traceback.

With ``--json`` human text goes to standard error; with ``--quiet`` progress and remarks are left out.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from kitstudio.models.errors import KitStudioError

DONE, FAILED, REFUSED, USAGE = 0, 1, 2, 64
"""Exit codes of ``cli.md``."""


class UsageError(KitStudioError):
    """The command line itself is wrong: exit 64."""


class RefusedError(KitStudioError):
    """A gate or policy said no: exit 2."""


@dataclass(slots=True)
class Output:
    """Where a command's words go. One a run. ``as_lines``: this command's JSON is lines, its errors too."""

    as_json: bool = False
    as_lines: bool = False
    quiet: bool = False
    out: TextIO = sys.stdout
    err: TextIO = sys.stderr

    def document(self, value: object) -> None:
        """The command's one JSON document; nothing without ``--json``."""
        if self.as_json:
            indent = None if self.as_lines else 2
            print(self._json(value, indent), file=self.out, flush=True)

    def line(self, value: object) -> None:
        """One of the command's JSON lines; nothing without ``--json``."""
        if self.as_json:
            print(self._json(value), file=self.out, flush=True)

    def say(self, text: str = "") -> None:
        """The command's result in words."""
        print(printable(text), file=self.err if self.as_json else self.out, flush=True)

    def note(self, text: str) -> None:
        """Progress and remarks, beside the result."""
        if not self.quiet:
            print(printable(text), file=self.err, flush=True)

    def table(self, rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> None:
        """Aligned columns, two blanks apart; the last one runs free."""
        lines = [tuple(printable(cell).replace("\n", " ") for cell in row) for row in rows]
        if head and lines:
            lines.insert(0, tuple(head))
        if not lines:
            return
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
        for line in lines:
            cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
            self.say("  ".join([*cells, line[-1]]).rstrip())

    def program(self, status: int, stdout: bytes, stderr: bytes, *, passed_on: bool = False) -> int:
        """What a program in a sandbox wrote, as one JSON document or byte for byte; its status, to exit with.

        ``passed_on``: its bytes were written as they came.
        """
        self.document(
            {"status": status, "stdout": stdout.decode(errors="replace"), "stderr": stderr.decode(errors="replace")}
        )
        if not self.as_json and not passed_on:
            pass_on(False, stdout)
            pass_on(True, stderr)
        return status

    def _json(self, value: object, indent: int | None = None) -> str:
        """JSON that every reader takes: what is no text (bytes of a path), or no letter of a terminal that does not
        speak UTF-8, is written as JSON's escapes."""
        spoken = (getattr(self.out, "encoding", None) or "utf-8").lower().replace("_", "-")
        text = json.dumps(value, ensure_ascii=spoken not in ("utf-8", "utf8"), indent=indent)
        return text.encode("utf-8", "backslashreplace").decode()

    def error(self, error: KitStudioError) -> None:
        """What, where, remedy: as JSON where asked, and always for a reader."""
        if self.as_json:
            self.document({"error": error_json(error)})
        place = f"{error.where}: " if error.where and error.where not in error.what else ""
        print(f"error: {printable(place + error.what)}", file=self.err)
        if error.remedy:
            print(f"  {printable(error.remedy)}", file=self.err)
        self.err.flush()


def pass_on(error: bool, data: bytes) -> None:
    """A program's bytes, on standard output or standard error, at once."""
    stream = (sys.stderr if error else sys.stdout).buffer
    stream.write(data)
    stream.flush()


def error_json(error: KitStudioError) -> dict[str, str]:
    """The one shape of an error in JSON."""
    return {"what": error.what, "where": error.where, "remedy": error.remedy}


def printable(text: str) -> str:
    """``text`` with control characters made visible: names and messages come from strangers."""
    return "".join(ch if ch == "\n" or ch.isprintable() or ch == "\t" else f"\\x{ord(ch):02x}" for ch in text)


def interactive() -> bool:
    """Whether a person sits at a terminal and can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> str:
    """One answer from the terminal; empty at end of input."""
    print(question, end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    return answer.strip()


def speak_any_encoding(*streams: TextIO) -> None:
    """Letters that a terminal cannot write become escapes: words never end a command."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def close_quietly() -> None:
    """After the reader of a pipe left: keep the interpreter's own flush from complaining."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.close(descriptor)
