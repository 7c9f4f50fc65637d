"""Item models of the Approvals page: requests that wait, and the decisions made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QIcon

from kitstudio.services.approvals import Record, Request
from kitstudio.ui.tables import TableModel
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import moment_text, tr, visible, weight_word

Index = QModelIndex | QPersistentModelIndex

ANSWERS: Mapping[str, tuple[str, str, Token]] = {
    "approved": ("Approved", "success", Token.SUCCESS),
    "approved-without-optional": ("Approved without optional", "success", Token.SUCCESS),
    "kept": ("Kept as it was", "deny", Token.SERIOUS),
    "silent": ("Within what was granted", "info", Token.INFO),
}
"""Answer of a record → words, icon, colour."""


class Role(IntEnum):
    VALUE = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a record must have: every word of ``text``, one of ``answers``, the set's ``name``; made after ``since``."""

    text: str = ""
    answers: frozenset[str] = frozenset()
    name: str = ""
    since: float = 0.0

    def takes(self, record: Record) -> bool:
        """Whether a record matches; words are looked for in title, person and the entries that were asked for."""
        if self.answers and record.answer not in self.answers:
            return False
        if (self.name and record.name != self.name) or record.time < self.since:
            return False
        words = self.text.lower().split()
        if not words:
            return True
        asked = " ".join(f"{f.get('sentence', '')} {f.get('entry', '')} {f.get('kit', '')}" for f in record.findings)
        whole = f"{record.name} {record.title} {record.user} {asked}".lower()
        return all(word in whole for word in words)


class WaitingModel(QAbstractListModel):
    """Requests set aside, oldest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._requests: tuple[Request, ...] = ()

    def show_requests(self, requests: Sequence[Request]) -> None:
        self.beginResetModel()
        self._requests = tuple(requests)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._requests)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        request = self._requests[index.row()]
        if role == Role.VALUE:
            return request
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            counts = ", ".join(f"{n} {weight_word(w).lower()}" for w, n in request.review.counts().items())
            return f"{request.name}. {visible(request.review.title)}. {counts}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return visible(request.review.title)
        return None


class HistoryModel(TableModel):
    """Records, newest first; ``narrow`` filters by words, answer, set and date."""

    COLUMNS = ("When", "Decision", "Set", "What was asked", "Who")

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._all: tuple[Record, ...] = ()
        self._records: tuple[Record, ...] = ()
        self._narrowing = Narrowing()

    def show_records(self, records: Sequence[Record]) -> None:
        self._all = tuple(records)
        self._filter()

    @property
    def total(self) -> int:
        """Records before filtering."""
        return len(self._all)

    def narrow(self, narrowing: Narrowing) -> None:
        """Only the records that match."""
        self._narrowing = narrowing
        self._filter()

    def everything(self) -> tuple[Record, ...]:
        """Every record, newest first."""
        return self._all

    def records(self) -> tuple[Record, ...]:
        """The records that match, newest first."""
        return self._records

    def counts(self) -> Mapping[str, int]:
        """Records by answer, before filtering."""
        return {answer: sum(record.answer == answer for record in self._all) for answer in ANSWERS}

    def record(self, row: int) -> Record:
        return self._records[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._records)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        record = self._records[index.row()]
        words, icon, colour = ANSWERS.get(record.answer, (record.answer, "info", Token.INFO))
        if role == Role.VALUE:
            return record
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            title = visible(record.title)
            return (moment_text(record.time), tr(words), record.name, title, record.user)[index.column()]
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 1:
            return QIcon(self._theme.pixmap(icon, 16, colour))
        if role == Qt.ItemDataRole.ForegroundRole and index.column() == 1:
            return self._theme.colour(colour)
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == 3:
            return visible(record.title)
        return None

    def _filter(self) -> None:
        self.beginResetModel()
        self._records = tuple(record for record in self._all if self._narrowing.takes(record))
        self.endResetModel()
