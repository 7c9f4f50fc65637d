"""The text field of the editor: line numbers, marks, underlines, indentation, completion.

It knows nothing of descriptors: marks and suggestions are given to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from kitstudio.models.tree import MAX_TEXT
from kitstudio.services.completion import Completion, Suggestion
from kitstudio.services.linting import LONGEST_LINE, Mark, Severity
from kitstudio.ui.editor.gutter import INK_OF, Gutter, told
from kitstudio.ui.editor.popup import Popup
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import tr

INDENT: Final = 2
PROMPT: Final = 200_000
"""Characters of a text in which suggestions come unasked: in a longer one they would hold up the keys."""
_OTHER_BREAKS: Final = re.compile("\r\n|[\r\x85\u2028\u2029]")


class TextEdit(QPlainTextEdit):
    """``completing`` gives suggestions for a text and an offset. ``refused(words)`` where a paste is too much;
    ``files_dropped(QMimeData)``: files are opened, never pasted by their names."""

    refused = Signal(str)
    files_dropped = Signal(object)

    def __init__(
        self, theme: Theme, completing: Callable[[str, int], Completion], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self.marks: tuple[Mark, ...] = ()
        self._underlined: list[tuple[Mark, int, int]] = []
        self.by_line: dict[int, Severity] = {}
        self._completing = completing
        self._completion: Completion | None = None
        self._typed = False
        self.comment_prefix = ""
        self.setObjectName("editorText")
        self.setAccessibleName(tr("Descriptor"))
        self.setProperty("mono", True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        option = QTextOption()
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self.document().setDefaultTextOption(option)
        self.document().setDocumentMargin(8)
        self.gutter = Gutter(self)
        self.popup = Popup(theme, self)
        self.popup.picked.connect(self._take)
        self.blockCountChanged.connect(lambda _: self._fit_gutter())
        self.updateRequest.connect(self._scrolled)
        self.cursorPositionChanged.connect(self._moved)
        self.textChanged.connect(self._changed)
        theme.changed.connect(self._themed)
        self._themed()

    def text(self) -> str:
        """The text as it will be written: Qt's own ``toPlainText`` would turn hard blanks into soft ones."""
        return self.document().toRawText().replace("\u2029", "\n")

    def replace_text(self, text: str) -> None:
        """Another text as one undoable step; the cursor stays at its line."""
        line, column = self.place()
        cursor = self.textCursor()
        cursor.beginEditBlock()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        cursor.endEditBlock()
        self.go_to(line, column)

    def place(self) -> tuple[int, int]:
        """1-based line and column of the cursor."""
        cursor = self.textCursor()
        return cursor.blockNumber() + 1, cursor.positionInBlock() + 1

    def go_to(self, line: int, column: int = 1) -> None:
        """Put the cursor at a 1-based place and show it."""
        block = self.document().findBlockByNumber(max(0, line - 1))
        if not block.isValid():
            block = self.document().lastBlock()
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + min(max(0, column - 1), block.length() - 1))
        self.setTextCursor(cursor)
        self.centerCursor()

    def show_marks(self, marks: Sequence[Mark], text: str) -> None:
        """Underline what ``marks`` say of ``text``; offsets are turned into Qt's."""
        self.marks = tuple(marks)
        plain = text.isascii()
        self.by_line = {}
        for mark in marks:
            worst = self.by_line.get(mark.line)
            if worst is None or _RANK[mark.severity] < _RANK[worst]:
                self.by_line[mark.line] = mark.severity
        self._underlined = [
            (mark, *((mark.start, mark.end) if plain else (_units(text, mark.start), _units(text, mark.end))))
            for mark in marks
        ]
        self._draw()
        self.gutter.update()

    def mark_at(self, position: int) -> Mark | None:
        """The finding under a place of the document."""
        return next((mark for mark, start, end in self._underlined if start <= position <= end), None)

    # Completion

    def suggest(self, *, asked: bool) -> None:
        """Offer what fits at the cursor. ``asked``: by Ctrl+Space; else only what helps while typing."""
        cursor = self.textCursor()
        too_long = not asked and self.document().characterCount() > PROMPT
        if cursor.hasSelection() or self.isReadOnly() or too_long:
            self.popup.hide()
            return
        text = self.text()
        offset = cursor.position() if text.isascii() else _characters(text, cursor.position())
        found = self._completing(text, offset)
        fitting = found.matching()
        exact = len(fitting) == 1 and fitting[0].insert.strip(" :\"'") == found.typed.strip(" :\"'")
        if not fitting or (exact and not asked):
            self.popup.hide()
            self._completion = None
            return
        self._completion = found
        self.popup.offer(fitting, self.viewport().mapTo(self, self.cursorRect().bottomLeft()) + QPoint(0, 2))

    def _take(self, chosen: Suggestion) -> None:
        found = self._completion
        self.popup.hide()
        if found is None:
            return
        cursor = self.textCursor()
        size = len(found.typed)
        text = self.text()
        if "${{" in chosen.insert:
            at = cursor.position() if text.isascii() else _characters(text, cursor.position())
            size = at - found.start
        cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, size)
        cursor.insertText(chosen.insert)
        self.setTextCursor(cursor)

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.popup.isVisible() and self.popup.key(event):
            return
        key, held = event.key(), event.modifiers()
        self._typed = False
        if key == Qt.Key.Key_Space and held & Qt.KeyboardModifier.ControlModifier:
            self.suggest(asked=True)
        elif key == Qt.Key.Key_Tab and not held & Qt.KeyboardModifier.ControlModifier:
            self._indent()
        elif key == Qt.Key.Key_Backtab:
            self._outdent()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and held in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        ):
            self._new_line()
        elif event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        else:
            self._typed = bool(event.text()) and event.text().isprintable() and not held & _COMMANDS
            super().keyPressEvent(event)
            self._typed = False
            if key == Qt.Key.Key_Backspace and self.popup.isVisible():
                self.suggest(asked=False)

    def insertFromMimeData(self, source: QMimeData) -> None:
        text = _OTHER_BREAKS.sub("\n", source.text()).replace("\x00", "").replace("\ufdd0", "").replace("\ufdd1", "")
        if self.document().characterCount() + len(text) > MAX_TEXT:
            self.refused.emit(tr("The text would be larger than a descriptor can be."))
        elif max((len(line) for line in text.split("\n")), default=0) > LONGEST_LINE:
            self.refused.emit(tr("A line of the text is too long to be edited."))
        else:
            self.textCursor().insertText(text)
            self.ensureCursorVisible()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText() and not source.hasUrls()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()
        else:
            super().dragEnterEvent(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()
        else:
            super().dragMoveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()
            self.files_dropped.emit(event.mimeData())
        else:
            super().dropEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.popup.hide()
        super().focusOutEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            place = self.viewport().mapFrom(self, event.pos())
            mark = self.mark_at(self.cursorForPosition(place).position())
            if mark is not None:
                QToolTip.showText(event.globalPos(), told(mark), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def _new_line(self) -> None:
        """Goes on at the indentation that is most likely meant: deeper after a key, under the text of an item."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        lead = re.match(rf"{re.escape(self.comment_prefix)}[ ]*" if self.comment_prefix else r"[ ]*", before)
        indent = lead[0] if lead is not None else ""
        rest = before[len(indent) :]
        if rest.rstrip().endswith(":"):
            item = re.match(r"(?:-[ ]+)+", rest)
            indent += " " * (len(item[0]) if item else 0) + " " * INDENT
        elif re.match(r"-[ ]+\S+:(?:[ ]|$)", rest):
            indent += " " * INDENT
        cursor.insertText("\n" + indent)
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def _indent(self) -> None:
        cursor = self.textCursor()
        if not cursor.hasSelection():
            cursor.insertText(" " * (INDENT - cursor.positionInBlock() % INDENT))
            return
        self._each_line(lambda line: line.insertText(" " * INDENT))

    def _outdent(self) -> None:
        def take(line: QTextCursor) -> None:
            text = line.block().text()
            blanks = min(INDENT, len(text) - len(text.lstrip(" ")))
            line.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor, blanks)
            line.removeSelectedText()

        self._each_line(take)

    def _each_line(self, change: Callable[[QTextCursor], None]) -> None:
        cursor = self.textCursor()
        first = self.document().findBlock(cursor.selectionStart())
        last = self.document().findBlock(max(cursor.selectionStart(), cursor.selectionEnd() - 1)).blockNumber()
        cursor.beginEditBlock()
        block = first
        while block.isValid() and block.blockNumber() <= last:
            change(QTextCursor(block))
            block = block.next()
        cursor.endEditBlock()

    # What is drawn

    def gutter_width(self) -> int:
        """Room for a mark and the highest number."""
        digits = max(3, len(str(self.blockCount())))
        return self.theme.px(22) + self.fontMetrics().horizontalAdvance("9") * digits + self.theme.px(10)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_gutter()

    def _fit_gutter(self) -> None:
        width = self.gutter_width()
        self.setViewportMargins(width, 0, 0, 0)
        inside = self.contentsRect()
        self.gutter.setGeometry(QRect(inside.left(), inside.top(), width, inside.height()))

    def _scrolled(self, rect: QRect, dy: int) -> None:
        if dy:
            self.gutter.scroll(0, dy)
            self.popup.hide()
        else:
            self.gutter.update(0, rect.y(), self.gutter.width(), rect.height())

    def _moved(self) -> None:
        self._draw()
        self.gutter.update()
        if not self._typed:
            self.popup.hide()

    def _changed(self) -> None:
        # Underlines would stand beside what they mean until the next judgement.
        if self._typed:
            self.suggest(asked=False)

    def _draw(self) -> None:
        found = [self._current_line()]
        length = self.document().characterCount()
        for mark, start, end in self._underlined:
            if end >= length:
                continue
            each = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            look = QTextCharFormat()
            look.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            look.setUnderlineColor(self.theme.colour(INK_OF[mark.severity]))
            each.cursor, each.format = cursor, look
            found.append(each)
        self.setExtraSelections(found)

    def _current_line(self) -> QTextEdit.ExtraSelection:
        made = QTextEdit.ExtraSelection()
        look = QTextCharFormat()
        ground = QColor(self.theme.colour(Token.SURFACE))
        look.setBackground(ground)
        look.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
        cursor = self.textCursor()
        cursor.clearSelection()
        made.cursor, made.format = cursor, look
        return made

    def _themed(self) -> None:
        self.setFont(self.theme.font(Type.MONO_FIELD))
        self.ensurePolished()
        self.setTabStopDistance(self.fontMetrics().horizontalAdvance(" ") * 8)
        self._fit_gutter()
        self._draw()


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
_COMMANDS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier


def _units(text: str, offset: int) -> int:
    """A character offset as Qt counts: characters beyond the first plane are two."""
    return len(text[:offset].encode("utf-16-le")) // 2


def _characters(text: str, units: int) -> int:
    return len(text.encode("utf-16-le")[: units * 2].decode("utf-16-le", "ignore"))
