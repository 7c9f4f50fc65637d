"""What an editor shows beside a descriptor that is being written: findings at their place, and what it would ask for.

The findings are those of ``validate``, with the same line and column; everything is computed in a worker thread from
the text alone. Files are read and written whole: a file that an editor could not give back unchanged is refused.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from kitstudio.models.changes import uncounted
from kitstudio.models.comment_form import CommentBlock, check_comment_form, comment_block
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.diagnostics import locate
from kitstudio.models.document import LINE_BREAK, DecodeError, Document, Node, NodeKind, Position
from kitstudio.models.errors import KitStudioError
from kitstudio.models.issue import Issue
from kitstudio.models.review import Permission, Uncounted, permissions
from kitstudio.models.tree import MAX_TEXT
from kitstudio.models.validate import Form, validate
from kitstudio.registry.folder import companion_of, is_recipe, read_folder
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.services.home import write_atomic

LONGEST_LINE: Final = 20_000
"""Characters of a line that is edited: published JSON on one line is looked at, not typed into."""
MAX_MARKS: Final = 500
"""Findings that are shown; the first errors are what is repaired first."""
_UNKEPT: Final = re.compile("\r(?!\n)|[\x00\x85\u2028\u2029\ufdd0\ufdd1]")
"""What a text field would swallow or turn into another line end."""


_Lines: TypeAlias = tuple[tuple[int, int], ...]


_INVISIBLE: Final = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]+"
)
"""Signs without a picture, and those that turn the direction of what follows."""
MAX_NOTES: Final = 50


class Severity(Enum):
    """Errors and warnings are those of ``validate``, and only errors make a descriptor invalid. Notes are the editor's:
    what a reader of the text would not see."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Authoring(Enum):
    """Where the recipe is (§3)."""

    DECLARATION = "declaration"
    COMPANION = "companion"
    NAMED = "named"
    INLINE = "inline"
    COMMENT = "comment"
    SET = "set"


@dataclass(frozen=True, slots=True)
class Mark:
    """A finding. ``line`` and ``column`` as ``validate`` says them (of the file); ``start`` and ``end`` are character
    offsets of what is underlined, on one line."""

    severity: Severity
    message: str
    remedy: str
    path: str
    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Lint:
    """All there is to say of a text. ``decoded`` is false where it is no descriptor yet; then there are no rows.

    ``more``: findings beyond the ones listed.
    """

    form: Form
    marks: tuple[Mark, ...] = ()
    more: int = 0
    decoded: bool = False
    kind: str = ""
    authoring: Authoring = Authoring.DECLARATION
    recipe: str = ""
    permissions: tuple[Permission, ...] = ()
    uncounted: tuple[Uncounted, ...] = ()

    @property
    def valid(self) -> bool:
        return self.decoded and not self.errors

    @property
    def errors(self) -> int:
        """How many errors are listed."""
        return sum(mark.severity is Severity.ERROR for mark in self.marks)


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file as it was read. ``text``: without byte order mark, lines ended by one newline; ``crlf`` and ``bom`` put
    them back; ``stamp``: the SHA-256 of the bytes."""

    path: Path
    text: str
    stamp: str
    crlf: bool = False
    bom: bool = False


class FileChanged(KitStudioError):
    """Somebody else wrote the file since it was read."""


async def open_file(path: Path) -> OpenFile:
    """The descriptor of a Kit folder, a descriptor file, or a Dockerfile with a ``# kit:`` block."""
    kit = await read_folder(path)
    return await in_thread(_open, kit.path)


async def save_file(file: OpenFile, text: str, *, overwrite: bool = False) -> OpenFile:
    """Write atomically, in the line ends the file had. Raises ``FileChanged`` where it is not what was read."""
    return await in_thread(_save, file, text, overwrite)


async def stamp_of(path: Path) -> str:
    """The SHA-256 of a file's bytes as they are now; empty where there is no such file any more."""
    return await in_thread(_stamp, path)


async def lint(text: str, path: Path, form: Form = Form.AUTHORED) -> Lint:
    """Judge a text as the content of ``path``."""
    return await in_thread(_lint, text, path, form)


def judge(text: str, path: Path, form: Form = Form.AUTHORED) -> Lint:
    """The same in this thread; looks beside ``path`` for the recipe."""
    lines = _line_spans(text)
    found = _judged(text, lines, path, form)
    return replace(found, marks=(*found.marks, *_unseen(text, lines)))


