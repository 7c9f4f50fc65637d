"""Item models of the Approvals page: requests that wait, and the decisions made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from PySide6.QtCore import QAbstractListModel, QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QIcon

from kitstudio.services.approvals import Record, Request
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


class HistoryModel(QAbstractTableModel):
    """Records, newest first; ``show_records`` filters by words and by answer."""

    COLUMNS = ("When", "Decision", "Set", "What was asked", "Who")

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._all: tuple[Record, ...] = ()
        self._records: tuple[Record, ...] = ()
        self._words: tuple[str, ...] = ()
        self._answers: frozenset[str] = frozenset()

    def show_records(self, records: Sequence[Record]) -> None:
        self._all = tuple(records)
        self._filter()

    def narrow(self, text: str, answers: frozenset[str]) -> None:
        """Only records with every word of ``text``, and (if not empty) one of ``answers``."""
        self._words, self._answers = tuple(text.lower().split()), answers
        self._filter()

    def counts(self) -> Mapping[str, int]:
        """Records by answer, before filtering."""
        return {answer: sum(record.answer == answer for record in self._all) for answer in ANSWERS}

    def record(self, row: int) -> Record:
        return self._records[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._records)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal:
            return tr(self.COLUMNS[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

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
        self._records = tuple(
            record
            for record in self._all
            if (not self._answers or record.answer in self._answers)
            and all(word in f"{record.name} {record.title} {record.user}".lower() for word in self._words)
        )
        self.endResetModel()
