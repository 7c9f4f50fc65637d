"""Read-only code: highlighted, searchable, plain text whatever it holds. Bounded, so that the window stays quick."""

from __future__ import annotations

import asyncio

from pygments.lexer import Lexer
from pygments.lexers.configs import DockerLexer
from pygments.lexers.data import JsonLexer, YamlLexer
from pygments.lexers.shell import BashLexer
from pygments.lexers.special import TextLexer
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QKeySequence,
    QShortcut,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.ui.fonts import Type
from kitstudio.ui.lexing import Spans, lexed
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import SearchField, button, column, icon_button, row, text_label
from kitstudio.ui.widgets.text import tr, visible

LONGEST = 1_048_576
"""Characters shown; a descriptor is far smaller."""


class CodeView(QWidget):
    """Shows one text. ``name``: what it is, for object names and readers; ``lead``: what stands left of the search."""

    def __init__(self, theme: Theme, name: str, title: str, lead: QWidget | None = None) -> None:
        super().__init__()
        self.theme = theme
        self.tasks = Tasks(self, self._failed)
        self._shown = ""
        self._find = SearchField(theme, tr("Find"), tr("Find in {title}").format(title=title))
        self._find.setObjectName(f"{name}-find")
        self._find.setProperty("small", True)
        self._find.textChanged.connect(lambda _: self._search())
        self._find.returnPressed.connect(self.find_next)
        self._hits = text_label("", Type.SMALL, "secondary")
        up = icon_button(theme, "chevron-up", tr("Previous"), small=True)
        down = icon_button(theme, "chevron-down", tr("Next"), small=True)
        up.clicked.connect(lambda: self._step(backward=True))
        down.clicked.connect(self.find_next)
        self._view = QPlainTextEdit()
        copy = button(theme, tr("Copy"), "copy", small=True, name=f"{name}-copy")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._shown))
        self._view.setObjectName(f"{name}-text")
        self._view.setReadOnly(True)
        self._view.setProperty("mono", True)
        self._view.setAccessibleName(title)
        self._view.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._view.document().setDocumentMargin(16)
        self._colours = _Colours(self._view.document(), theme)
        bar = row(spacing=8, margins=(20, 10, 16, 10))
        if lead is not None:
            bar.addWidget(lead)
        bar.addWidget(self._find, 1)
        for tool in (self._hits, up, down, copy):
            bar.addWidget(tool)
        self.setLayout(column(bar, self._view, spacing=0))
        QShortcut(
            QKeySequence.StandardKey.Find,
            self,
            self._find.setFocus,
            context=Qt.ShortcutContext.WidgetWithChildrenShortcut,
        )
        theme.changed.connect(self._colours.rehighlight)

    def show_code(self, text: str, lexer: Lexer) -> None:
        """Show ``text``, and its colours once a thread found them; what is copied later is this text, byte for byte."""
        self._shown = text[:LONGEST]
        readable = "\n".join(visible(part) for part in self._shown.split("\n"))
        self._colours.show_spans(())
        self._view.setPlainText(readable)
        self._search()
        self.tasks.start(self._colour(lexer, readable), "colours")

    def mark_line(self, line: int) -> None:
        """Put a line (1-based) in view and mark it."""
        block = self._view.document().findBlockByNumber(max(0, line - 1))
        cursor = QTextCursor(block)
        self._view.setTextCursor(cursor)
        self._view.centerCursor()
        mark = QTextEdit.ExtraSelection()
        mark.cursor = cursor
        look = QTextCharFormat()
        look.setBackground(self.theme.colour(Token.ACCENT_TINT))
        look.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
        mark.format = look
        self._view.setExtraSelections([mark])

    def find_next(self) -> None:
        self._step(backward=False)

    async def _colour(self, lexer: Lexer, text: str) -> None:
        self._colours.show_spans(await asyncio.to_thread(lexed, lexer, text))

    def _failed(self, error: KitStudioError) -> None:
        """Said where the count of hits stands: the text itself is there in any case."""
        self._hits.setText(visible(error.what))

    def _search(self) -> None:
        words = self._find.text()
        marks, count = [], 0
        if words:
            cursor = QTextCursor(self._view.document())
            while not (cursor := self._view.document().find(words, cursor)).isNull() and count < 1000:
                mark = QTextEdit.ExtraSelection()
                mark.cursor = cursor
                look = QTextCharFormat()
                look.setBackground(self.theme.tone(Tone.NOTICE)[1])
                mark.format = look
                marks.append(mark)
                count += 1
        self._view.setExtraSelections(marks)
        self._hits.setText(tr("{n} found").format(n=count) if words else "")

    def _step(self, *, backward: bool) -> None:
        words = self._find.text()
        if not words:
            return
        flags = QTextDocument.FindFlag.FindBackward if backward else QTextDocument.FindFlag(0)
        if not self._view.find(words, flags):
            cursor = self._view.textCursor()
            end = QTextCursor.MoveOperation.End if backward else QTextCursor.MoveOperation.Start
            cursor.movePosition(end)
            self._view.setTextCursor(cursor)
            self._view.find(words, flags)


def lexer_for(path: str, text: str = "") -> Lexer:
    """The lexer for a file a Kit brings along, by its name; a YAML file may well be JSON inside."""
    name = path.rpartition("/")[2].lower()
    if name.endswith((".yaml", ".yml")) and text.lstrip()[:1] == "{":
        return JsonLexer()
    if name.endswith((".yaml", ".yml")):
        return YamlLexer()
    if name.endswith(".json"):
        return JsonLexer()
    if "dockerfile" in name or "containerfile" in name:
        return DockerLexer()
    return BashLexer() if name.endswith((".sh", ".bash")) else TextLexer()


class _Colours(QSyntaxHighlighter):
    """Colours that were found for the whole text, looked up by line."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._theme = theme
        self._lines: Spans = ()

    def show_spans(self, lines: Spans) -> None:
        self._lines = lines
        if lines:
            self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if number < len(self._lines):
            for start, length, token in self._lines[number]:
                self.setFormat(start, length, QColor(self._theme.colour(token)))
