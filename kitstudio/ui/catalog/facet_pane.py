"""The facets as check boxes: each with how many cards it stands for, long sections folded, all by keyboard."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from kitstudio.models.review import Group
from kitstudio.services.catalog import CardKind
from kitstudio.ui.catalog.facets import WORKS, Section, dynamic, sections
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import ClickRow, Icon, button, row, text_label
from kitstudio.ui.widgets.text import number, tr

FIRST = 5
"""Facets of a section that come from the cards, before *more* is asked for."""
MOST = 60
"""Facets a section shows at most: past it, searching is quicker than reading."""

RARE = frozenset(
    (
        *(f"kind-{kind}" for kind in (CardKind.V2, CardKind.IMAGE, CardKind.ERROR)),
        *(f"asks-{group.name.lower()}" for group in Group),
        "asks-nothing",
    )
)
"""Facets that stand there only where some card of the source fits them."""


class FacetPane(QWidget):
    """``changed`` when another box is ticked; ``why_wanted`` when a person asks what does not fit the current set."""

    changed = Signal()
    why_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sections = [_SectionBox(theme, section) for section in sections()]
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.px(16), 0, theme.px(16), theme.px(12))
        layout.setSpacing(0)
        for box in self._sections:
            box.changed.connect(self.changed)
            layout.addWidget(box)
            if box.section.key == "works":
                self._why = button(theme, tr("What does not fit, and why"), kind="link", name="facet-why")
                self._why.clicked.connect(self.why_wanted)
                self._why.hide()
                self._note = text_label("", Type.SMALL, "secondary", wrap=True)
                self._note.hide()
                layout.addWidget(self._note)
                layout.addWidget(self._why)
        self._works = next(box for box in self._sections if box.section.key == "works")
        layout.addStretch(1)

    def chosen(self) -> frozenset[str]:
        return frozenset(key for box in self._sections for key in box.chosen())

    def choose(self, keys: frozenset[str]) -> None:
        """Tick exactly these; one ``changed``."""
        for box in self._sections:
            box.choose(frozenset(key for key in keys if box.section.holds(key)))
        self.changed.emit()

    def show_counts(self, counts: Mapping[str, int], known: Mapping[str, int]) -> None:
        """``counts``: cards each facet stands for now; ``known``: altogether, which is what decides the order."""
        for box in self._sections:
            box.show_counts(counts, known)

    def tell_set(self, note: str, left_out: int, *, empty: bool) -> None:
        """What is to be said of the current set: that it is being worked out, or empty; and how many do not fit it."""
        self._works.may_ask = not empty
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._why.setVisible(bool(left_out) and WORKS in self.chosen())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down move between the boxes, as in a list."""
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.focusNextPrevChild(event.key() == Qt.Key.Key_Down)
        else:
            super().keyPressEvent(event)