def _judged(text: str, lines: _Lines, path: Path, form: Form) -> Lint:
    in_comments = is_recipe(path)
    block = comment_block(text) if in_comments else None
    if in_comments and block is None:
        what = "This Dockerfile carries no descriptor"
        remedy = "State it in a `# kit:` block above the first instruction."
        return Lint(form, (_mark(text, lines, None, Severity.ERROR, what, remedy, "", Position(1, 1), None),))
    descriptor_text = block.text if block is not None else text
    try:
        document = decode(descriptor_text, name=path.name)
    except DecodeError as error:
        at = error.position or Position(1, 1)
        what = error.what.rstrip(".")
        return Lint(form, (_mark(text, lines, block, Severity.ERROR, what, error.remedy, "", at, None),))
    descriptor = document.descriptor
    report = validate(document, form)
    authoring, recipe, missing = _recipe(descriptor, path, in_comments=in_comments)
    errors = (*report.errors, *(check_comment_form(descriptor) if in_comments else ()), *missing)
    found = [(Severity.ERROR, issue) for issue in errors] + [(Severity.WARNING, issue) for issue in report.warnings]
    return Lint(
        form,
        tuple(_located(text, lines, block, document, severity, issue) for severity, issue in found[:MAX_MARKS]),
        max(0, len(found) - MAX_MARKS),
        True,
        descriptor.kind,
        authoring,
        recipe,
        permissions(descriptor, path.name, document.lines()),
        uncounted(path.name, descriptor),
    )


def _unseen(text: str, lines: _Lines) -> Iterator[Mark]:
    """Notes about signs that cannot be seen: a text must not read differently from what it says."""
    starts = [start for start, _ in lines]
    for found in islice(_INVISIBLE.finditer(text), MAX_NOTES):
        number = bisect_right(starts, found.start())
        column = found.start() - starts[number - 1] + 1
        what = f"The sign U+{ord(found[0][0]):04X} cannot be seen here and may change how the line reads"
        remedy = "Remove it, or write it as an escape inside double quotes."
        yield Mark(Severity.NOTE, what, remedy, "", number, column, found.start(), found.end())


def _lint(stop: Stop, text: str, path: Path, form: Form) -> Lint:
    stop.check()
    return judge(text, path, form)


def _recipe(descriptor: Descriptor, path: Path, *, in_comments: bool) -> tuple[Authoring, str, tuple[Issue, ...]]:
    """Which form it is written in, the recipe's name, and what is wrong with that."""
    if in_comments:
        return Authoring.COMMENT, path.name, ()
    if descriptor.kits:
        return Authoring.SET, "", ()
    if descriptor.build:
        return Authoring.INLINE, "", ()
    if descriptor.dockerfile:
        named = (path.parent / descriptor.dockerfile).resolve()
        inside = named.is_relative_to(path.parent.resolve())
        if inside and not named.is_file():
            what = f"the recipe {descriptor.dockerfile!r} is not there"
            return (
                Authoring.NAMED,
                descriptor.dockerfile,
                (Issue("dockerfile", what, "Write it, or correct the name."),),
            )
        return Authoring.NAMED, descriptor.dockerfile, ()
    companion = companion_of(path)
    if companion is not None:
        return Authoring.COMPANION, companion.name, ()
    return Authoring.DECLARATION, "", ()


def _located(
    text: str, lines: _Lines, block: CommentBlock | None, document: Document, severity: Severity, issue: Issue
) -> Mark:
    node = _node(document, issue.path)
    at = locate(document, issue.path) if issue.path else Position(1, 1)
    if block is not None and not issue.path:
        at = Position(block.first, 1)
    return _mark(text, lines, block, severity, str(issue), issue.remedy, issue.path, at, node)


def _node(document: Document, path: str) -> Node | None:
    if not path:
        return None
    positions = document.positions
    while path and path not in positions:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return positions.node(path) if path else None


