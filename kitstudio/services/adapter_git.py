"""A name and an address out of a file in Git's own syntax, and back into it: the transport of an identity in the
conformance text. Nothing else of the file is taken over, and no file it includes is read."""

from __future__ import annotations

import re
from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.capabilities.git_identity import GitIdentity, with_identity
from kitstudio.services.home import write_atomic

MAX_FILE = 1 << 20
_HEAD = re.compile(r'\[\s*([A-Za-z0-9.-]+)(\s+"(?:[^"\\]|\\.)*")?\s*\]\s*')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


def read_identity(file: Path) -> tuple[str, str]:
    """``user.name`` and ``user.email``, empty where the file does not state one; the last one stated counts."""
    found = {"name": "", "email": ""}
    section = ""
    for line in _lines(_text(file)):
        rest = line.strip()
        head = _HEAD.match(rest)
        if head:
            section = "" if head[2] else head[1].lower()
            rest = rest[head.end() :]
        stated = _KEY.match(rest)
        if section == "user" and stated and stated[1].lower() in found:
            found[stated[1].lower()] = _value(stated[2] or "")
    return found["name"], found["email"]


def write_identity(file: Path, name: str, email: str) -> None:
    """Put another pair into the file, every other line as it was."""
    write_atomic(file, with_identity(_text(file), GitIdentity(name, email)).encode("utf-8", "surrogateescape"))


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_FILE + 1)
    except OSError as error:
        raise KitStudioError(f"The Git identity cannot be read: {error.strerror}.", where=str(file)) from error
    if len(data) > MAX_FILE:
        raise KitStudioError("The file with the Git identity is larger than 1 MiB.", where=str(file))
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def _lines(text: str) -> list[str]:
    """Lines with the ones they continue in: an odd number of backslashes at the end."""
    found: list[str] = []
    open_line = ""
    for line in text.splitlines():
        open_line += line
        if (len(open_line) - len(open_line.rstrip("\\"))) % 2:
            open_line = open_line[:-1]
            continue
        found.append(open_line)
        open_line = ""
    return [*found, open_line] if open_line else found


def _value(text: str) -> str:
    """A value without quotes, escapes and comment; blanks at its end belong to it only inside quotes."""
    out: list[str] = []
    quoted, kept = False, 0
    letters = iter(text)
    for letter in letters:
        if letter == "\\":
            out.append(_ESCAPES.get(next(letters, ""), ""))
        elif letter == '"':
            quoted = not quoted
            kept = len(out)
            continue
        elif letter in "#;" and not quoted:
            break
        else:
            out.append(letter)
        if quoted or not letter.isspace():
            kept = len(out)
    return "".join(out[:kept])