class _SectionBox(QWidget):
    """One section: its heading, its boxes, and *more* where there are more."""

    changed = Signal()

    def __init__(self, theme: Theme, section: Section) -> None:
        super().__init__()
        self._theme = theme
        self.section = section
        self._chosen: set[str] = set()
        self.may_ask = False
        self._rows: dict[str, _FacetRow] = {}
        self._whole = False
        self._open = not section.folded
        self._counts: Mapping[str, int] = {}
        self._known: Mapping[str, int] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, theme.px(6), 0, 0)
        layout.setSpacing(0)
        self._heading: ClickRow | None = None
        title = text_label(section.title, Type.LABEL, "secondary")
        if section.prefix:
            self._chevron = Icon(theme, "chevron-right", 14)
            self._heading = ClickRow(section.title)
            self._heading.setObjectName(f"facets-{section.key}")
            self._heading.setLayout(row(title, self._chevron, None, spacing=4))
            self._heading.clicked.connect(lambda: self._fold(not self._open))
            layout.addWidget(self._heading)
        else:
            layout.addWidget(title)
        layout.addSpacing(theme.px(2))
        self._body = QVBoxLayout()
        self._body.setSpacing(0)
        layout.addLayout(self._body)
        self._more = button(theme, "", kind="link", name=f"facets-more-{section.key}")
        self._more.clicked.connect(self._show_more)
        self._more.hide()
        layout.addLayout(row(self._more, None))
        for key, _ in section.fixed:
            self._row(key)
        self._fold(self._open)

    def chosen(self) -> frozenset[str]:
        return frozenset(self._chosen)

    def choose(self, keys: frozenset[str]) -> None:
        self._chosen = set(keys)
        if keys and self.section.prefix and not self._open:
            self._fold(True)
        self._draw()

    def show_counts(self, counts: Mapping[str, int], known: Mapping[str, int]) -> None:
        self._counts, self._known = counts, known
        self._draw()

    def _draw(self) -> None:
        section = self.section
        wanted = [key for key, _ in section.fixed]
        rest = 0
        if section.prefix:
            every = dynamic(section, self._known, self._chosen)
            limit = (MOST if self._whole else FIRST) if self._open else 0
            wanted = [key for at, key in enumerate(every) if at < limit or key in self._chosen]
            rest = min(len(every), MOST) - len(wanted)
            self.setVisible(bool(every))
        if list(self._rows) != wanted:
            self._arrange(wanted)
        for key in wanted:
            asked = key == WORKS and self.may_ask and key not in self._known
            count = None if asked else self._counts.get(key, 0)
            self._rows[key].show_count(count, key in self._chosen)
            if key in RARE:
                self._rows[key].setVisible(bool(self._known.get(key)) or key in self._chosen)
        if not section.prefix:
            self.setVisible(any(key not in RARE or self._known.get(key) or key in self._chosen for key in wanted))
        self._more.setVisible(self._open and rest > 0)
        self._more.setText(tr("{n} more").format(n=number(rest)))

    def _arrange(self, wanted: list[str]) -> None:
        """Rows in the wanted order; those that stay keep their widget, and so the focus."""
        for key in [key for key in self._rows if key not in wanted]:
            gone = self._rows.pop(key)
            self._body.removeWidget(gone)
            gone.hide()
            gone.deleteLater()
        for at, key in enumerate(wanted):
            made = self._rows.get(key) or self._row(key)
            if self._body.indexOf(made) != at:
                self._body.removeWidget(made)
                self._body.insertWidget(at, made)
        self._rows = {key: self._rows[key] for key in wanted}

    def _row(self, key: str) -> _FacetRow:
        made = _FacetRow(self._theme, key, self.section.label(key))
        made.box.toggled.connect(lambda on: self._ticked(key, on))
        self._rows[key] = made
        self._body.addWidget(made)
        return made

    def _ticked(self, key: str, on: bool) -> None:
        if on:
            self._chosen.add(key)
        else:
            self._chosen.discard(key)
        self.changed.emit()

    def _fold(self, open_: bool) -> None:
        self._open = open_
        if self._heading is not None:
            self._chevron.show_icon("chevron-down" if open_ else "chevron-right")
            state = tr("unfolded") if open_ else tr("folded")
            self._heading.setAccessibleName(f"{self.section.title}, {state}")
            self._draw()

    def _show_more(self) -> None:
        self._whole = True
        self._draw()


class _FacetRow(QWidget):
    """One box with its count."""

    def __init__(self, theme: Theme, key: str, label: str) -> None:
        super().__init__()
        self._label = label
        self.box = QCheckBox()
        self.box.setObjectName(f"facet-{key}")
        self.box.setMinimumHeight(theme.px(24))
        self.box.setToolTip(label)
        self._theme = theme
        self._count = text_label("", Type.SMALL, "secondary")
        self._count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._shown: int | None = -1
        layout = row(self.box, None, self._count, spacing=4)
        self.setLayout(layout)
        room = theme.px(140)
        shown = theme.metrics(Type.BODY).elidedText(label, Qt.TextElideMode.ElideMiddle, room)
        self.box.setText(shown.replace("&", "&&"))

    def show_count(self, count: int | None, chosen: bool) -> None:
        """A facet without any card cannot be ticked; None: not counted yet."""
        if count != self._shown:
            self._shown = count
            self._count.setText("" if count is None else number(count))
            self.box.setAccessibleName(self._label if count is None else f"{self._label}, {number(count)}")
        self.box.blockSignals(True)
        self.box.setChecked(chosen)
        self.box.blockSignals(False)
        self.box.setEnabled(count is None or bool(count) or chosen)
