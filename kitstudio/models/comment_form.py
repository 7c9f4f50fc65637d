"""The comment descriptor (§3.3): a Dockerfile that carries its descriptor in a ``# kit:`` block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.issue import Issue

_OPENER: Final = re.compile(r"#[ \t]*kit:[ \t]*\r?")
_COMMENT: Final = re.compile(r"[ \t]*#[ \t]?")
_DIRECTIVE: Final = re.compile(r"[ \t]*#[ \t]*syntax[ \t]*=")


@dataclass(frozen=True, slots=True)
class CommentBlock:
    """The descriptor inside a Dockerfile.

    ``text`` begins with an empty line for every line above the block, so that its line numbers are the file's;
    ``first``: the block's first line (1-based), ``cuts``: how many characters were taken off the front of each of its
    lines, ``column`` turns a column of ``text`` into one of the file.
    """

    text: str
    first: int
    cuts: tuple[int, ...]

    def column(self, line: int, column: int) -> int:
        """The column in the file of a column in the block's text."""
        index = line - self.first
        return column + self.cuts[index] if 0 <= index < len(self.cuts) else column


def comment_block(text: str) -> CommentBlock | None:
    """The ``# kit:`` block above the first instruction; None where there is none.

    It ends at the first line that is no comment, and at a second ``# syntax=`` stanza.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    for number, line in enumerate(lines):
        if _OPENER.fullmatch(line):
            return _block(lines, number + 1)
        if line.strip() and not line.lstrip().startswith("#"):
            return None
    return None


def check_comment_form(descriptor: Descriptor) -> tuple[Issue, ...]:
    """What a comment descriptor must not state: the file already is the recipe (§3.3)."""
    stated = (
        ("build", bool(descriptor.build)),
        ("dockerfile", bool(descriptor.dockerfile)),
        ("kits", bool(descriptor.kits)),
    )
    return tuple(
        Issue(name, f"{name!r} cannot be stated in a comment descriptor", "The file itself is the recipe: remove it.")
        for name, found in stated
        if found
    )


def _block(lines: list[str], start: int) -> CommentBlock:
    inner: list[tuple[int, str]] = []
    for line in lines[start:]:
        mark = _COMMENT.match(line)
        if mark is None or _DIRECTIVE.match(line):
            break
        inner.append((mark.end(), line[mark.end() :]))
    filled = [text for _, text in inner if text.strip()]
    shared = min((len(text) - len(text.lstrip(" ")) for text in filled), default=0)
    cut = [(taken + min(shared, len(text) - len(text.lstrip(" "))), text) for taken, text in inner]
    body = [lines[start + index][taken:] for index, (taken, _) in enumerate(cut)]
    return CommentBlock("\n".join([*([""] * start), *body]), start + 1, tuple(taken for taken, _ in cut))
