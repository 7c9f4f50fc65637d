"""Colours of a descriptor that is being written.

The whole text is lexed in a worker thread; a line that was typed meanwhile is lexed alone, so that it is never grey
for long. Past a size the text stays plain, so that the window stays quick.
"""

from __future__ import annotations

import asyncio
from typing import Final

from pygments.lexers.configs import DockerLexer
from pygments.lexers.data import YamlLexer
from PySide6.QtGui import QSyntaxHighlighter, QTextDocument

from kitstudio.models.comment_form import comment_block
from kitstudio.ui.lexing import HIGHLIGHTED, Span, Spans, lexed
from kitstudio.ui.theme import Theme, Token

LINE: Final = 2_000
"""Characters of a line that is lexed while it is typed."""
_PORTION: Final = 120
"""Lines that are painted anew in one turn of the loop."""


def spans(text: str, *, in_comments: bool) -> Spans:
    """What is coloured on each line; empty for a text that is too long."""
    if len(text) > HIGHLIGHTED:
        return ()
    if not in_comments:
        return lexed(YamlLexer(), text)
    lines = list(lexed(DockerLexer(), text))
    block = comment_block(text)
    if block is not None:
        inner = lexed(YamlLexer(), block.text)
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
            found = lexed(YamlLexer(), text)[0]
        else:
            return
        for start, length, ink in found:
            self.setFormat(start, length, self._theme.colour(ink))


def _at(found: Spans, number: int) -> tuple[Span, ...]:
    return found[number] if number < len(found) else ()
