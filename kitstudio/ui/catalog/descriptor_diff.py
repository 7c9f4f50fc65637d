"""Two descriptors side by side: equal lines stand beside each other, lines that differ are tinted and marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from PySide6.QtGui import QColor, QTextBlockFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from kitstudio.registry.threads import Stop, in_thread
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets import column, holder, line, row, text_label
from kitstudio.ui.widgets.text import counted, tr, visible

MAX_LINES = 20_000
MARKED = 4_000
"""Lines tinted; their mark stands before them in any case."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """Both texts padded to equal length; which lines are only at the left, which only at the right."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    gone: frozenset[int]
    new: frozenset[int]


def align(a: Sequence[str], b: Sequence[str]) -> Aligned:
    """Stand equal lines beside each other."""
    a, b = a[:MAX_LINES], b[:MAX_LINES]
    left: list[str] = []
    right: list[str] = []
    gone: set[int] = set()
    new: set[int] = set()
    many = len(a) + len(b) > 4000
    for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=many).get_opcodes():
        if tag != "equal":
            gone.update(range(len(left), len(left) + j - i))
            new.update(range(len(right), len(right) + m - k))
        left.extend(a[i:j])
        right.extend(b[k:m])
        height = max(len(left), len(right))
        left.extend([""] * (height - len(left)))
        right.extend([""] * (height - len(right)))
    return Aligned(tuple(left), tuple(right), frozenset(gone), frozenset(new))


async def aligned(a: str, b: str) -> Aligned:
    """``align`` off the window's thread."""

    def work(stop: Stop) -> Aligned:
        stop.check()
        return align(a.splitlines(), b.splitlines())

    return await in_thread(work)


class DescriptorDiff(QWidget):
    """Two panes that scroll together."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.left, self.right = self._pane(tr("Descriptor of A")), self._pane(tr("Descriptor of B"))
        self._heads = (text_label("", Type.NAME), text_label("", Type.NAME))
        self._notes = (text_label("", Type.SMALL, "secondary"), text_label("", Type.SMALL, "secondary"))
        panes = row(spacing=0)
        for pane, head, note in zip((self.left, self.right), self._heads, self._notes, strict=True):
            top = row(head, note, None, margins=(16, 8, 16, 8))
            panes.addWidget(holder(column(top, line(), pane, spacing=0)), 1)
            if pane is self.left:
                panes.addWidget(line(vertical=True))
        self.left.verticalScrollBar().valueChanged.connect(self.right.verticalScrollBar().setValue)
        self.right.verticalScrollBar().valueChanged.connect(self.left.verticalScrollBar().setValue)
        self.setLayout(panes)

    def show_texts(self, a: str, b: str, found: Aligned) -> None:
        """``a`` and ``b`` are what the two are called."""
        for head, name, letter in zip(self._heads, (a, b), "AB", strict=True):
            head.setText(f"{letter} · {visible(name)}")
        self._notes[0].setText(counted(len(found.gone), "line gone or changed", "lines gone or changed"))
        self._notes[1].setText(counted(len(found.new), "line new or changed", "lines new or changed"))
        self._fill(self.left, found.left, found.gone, "−", self.theme.tone(Tone.CRITICAL)[1])
        self._fill(self.right, found.right, found.new, "+", self.theme.tone(Tone.SUCCESS)[1])

    @staticmethod
    def _fill(pane: QPlainTextEdit, lines: Sequence[str], marked: frozenset[int], sign: str, tint: QColor) -> None:
        pane.setPlainText("\n".join(f"{sign if n in marked else ' '} {visible(text)}" for n, text in enumerate(lines)))
        look = QTextBlockFormat()
        look.setBackground(tint)
        cursor = QTextCursor(pane.document())
        cursor.beginEditBlock()
        for number in sorted(marked)[:MARKED]:
            cursor.setPosition(pane.document().findBlockByNumber(number).position())
            cursor.setBlockFormat(look)
        cursor.endEditBlock()
        pane.moveCursor(QTextCursor.MoveOperation.Start)

    def _pane(self, name: str) -> QPlainTextEdit:
        pane = QPlainTextEdit()
        pane.setReadOnly(True)
        pane.setProperty("mono", True)
        pane.setFont(self.theme.font(Type.MONO))
        pane.setAccessibleName(name)
        pane.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        pane.setUndoRedoEnabled(False)
        return pane
