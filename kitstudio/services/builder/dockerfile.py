"""Dockerfile text as instructions: lines joined, comments and parser directives taken out. Text only, no files.

Only what the native builder carries out is accepted; every other instruction is refused by name and line, so that no
image ever lacks a step its recipe states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kitstudio.models.errors import KitStudioError

MAX_LINES = 10_000
CARRIED_OUT = ("ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "LABEL", "USER", "WORKDIR")
"""The instructions that need nothing to be run."""

_KNOWN_SYNTAX = re.compile(r"(docker\.io/)?(docker/dockerfile:1(\.\d+)*|docker/sandbox-kit:3(\.\d+)*)")
_DIRECTIVE = re.compile(r"#\s*([A-Za-z]+)\s*=\s*(.*?)\s*")
_SYNTAX = re.compile(r"#\s*syntax\s*=\s*(.*?)\s*", re.IGNORECASE)
_FLAG = re.compile(r"--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class NotCarriedOut(KitStudioError):
    """A recipe asks for something that only a full builder does."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. ``word``: upper case; ``rest``: its text after the flags; ``where``: file and line."""

    word: str
    rest: str
    flags: tuple[tuple[str, str], ...]
    where: str


def instructions(text: str, name: str, remedy: str) -> tuple[Instruction, ...]:
    """The instructions of ``text``. Raises ``NotCarriedOut`` for one that is not carried out here."""
    lines = text.removeprefix("\ufeff").split("\n")
    if len(lines) > MAX_LINES:
        raise KitStudioError(f"The recipe has more than {MAX_LINES:,} lines.", where=name)
    _check_directives(lines, name, remedy)
    found: list[Instruction] = []
    pieces: list[str] = []
    first = 0
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r")
        if line.lstrip().startswith("#") or (pieces and not line.strip()):
            continue
        if not pieces:
            line, first = line.lstrip(), number
        if not line:
            continue
        stripped = line.rstrip(" \t")
        if stripped.endswith("\\"):
            pieces.append(stripped[:-1])
            continue
        found.append(_instruction("".join([*pieces, line]), f"{name}:{first}", remedy))
        pieces = []
    if pieces:
        found.append(_instruction("".join(pieces), f"{name}:{first}", remedy))
    return tuple(found)


def expand(text: str, values: Mapping[str, str], where: str) -> str:
    """``$NAME``, ``${NAME}``, ``${NAME:-word}`` and ``${NAME:+word}`` with these values; ``\\$`` stays a dollar sign.

    Single quotes are not special here: quoting is taken away before.
    """
    found: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and text[at + 1 : at + 2] == "$":
            found.append("$")
            at += 2
        elif char != "$":
            found.append(char)
            at += 1
        else:
            value, at = _variable(text, at + 1, values, where)
            found.append(value)
    return "".join(found)


def split_words(text: str, values: Mapping[str, str], where: str) -> tuple[str, ...]:
    """Words parted by blanks, quotes and escapes taken away, variables replaced (not within single quotes)."""
    found: list[str] = []
    current: list[str] | None = None
    at = 0
    while at < len(text):
        char = text[at]
        if char in " \t":
            if current is not None:
                found.append("".join(current))
                current = None
            at += 1
            continue
        current = [] if current is None else current
        if char in "'\"":
            piece, at = _quoted(text, at, values, where)
            current.append(piece)
        elif char == "\\" and at + 1 < len(text):
            current.append(text[at + 1])
            at += 2
        elif char == "$":
            value, at = _variable(text, at + 1, values, where)
            current.append(value)
        else:
            current.append(char)
            at += 1
    return tuple(found) if current is None else (*found, "".join(current))


def pairs(text: str, values: Mapping[str, str], where: str) -> tuple[tuple[str, str], ...]:
    """``K=V …``, or the older ``K V`` (one pair to the end of the line)."""
    first = re.match(r"\S+", text)
    if first is None:
        raise KitStudioError("A name and a value belong here.", where=where)
    if "=" not in first[0]:
        key, _, rest = text.partition(" ")
        if not rest.strip():
            raise KitStudioError(f"{key} has no value.", where=where, remedy=f"Write {key}=VALUE.")
        return ((key, " ".join(split_words(rest, values, where))),)
    found = []
    for word in split_words(text, values, where):
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise KitStudioError(f"{word!r} is no NAME=VALUE.", where=where)
        found.append((key, value))
    return tuple(found)


