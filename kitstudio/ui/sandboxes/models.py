"""Item models of the Sandboxes page: sandboxes, network decisions, hooks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import IntEnum, StrEnum

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QIcon

from kitstudio.runtime.backend import Decision, HookRun, SandboxStatus
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.words import facts, state_look
from kitstudio.ui.tables import TableModel
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import duration_text, tr, visible

Index = QModelIndex | QPersistentModelIndex
KEPT = 5_000
"""Decisions kept on screen; the log has them all."""


class Role(IntEnum):
    VALUE = Qt.ItemDataRole.UserRole + 1


class Verdict(StrEnum):
    """What the filter of the network view shows."""

    ALL = "all"
    REFUSED = "refused"
    ALLOWED = "allowed"


class SandboxModel(QAbstractListModel):
    """Every sandbox there is, and those being made."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[SandboxStatus, ...] = ()

    def show_sandboxes(self, rows: Sequence[SandboxStatus]) -> None:
        """Show these; rows that only changed keep their place and selection."""
        rows = tuple(rows)
        if [row.name for row in rows] == [row.name for row in self._rows]:
            self._rows = rows
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, 0))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def tick(self) -> None:
        """Time passed: running times are shown anew."""
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, 0), [Qt.ItemDataRole.DisplayRole])

    def row_of(self, name: str) -> int:
        """The row of a name, -1 where there is none."""
        return next((index for index, row in enumerate(self._rows) if row.name == name), -1)

    def sandbox(self, row: int) -> SandboxStatus:
        return self._rows[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        status = self._rows[index.row()]
        if role == Role.VALUE:
            return status
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{status.name}. {state_look(status).words}. {facts(status)}"
        return None


class DecisionModel(TableModel):
    """Egress decisions of one sandbox, oldest first; appends keep the rows above."""

    COLUMNS = ("Time", "Phase", "Method", "Host and path", "Verdict", "Decided by")

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._all: tuple[Decision, ...] = ()
        self._rows: list[Decision] = []
        self._verdict = Verdict.ALL

    def show_decisions(self, decisions: Sequence[Decision]) -> None:
        """Show these; what was there before stays where it is."""
        kept = tuple(decisions[-KEPT:])
        if kept == self._all:
            return
        grown = kept[: len(self._all)] == self._all
        new = [d for d in kept[len(self._all) :] if self._matches(d)] if grown else []
        self._all = kept
        if not grown:
            self._filter()
        elif new:
            first = len(self._rows)
            self.beginInsertRows(QModelIndex(), first, first + len(new) - 1)
            self._rows.extend(new)
            self.endInsertRows()

    def narrow(self, verdict: Verdict) -> None:
        """Only decisions of one kind."""
        self._verdict = verdict
        self._filter()

    def counts(self) -> dict[Verdict, int]:
        """Decisions of each kind."""
        refused = sum(is_refused(decision) for decision in self._all)
        return {
            Verdict.ALL: len(self._all),
            Verdict.REFUSED: refused,
            Verdict.ALLOWED: len(self._all) - refused,
        }

    def decision(self, row: int) -> Decision:
        return self._rows[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        decision = self._rows[index.row()]
        column = index.column()
        refused = is_refused(decision)
        if role == Role.VALUE:
            return decision
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return (
                time.strftime("%H:%M:%S", time.localtime(decision.time)),
                visible(decision.phase.capitalize()),
                visible(decision.method) if decision.method else "–",
                target(decision),
                tr("Refused") if refused else tr("Allowed"),
                decided_by(decision),
            )[column]
        if role == Qt.ItemDataRole.FontRole and column in (2, 3):
            return self._theme.font(Type.MONO)
        if role == Qt.ItemDataRole.DecorationRole and column == 4:
            icon, token = ("deny", Token.SERIOUS) if refused else ("success", Token.SUCCESS)
            return QIcon(self._theme.pixmap(icon, 16, token))
        if role == Qt.ItemDataRole.ForegroundRole:
            if column == 4:
                return self._theme.colour(Token.SERIOUS if refused else Token.SUCCESS)
            if column in (0, 1) or (column == 5 and not decision.kit):
                return self._theme.colour(Token.SECONDARY)
            if column == 5:
                return self._theme.colour(Token.ACCENT)
        if role == Qt.ItemDataRole.ToolTipRole and column == 3:
            return target(decision)
        return None

    def _matches(self, decision: Decision) -> bool:
        return self._verdict is Verdict.ALL or is_refused(decision) == (self._verdict is Verdict.REFUSED)

    def _filter(self) -> None:
        self.beginResetModel()
        self._rows = [decision for decision in self._all if self._matches(decision)]
        self.endResetModel()


class HookModel(TableModel):
    """Lifecycle hooks in the order they ran."""

    COLUMNS = ("Hook", "Kit", "Phase", "Runs as", "State", "Time")

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: tuple[HookRun, ...] = ()

    def show_hooks(self, hooks: Sequence[HookRun]) -> None:
        """Show these hooks."""
        hooks = tuple(hooks)
        if hooks == self._rows:
            return
        if len(hooks) == len(self._rows) and hooks:
            self._rows = hooks
            self.dataChanged.emit(self.index(0, 0), self.index(len(hooks) - 1, len(self.COLUMNS) - 1))
            return
        self.beginResetModel()
        self._rows = hooks
        self.endResetModel()

    def hook(self, row: int) -> HookRun:
        return self._rows[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if section == 5 and role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return super().headerData(section, orientation, role)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        hook, column = self._rows[index.row()], index.column()
        words, icon, token = hook_state(hook)
        if role == Role.VALUE:
            return hook
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return (
                str(index.row() + 1),
                short_kit(hook.kit),
                tr(hook.phase.capitalize()),
                visible(hook.user),
                words,
                duration_text(hook.seconds) if hook.status is not None or hook.seconds else "–",
            )[column]
        if role == Qt.ItemDataRole.DecorationRole and column == 4:
            return QIcon(self._theme.pixmap(icon, 16, token))
        if role == Qt.ItemDataRole.ForegroundRole:
            if column == 4:
                return self._theme.colour(token)
            if column == 3 and hook.user != "root":
                return self._theme.colour(Token.SECONDARY)
        if role == Qt.ItemDataRole.TextAlignmentRole and column == 5:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return visible(" ".join(hook.command)[:500])
        return None


def is_refused(decision: Decision) -> bool:
    """Everything that is not an allowance was refused."""
    return decision.verdict not in ("allow", "allowed")


def target(decision: Decision) -> str:
    """Host, port where it says something, and the path where the policy made us look."""
    port = "" if not decision.host or (decision.port in (0, 443) and decision.url_path) else f":{decision.port}"
    return visible(f"{decision.host}{port}{decision.url_path or ''}")


def decided_by(decision: Decision) -> str:
    """``gh, line 14``, or that nothing names it."""
    if not decision.kit:
        return tr("no entry names it") if is_refused(decision) else tr("the host")
    if decision.line:
        return tr("{kit}, line {line}").format(kit=short_kit(decision.kit), line=decision.line)
    return short_kit(decision.kit)


def short_kit(reference: str) -> str:
    """Name and version of a Kit without its registry."""
    name = reference.partition("@")[0].rpartition("/")[2]
    return visible(name.replace(":", " ", 1)) or visible(reference)


def hook_state(hook: HookRun) -> tuple[str, str, Token]:
    """Words, icon and colour of how a hook stands."""
    if hook.status is None:
        if hook.background:
            return tr("Running in the background"), "running", Token.SUCCESS
        return tr("Running"), "spinner", Token.ACCENT
    if hook.status == 0:
        return tr("Done, exit 0"), "success", Token.SUCCESS
    return tr("Failed, exit {status}").format(status=hook.status), "critical", Token.CRITICAL