def _mark(
    text: str,
    lines: _Lines,
    block: CommentBlock | None,
    severity: Severity,
    message: str,
    remedy: str,
    path: str,
    at: Position,
    node: Node | None,
) -> Mark:
    """``at``: in the descriptor's text. Underlined is the element as far as its first line goes, at least one sign."""
    column = block.column(at.line, at.column) if block is not None else at.column
    start, line_end = lines[at.line - 1] if at.line <= len(lines) else (len(text), len(text))
    begin = min(start + column - 1, line_end)
    end = begin + _length(text[begin:line_end], node)
    if begin == end and begin > start:
        begin -= 1
    return Mark(severity, message, remedy, path, at.line, column, begin, end)


def _length(rest: str, node: Node | None) -> int:
    """Characters of ``rest`` that belong to a node; the first word where there is no node."""
    if node is None:
        return len(rest.rstrip()) if len(rest) < 80 else len(rest.split(" ", 1)[0])
    if node.kind is NodeKind.SCALAR and node.end > node.start:
        return len(rest[: node.end - node.start].rstrip())
    if node.kind is NodeKind.ALIAS or node.flow:
        return len(rest[: max(1, node.end - node.start)].rstrip())
    return len(rest.split(" #", 1)[0].rstrip())


def _line_spans(text: str) -> _Lines:
    """Start and end (without its line end) of every line."""
    found, start = [], 0
    for line_break in LINE_BREAK.finditer(text):
        found.append((start, line_break.start()))
        start = line_break.end()
    return (*found, (start, len(text)))


def _open(stop: Stop, path: Path) -> OpenFile:
    data = _bytes(path)
    stop.check()
    if len(data) > MAX_TEXT:
        raise KitStudioError(
            f"The file is larger than {MAX_TEXT // 1024 // 1024} MiB and is not opened for editing.",
            where=str(path),
            remedy="A descriptor may have 512 KiB at most: move content into layers.",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise KitStudioError("The file is not UTF-8 text.", where=str(path), remedy="Save it as UTF-8.") from error
    bom = text.startswith("\ufeff")
    text = text.removeprefix("\ufeff")
    crlf = "\r\n" in text
    _refuse_unkept(text, path, crlf=crlf)
    return OpenFile(path, text.replace("\r\n", "\n"), hashlib.sha256(data).hexdigest(), crlf, bom)


def _refuse_unkept(text: str, path: Path, *, crlf: bool) -> None:
    """Refuse what would not come back byte for byte, or would hold up the window."""
    found = _UNKEPT.search(text)
    if found is not None:
        number = len(LINE_BREAK.findall(text[: found.start()])) + 1
        raise KitStudioError(
            f"Line {number} holds the character U+{ord(found[0]):04X}, which an editor would not keep.",
            where=str(path),
            remedy="Write it as an escape inside double quotes.",
        )
    if crlf and text.count("\n") != text.count("\r\n"):
        raise KitStudioError(
            "The lines of this file end in two different ways, and saving would change them.",
            where=str(path),
            remedy="Bring all line ends to one form first.",
        )
    longest = max((len(line) for line in text.split("\n")), default=0)
    if longest > LONGEST_LINE:
        raise KitStudioError(
            f"A line of this file has {longest:,} characters; lines of at most {LONGEST_LINE:,} are edited here.",
            where=str(path),
            remedy="Break it into lines first. A published descriptor is shown readably on its Kit's page.",
        )


def _save(stop: Stop, file: OpenFile, text: str, overwrite: bool) -> OpenFile:
    # A link stays a link: what it points at is written.
    target = file.path.resolve()
    if not overwrite:
        now = _stamp(stop, file.path)
        if now != file.stamp:
            what = "The file was changed by another program." if now else "The file was removed by another program."
            raise FileChanged(what, where=str(file.path), remedy="Read it again, or save over it.")
    data = (("\ufeff" if file.bom else "") + (text.replace("\n", "\r\n") if file.crlf else text)).encode()
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    write_atomic(target, data, mode=mode)
    return OpenFile(file.path, text, hashlib.sha256(data).hexdigest(), file.crlf, file.bom)


def _stamp(stop: Stop, path: Path) -> str:
    stop.check()
    if not path.is_file():
        return ""
    return hashlib.sha256(_bytes(path)).hexdigest()


def _bytes(path: Path) -> bytes:
    """At most one byte more than is ever opened: what is larger is told by that."""
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_TEXT + 1)
    except OSError as error:
        raise KitStudioError(f"The file cannot be read: {error.strerror}.", where=str(path)) from error