def argv(text: str, where: str) -> tuple[str, ...]:
    """A command: a JSON list as it is, anything else for ``/bin/sh -c``."""
    return json_words(text, where) or ("/bin/sh", "-c", text)


def json_words(text: str, where: str) -> tuple[str, ...]:
    """The words of a JSON list of texts; nothing where it is none."""
    if not text.startswith("["):
        return ()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        return ()
    if not found:
        raise KitStudioError("The list is empty.", where=where)
    return tuple(found)


def _check_directives(lines: list[str], name: str, remedy: str) -> None:
    directives = True
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            return
        where = f"{name}:{number}"
        if (syntax := _SYNTAX.fullmatch(text)) and not _KNOWN_SYNTAX.fullmatch(syntax[1]):
            raise NotCarriedOut(f"The recipe is for another builder, {syntax[1]}.", where=where, remedy=remedy)
        directive = _DIRECTIVE.fullmatch(text) if directives else None
        directives = directive is not None
        if directive and directive[1].lower() == "escape" and directive[2] != "\\":
            raise NotCarriedOut("Another escape character is not read here.", where=where, remedy=remedy)


def _instruction(line: str, where: str, remedy: str) -> Instruction:
    head = re.match(r"\S+", line)
    word = head[0].upper() if head else ""
    if word not in CARRIED_OUT:
        shown = word[:40] if word.isascii() and word.isalpha() else repr(word[:40])
        raise NotCarriedOut(
            f"{shown} is not carried out here: Kit Studio builds only what needs nothing to be run.",
            where=where,
            remedy=remedy,
        )
    rest = line[len(word) :].strip()
    flags: list[tuple[str, str]] = []
    while word in ("ADD", "COPY", "FROM") and (flag := _FLAG.match(rest)):
        flags.append((flag[1], flag[2] or ""))
        rest = rest[flag.end() :]
    if word in ("ADD", "COPY") and "<<" in rest:
        raise NotCarriedOut("Text within the recipe (<<) is not read here.", where=where, remedy=remedy)
    if not rest:
        raise KitStudioError(f"{word} states nothing.", where=where)
    return Instruction(word, rest, tuple(flags), where)


def _quoted(text: str, at: int, values: Mapping[str, str], where: str) -> tuple[str, int]:
    quote = text[at]
    found: list[str] = []
    at += 1
    while at < len(text):
        char = text[at]
        if char == quote:
            return "".join(found), at + 1
        if quote == '"' and char == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$"):
            found.append(text[at + 1])
            at += 2
        elif quote == '"' and char == "$":
            value, at = _variable(text, at + 1, values, where)
            found.append(value)
        else:
            found.append(char)
            at += 1
    raise KitStudioError(f"A quotation mark ({quote}) is not closed.", where=where)


def _variable(text: str, at: int, values: Mapping[str, str], where: str) -> tuple[str, int]:
    """The value of the variable whose name begins at ``at`` (behind the dollar sign), and where it ends."""
    if text[at : at + 1] != "{":
        name = _VARIABLE.match(text, at)
        return (values.get(name[0], ""), name.end()) if name else ("$", at)
    end = text.find("}", at)
    inner = text[at + 1 : end] if end > 0 else ""
    name = _VARIABLE.match(inner)
    if name is None:
        raise KitStudioError("A variable is not closed, or has no name.", where=where)
    value, modifier, word = values.get(name[0], ""), inner[name.end() : name.end() + 2], inner[name.end() + 2 :]
    if not inner[name.end() :]:
        return value, end + 1
    if modifier not in (":-", ":+") or "$" in word:
        raise NotCarriedOut(f"${{{inner[:60]}}} is not read here.", where=where, remedy="Write it out.")
    return (value or word) if modifier == ":-" else (word if value else ""), end + 1
