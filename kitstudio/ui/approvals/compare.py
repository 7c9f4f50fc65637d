"""Two descriptors side by side, or one with a line shown: where a finding comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from PySide6.QtGui import QColor, QTextBlockFormat, QTextCursor
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.basic import button, column, holder, line, row, text_label
from kitstudio.ui.widgets.text import tr, visible

_MAX_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Side:
    """A descriptor with its heading."""

    heading: str
    text: str


class DescriptorDialog(QDialog):
    """One descriptor, with a line in the middle and marked."""

    def __init__(self, theme: Theme, side: Side, line_number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("descriptorDialog")
        self.setWindowTitle(visible(side.heading))
        self.resize(theme.px(720), theme.px(560))
        self.pane = _pane(theme, side.heading)
        self.pane.setPlainText(side.text)
        shut = button(theme, tr("Close"), kind="primary", name="descriptorClose")
        shut.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        heading = text_label(visible(side.heading), Type.TITLE)
        layout.addWidget(holder(column(heading, margins=(16, 12, 16, 12)), "raised"))
        layout.addWidget(line())
        layout.addWidget(self.pane, 1)
        layout.addWidget(line())
        layout.addWidget(holder(row(None, shut, margins=(16, 10, 16, 10)), "background"))
        _mark(self.pane, {line_number - 1}, theme.tone(Tone.ACCENT)[1])
        block = self.pane.document().findBlockByNumber(max(0, line_number - 1))
        self.pane.setTextCursor(QTextCursor(block))
        self.pane.centerCursor()


class CompareDialog(QDialog):
    """What was approved at the left, what asks at the right; lines that differ are tinted, both panes scroll."""

    def __init__(self, theme: Theme, before: Side, after: Side, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compareDialog")
        self.setWindowTitle(tr("Compare descriptors"))
        self.resize(theme.px(1000), theme.px(640))
        left_lines, right_lines, gone, new = aligned(before.text.splitlines(), after.text.splitlines())
        self.left, self.right = _pane(theme, before.heading), _pane(theme, after.heading)
        self.left.setPlainText("\n".join(left_lines))
        self.right.setPlainText("\n".join(right_lines))
        _mark(self.left, gone, theme.tone(Tone.CRITICAL)[1])
        _mark(self.right, new, theme.tone(Tone.SUCCESS)[1])
        self.left.verticalScrollBar().valueChanged.connect(self.right.verticalScrollBar().setValue)
        self.right.verticalScrollBar().valueChanged.connect(self.left.verticalScrollBar().setValue)
        panes = QHBoxLayout()
        panes.setSpacing(0)
        for side, pane, note in (
            (before, self.left, tr("{n} lines gone or changed").format(n=len(gone))),
            (after, self.right, tr("{n} lines new or changed").format(n=len(new))),
        ):
            words = text_label(visible(side.heading), Type.NAME)
            head = column(words, text_label(note, Type.SMALL, "secondary"), spacing=2, margins=(16, 10, 16, 10))
            part = QVBoxLayout()
            part.setSpacing(0)
            part.addWidget(holder(head, "raised"))
            part.addWidget(line())
            part.addWidget(pane, 1)
            panes.addLayout(part, 1)
            if pane is self.left:
                panes.addWidget(line(vertical=True))
        shut = button(theme, tr("Close"), kind="primary", name="compareClose")
        shut.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(panes, 1)
        layout.addWidget(line())
        layout.addWidget(holder(row(None, shut, margins=(16, 10, 16, 10)), "background"))


def aligned(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str], frozenset[int], frozenset[int]]:
    """Both texts padded so that equal lines stand beside each other, and the numbers of lines that differ."""
    left: list[str] = []
    right: list[str] = []
    gone: set[int] = set()
    new: set[int] = set()
    before, after = before[:_MAX_LINES], after[:_MAX_LINES]
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            gone.update(range(len(left), len(left) + b - a))
            new.update(range(len(right), len(right) + d - c))
        left.extend(before[a:b])
        right.extend(after[c:d])
        height = max(len(left), len(right))
        left.extend([""] * (height - len(left)))
        right.extend([""] * (height - len(right)))
    return left, right, frozenset(gone), frozenset(new)


def _pane(theme: Theme, name: str) -> QPlainTextEdit:
    pane = QPlainTextEdit()
    pane.setReadOnly(True)
    pane.setProperty("mono", True)
    pane.setFont(theme.font(Type.MONO))
    pane.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    pane.setAccessibleName(visible(name))
    pane.document().setDocumentMargin(theme.px(12))
    return pane


def _mark(pane: QPlainTextEdit, lines: set[int] | frozenset[int], tint: QColor) -> None:
    look = QTextBlockFormat()
    look.setBackground(tint)
    for number in lines:
        block = pane.document().findBlockByNumber(number)
        if block.isValid():
            QTextCursor(block).setBlockFormat(look)
