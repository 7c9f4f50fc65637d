"""The rows of the stack as a model, what a screen reader hears of them, and what a drag of them carries."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from PySide6.QtCore import QAbstractListModel, QMimeData, QModelIndex, QObject, QPersistentModelIndex, Qt

from kitstudio.ui.composer.rows import KitRow
from kitstudio.ui.drag import REFERENCE_TYPE, reference_mime
from kitstudio.ui.theme import Tone
from kitstudio.ui.widgets.painters import ChipLook, chip_looks
from kitstudio.ui.widgets.text import tr, visible

Index = QModelIndex | QPersistentModelIndex


class Role(IntEnum):
    VALUE = Qt.ItemDataRole.UserRole + 1
    MARKED = Qt.ItemDataRole.UserRole + 2


class StackModel(QAbstractListModel):
    """Rows from the top of the stack down."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[KitRow, ...] = ()
        self._marked: frozenset[str] = frozenset()

    def show_rows(self, rows: Sequence[KitRow]) -> None:
        """Show these; nothing is reset where nothing changed."""
        rows = tuple(rows)
        if rows == self._rows:
            return
        if [row.reference for row in rows] == [row.reference for row in self._rows]:
            self._rows = rows
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, 0))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def mark(self, references: frozenset[str]) -> None:
        """Tint the Kits a chosen problem names."""
        self._marked = references
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, 0))

    def row(self, number: int) -> KitRow:
        return self._rows[number]

    def rows(self) -> tuple[KitRow, ...]:
        return self._rows

    def number_of(self, reference: str) -> int:
        """The row of a Kit, -1 where it is not listed."""
        return next((n for n, row in enumerate(self._rows) if row.reference == reference), -1)

    def flags(self, index: Index) -> Qt.ItemFlag:
        return super().flags(index) | Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else super().flags(index)

    def mimeTypes(self) -> list[str]:
        return [REFERENCE_TYPE, "text/plain"]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        return reference_mime(*(self._rows[number].reference for number in sorted({i.row() for i in indexes})))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self._rows[index.row()]
        if role == Role.VALUE:
            return row
        if role == Role.MARKED:
            return row.reference in self._marked
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return spoken(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return visible(row.reference)
        return None


def row_looks(row: KitRow) -> tuple[ChipLook, ...]:
    """Chips of a row; what was never read is not said to ask for nothing."""
    if not row.known:
        return (ChipLook(tr("Permissions not known"), Tone.PLAIN, "offline"),)
    return chip_looks(row.chips, 3)


def spoken(row: KitRow) -> str:
    """A row in words."""
    parts = [f"{row.name} {row.version}".strip()]
    parts += [tr("workload")] if row.workload else []
    parts += [tr("loading")] if row.loading else [look.text for look in row_looks(row)]
    parts += [tr("Problem")] if row.problem else []
    parts += [row.reason.text] if row.reason is not None else []
    return ", ".join(parts)
