"""Rows of a permission list: groups, entries with their askers and switch, folded rest. Values in, values out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from kitstudio.models.plan import Choice
from kitstudio.models.review import Group, Permission, Phase, Weight
from kitstudio.models.words import claim
from kitstudio.ui.widgets.text import group_word, phase_words, tr, weight_word


class RowKind(Enum):
    GROUP = auto()
    ENTRY = auto()
    CHOICE = auto()
    FOLD = auto()


@dataclass(frozen=True, slots=True)
class PermissionRow:
    """One row. ``choice``: the optional item that carries the entry; ``folded``: how many the row stands for."""

    kind: RowKind
    group: Group | None = None
    permission: Permission | None = None
    choice: Choice | None = None
    folded: int = 0
    count: int = 0
    last: bool = False

    @property
    def off(self) -> bool:
        return self.choice is not None and not self.choice.selected


class PermissionRole(int, Enum):
    ROW = Qt.ItemDataRole.UserRole + 1


def entry_rows(
    permissions: Sequence[Permission],
    choices: Sequence[Choice] = (),
    *,
    phase: Phase | None = None,
    fold_above: int = 0,
    unfolded: frozenset[Group] = frozenset(),
) -> tuple[PermissionRow, ...]:
    """Groups by their heaviest entry, entries by weight.

    ``phase``: only what is open then. ``fold_above``: a group with more ordinary entries than this shows the rest as
    one row; 0 never folds.
    """
    found: dict[Group, list[PermissionRow]] = {}
    for permission in permissions:
        found.setdefault(permission.group, []).append(
            PermissionRow(RowKind.ENTRY, permission.group, permission, _choice_of(permission, choices))
        )
    for choice in choices:
        if not choice.selected:
            for permission in choice.permissions:
                row = PermissionRow(RowKind.ENTRY, permission.group, permission, choice)
                found.setdefault(permission.group, []).append(row)
    rows: list[PermissionRow] = []
    groups = {group: [row for row in found.get(group, ()) if _open_in(row, phase)] for group in Group}
    for group, entries in sorted(groups.items(), key=lambda item: -max(map(_weight, item[1]), default=Weight.INFO)):
        if entries:
            rows.extend(_group_rows(group, entries, fold_above if group not in unfolded else 0))
    bare = [choice for choice in choices if not choice.permissions]
    if bare:
        rows.append(PermissionRow(RowKind.GROUP, None, count=len(bare)))
        rows.extend(PermissionRow(RowKind.CHOICE, None, None, choice, last=choice is bare[-1]) for choice in bare)
    return tuple(rows)


class PermissionModel(QAbstractListModel):
    """Rows for the list; the accessible text of a row says all that is painted."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[PermissionRow, ...] = ()

    def show_rows(self, rows: tuple[PermissionRow, ...]) -> None:
        if rows == self._rows:
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def row_at(self, index: QModelIndex | QPersistentModelIndex) -> PermissionRow:
        return self._rows[index.row()]

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self._rows[index.row()]
        if role == PermissionRole.ROW:
            return row
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.DisplayRole):
            return spoken(row)
        if role == Qt.ItemDataRole.ToolTipRole and row.permission is not None:
            return "\n".join(
                f"{asker.kit}, {asker.path}" + (f", {tr('line')} {asker.line}" if asker.line else "")
                for asker in row.permission.askers
            )
        return None

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        row = self._rows[index.row()]
        if row.kind is RowKind.GROUP:
            return Qt.ItemFlag.ItemIsEnabled
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


def spoken(row: PermissionRow) -> str:
    """A row in words, for assistive technology and plain copies."""
    if row.kind is RowKind.GROUP:
        return f"{heading(row)}, {row.count}"
    if row.kind is RowKind.FOLD:
        return tr("{n} more, nothing above info").format(n=row.folded)
    parts: list[str] = []
    if row.permission is not None:
        item = row.permission
        if item.weight > Weight.INFO:
            parts.append(f"{weight_word(item.weight)}.")
        parts += [item.sentence, item.entry, phase_words(item)]
    elif row.choice is not None:
        parts.append(choice_label(row.choice))
    if row.choice is not None:
        parts.append(tr("On") if row.choice.selected else tr("Off"))
    return " ".join(parts)


def heading(row: PermissionRow) -> str:
    return group_word(row.group) if row.group is not None else tr("Optional, without permissions")


def choice_label(choice: Choice) -> str:
    return claim(choice.label) or ", ".join(choice.types)


def _choice_of(permission: Permission, choices: Sequence[Choice]) -> Choice | None:
    """The optional item an entry hangs on: only if everyone who asks for it asks through that item."""
    for choice in choices:
        askers = permission.askers
        if askers and all(a.kit == choice.kit and _inside(a.path, choice.path) for a in askers):
            return choice
    return None


def _inside(path: str, item: str) -> bool:
    return path == item or path.startswith((f"{item}.", f"{item}["))


def _open_in(row: PermissionRow, phase: Phase | None) -> bool:
    return phase is None or row.permission is None or row.permission.phase in (phase, Phase.ALWAYS)


def _group_rows(group: Group, entries: list[PermissionRow], fold_above: int) -> list[PermissionRow]:
    ordered = sorted(entries, key=lambda row: -_weight(row))
    plain = [row for row in ordered if _weight(row) == Weight.INFO and row.choice is None]
    folded = len(plain) if fold_above and len(plain) > fold_above else 0
    shown = [row for row in ordered if row not in plain] if folded else ordered
    rows = [PermissionRow(RowKind.GROUP, group, count=len(entries)), *shown]
    if folded:
        rows.append(PermissionRow(RowKind.FOLD, group, folded=folded))
    last = rows.pop()
    rows.append(PermissionRow(last.kind, last.group, last.permission, last.choice, last.folded, last.count, last=True))
    return rows


def _weight(row: PermissionRow) -> Weight:
    return row.permission.weight if row.permission is not None else Weight.INFO
