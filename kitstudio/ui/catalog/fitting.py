"""What fits the set being composed: worked out off the window's thread, told by the facet, the cards and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QListView, QWidget

from kitstudio.services.app import Studio
from kitstudio.services.catalog import KitCard
from kitstudio.ui.catalog.card_words import card_name
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import button, column, row, text_label
from kitstudio.ui.widgets.text import counted, tr, visible

SETTLING = 300
"""Milliseconds after the last change of the set before it is worked out anew."""


class Fitting(QObject):
    """``reasons`` by repository (empty: fits), None while not known. ``changed`` after they were worked out."""

    changed = Signal()

    def __init__(self, studio: Studio, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._studio = studio
        self._tasks = tasks
        self._for: object = None
        self._working = False
        self._begun = False
        self.reasons: Mapping[str, str] | None = None
        self._settling = QTimer(self, singleShot=True, interval=SETTLING)
        self._settling.timeout.connect(self._start)

    @property
    def known(self) -> bool:
        return self.reasons is not None

    @property
    def empty(self) -> bool:
        """Whether there is no set that anything could fit."""
        return not self._begun or not self._studio.composer.value.plan.members

    @property
    def note(self) -> str:
        """What is to be said beside the facet."""
        if self.empty:
            return tr("The set is empty.")
        return tr("Working it out…") if self._working else ""

    def begin(self) -> None:
        """Follow the set that is open."""
        if not self._begun:
            self._begun = True
            self.destroyed.connect(self._studio.composer.changed.subscribe(lambda _: self.renew()))
            self.renew()

    def renew(self) -> None:
        """The set or the catalog changed."""
        if self._begun:
            self._settling.start()

    def _start(self) -> None:
        plan = self._studio.composer.value.plan
        if not plan.members:
            self._for, self._working = None, False
            if self.reasons is not None:
                self.reasons = None
                self.changed.emit()
            return
        key = (tuple(member.reference for member in plan.members), len(self._studio.catalog.cards()))
        if key == self._for and self.reasons is not None:
            return
        self._for, self._working = key, True
        self._tasks.start(self._work(), "fitting")

    async def _work(self) -> None:
        try:
            self.reasons = await self._studio.catalog.compatible(self._studio.composer.value.plan)
        finally:
            self._working = False
        self.changed.emit()


class WhyNotDialog(QDialog):
    """Every Kit the current set keeps away, each with the sentence that says why."""

    def __init__(self, theme: Theme, rows: Sequence[tuple[KitCard, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("why-not")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("What does not fit"))
        self.resize(theme.px(620), theme.px(460))
        self.list = QListView()
        self.list.setAccessibleName(tr("Kits that do not fit the set"))
        self.list.setModel(_Reasons(rows, self))
        self.list.setUniformItemSizes(False)
        self.list.setWordWrap(True)
        self.list.setSpacing(theme.px(4))
        close = button(theme, tr("Close"), kind="primary", name="why-not-close")
        close.clicked.connect(self.accept)
        title = text_label(tr("What does not fit the current set"), Type.HEADING)
        note = text_label(counted(len(rows), "Kit", "Kits"), Type.BODY, "secondary")
        parts = column(title, note, self.list, row(None, close), spacing=theme.px(8), margins=(24, 20, 24, 20))
        self.setLayout(parts)


class _Reasons(QAbstractListModel):
    def __init__(self, rows: Sequence[tuple[KitCard, str]], parent: QObject) -> None:
        super().__init__(parent)
        self._rows = tuple(rows)

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        card, why = self._rows[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{card_name(card)} · {visible(card.publisher)}\n{visible(why)}"
        return None
