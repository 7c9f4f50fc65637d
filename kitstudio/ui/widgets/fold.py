"""Collapsed parts of a view: a header with its count, and rows that appear on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kitstudio.models import words as wording
from kitstudio.models.review import Permission, Uncounted, Weight
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import ICON_OF_WEIGHT, Theme, Token
from kitstudio.ui.widgets.basic import ClickRow, Elided, ExactEntry, Icon, row, text_label
from kitstudio.ui.widgets.text import phase_words, tr, visible, weight_word

_PORTION = 40


@dataclass(frozen=True, slots=True)
class FoldLine:
    """One row inside: icon and its colour, sentence, exact entry, quiet words."""

    icon: str
    ink: Token
    sentence: str
    entry: str
    note: str


def permission_lines(permissions: Sequence[Permission], icon: str, ink: Token) -> tuple[FoldLine, ...]:
    """Rows of narrowed or unchanged permissions."""
    return tuple(FoldLine(icon, ink, p.sentence, p.entry, phase_words(p)) for p in permissions)


def uncounted_lines(changes: Sequence[Uncounted]) -> tuple[FoldLine, ...]:
    """Rows of what §7.4 leaves out, heaviest first; their weight is said, in shape and word."""
    ordered = sorted(changes, key=lambda change: -change.weight)
    return tuple(
        FoldLine(
            ICON_OF_WEIGHT[c.weight] if c.weight > Weight.INFO else "info",
            Token(c.weight.name.lower()),
            c.sentence if c.weight is Weight.INFO else f"{weight_word(c.weight)}. {c.sentence}",
            c.entry,
            ", ".join(part for part in (wording.repository(c.kit).rpartition("/")[2], c.path) if part),
        )
        for c in ordered
    )


class FoldHeader(ClickRow):
    """Chevron, icon, name, count, what is inside. ``opened`` says it is to be shown or hidden."""

    opened = Signal(bool)

    def __init__(self, theme: Theme, icon: str, ink: Token, name: str, count: int, note: str, key: str) -> None:
        super().__init__(f"{name}: {count}. {note}")
        self.setObjectName(f"fold-{key}")
        self.setProperty("card", True)
        self.setProperty("key", key)
        self.open = False
        self._chevron = Icon(theme, "chevron-right", 16)
        words = Elided(note, ink="secondary")
        words.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        layout = row(
            self._chevron,
            Icon(theme, icon, 16, ink),
            text_label(name),
            text_label(str(count), Type.NAME),
            None,
            margins=(theme.px(12), theme.px(7), theme.px(12), theme.px(7)),
        )
        layout.addWidget(words)
        self.setLayout(layout)
        self.clicked.connect(self.toggle)

    def toggle(self) -> None:
        """Open or close."""
        self.open = not self.open
        self._chevron.show_icon("chevron-down" if self.open else "chevron-right")
        self.opened.emit(self.open)


class FoldBody(QWidget):
    """The rows, built when first shown, forty at a time."""

    def __init__(self, theme: Theme, lines: Sequence[FoldLine], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines = tuple(lines)
        self._built = 0
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(theme.px(12), theme.px(2), theme.px(12), theme.px(4))
        self._layout.setSpacing(theme.px(8))
        self.hide()

    def show_rows(self, shown: bool) -> None:
        """Show or hide the rows."""
        if shown and not self._built:
            self._more()
        self.setVisible(shown)

    def _more(self) -> None:
        theme = self._theme
        for item in self._lines[self._built : self._built + _PORTION]:
            words = QVBoxLayout()
            words.setSpacing(theme.px(3))
            words.addWidget(text_label(item.sentence, wrap=True))
            if item.entry:
                words.addWidget(ExactEntry(theme, item.entry))
            words.addWidget(text_label(visible(item.note), Type.SMALL, "secondary", wrap=True))
            icon = Icon(theme, item.icon, 16, item.ink)
            line = row(icon, spacing=theme.px(8))
            line.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
            line.addLayout(words, 1)
            self._layout.addLayout(line)
        self._built = min(self._built + _PORTION, len(self._lines))
        rest = len(self._lines) - self._built
        if rest:
            more = ClickRow(tr("Show {n} more").format(n=rest))
            more.setLayout(row(text_label(tr("Show {n} more").format(n=rest), Type.BODY, "accent"), None))
            more.clicked.connect(lambda: self._replace(more))
            self._layout.addWidget(more)

    def _replace(self, more: ClickRow) -> None:
        self._layout.removeWidget(more)
        more.deleteLater()
        self._more()
