"""Colours of a descriptor that is being written.

The whole text is lexed in a worker thread; a line that was typed meanwhile is lexed alone, so that it is never grey
for long. Past a size the text stays plain, so that the window stays quick.
"""

from __future__ import annotations

import asyncio
from typing import Final, TypeAlias

from pygments.lexer import Lexer
from pygments.lexers.configs import DockerLexer
from pygments.lexers.data import YamlLexer
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, _TokenType
from pygments.token import Token as Lexeme
from PySide6.QtGui import QSyntaxHighlighter, QTextDocument

from kitstudio.models.comment_form import comment_block
from kitstudio.ui.theme import Theme, Token

HIGHLIGHTED: Final = 200_000
"""Characters that are lexed."""
LINE: Final = 2_000
"""Characters of a line that is lexed while it is typed."""
_PORTION: Final = 120
"""Lines that are painted anew in one turn of the loop."""

Span: TypeAlias = tuple[int, int, Token]
Spans: TypeAlias = tuple[tuple[Span, ...], ...]

_INKS: Final[tuple[tuple[_TokenType, Token], ...]] = (
    (Comment, Token.SECONDARY),
    (Name.Tag, Token.ACCENT),
    (Keyword, Token.SERIOUS),
    (Number, Token.SERIOUS),
    (String, Token.SUCCESS),
    (Lexeme.Literal, Token.SUCCESS),
    (Punctuation, Token.SECONDARY),
)


def spans(text: str, *, in_comments: bool) -> Spans:
    """What is coloured on each line; empty for a text that is too long."""
    if len(text) > HIGHLIGHTED:
        return ()
    if not in_comments:
        return _lexed(YamlLexer(), text)
    lines = list(_lexed(DockerLexer(), text))
    block = comment_block(text)
    if block is not None:
        inner = _lexed(YamlLexer(), block.text)
        for index, cut in enumerate(block.cuts):
            number = block.first - 1 + index
            below = inner[number] if number < len(inner) else ()
            lines[number] = ((0, cut, Token.SECONDARY), *((start + cut, size, ink) for start, size, ink in below))
    return tuple(lines)


class Highlighter(QSyntaxHighlighter):
    """Colours from ``show``; what changed since then is coloured by itself."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._theme = theme
        self._spans: Spans = ()
        self._shown: dict[int, str] = {}
        self._in_comments = False
        theme.changed.connect(self.rehighlight)

    async def show(self, text: str, found: Spans, *, in_comments: bool) -> None:
        """Take over what was lexed out of ``text``; only lines that look different now are painted anew."""
        before, lines = self._spans, self._shown
        self._spans, self._in_comments = found, in_comments
        self._shown = dict(enumerate(text.split("\n"))) if found else {}
        changed = [
            number
            for number, line in self._shown.items()
            if lines.get(number) != line or number >= len(before) or before[number] != _at(found, number)
        ]
        for first in range(0, len(changed), _PORTION):
            for number in changed[first : first + _PORTION]:
                block = self.document().findBlockByNumber(number)
                if block.isValid():
                    self.rehighlightBlock(block)
            await asyncio.sleep(0)

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if self._shown.get(number) == text:
            found = _at(self._spans, number)
        elif self._shown and len(text) <= LINE and not self._in_comments:
            found = _lexed(YamlLexer(), text)[0]
        else:
            return
        for start, length, ink in found:
            self.setFormat(start, length, self._theme.colour(ink))


def _at(found: Spans, number: int) -> tuple[Span, ...]:
    return found[number] if number < len(found) else ()


def _lexed(lexer: Lexer, text: str) -> Spans:
    # The lexer would drop empty lines at both ends, and with them the count of lines.
    lexer.stripnl = False
    lines: list[list[Span]] = [[]]
    column = 0
    for kind, value in lexer.get_tokens(text):
        ink = next((token for family, token in _INKS if kind[: len(family)] == family), None)
        for index, part in enumerate(value.split("\n")):
            if index:
                lines.append([])
                column = 0
            if ink is not None and part.strip():
                lines[-1].append((column, _size(part), ink))
            column += _size(part)
    return tuple(tuple(line) for line in lines)


def _size(part: str) -> int:
    """Length as Qt counts: a character beyond the first plane is two."""
    return len(part) if part.isascii() else len(part.encode("utf-16-le")) // 2
