"""Runs the terminals of all sandboxes: one task a terminal, its end told, a new session offered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt, Signal

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import State, Terminal
from kitstudio.services.sandboxes import Sandboxes
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.sandboxes.terminals import Opening, SandboxTerminals
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.terminal.panel import TerminalPanel
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr, visible

LOST = 255


class SandboxSessions(QObject):
    """The terminals by sandbox. ``failed`` is told what goes wrong outside a terminal; ``gone(SandboxTerminals)`` when
    those of a removed sandbox may be taken off the screen."""

    gone = Signal(object)

    def __init__(
        self, theme: Theme, sandboxes: Sandboxes, failed: Callable[[KitStudioError], None], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._sandboxes = sandboxes
        self._tasks = Tasks(self, failed)
        self._by_name: dict[str, SandboxTerminals] = {}
        self._numbers: dict[TerminalPanel, int] = {}
        self._counted = 0

    @property
    def tasks(self) -> Tasks:
        """To be ended with the window."""
        return self._tasks

    def of(self, name: str) -> SandboxTerminals | None:
        """The terminals of a sandbox, if any were made."""
        return self._by_name.get(name)

    def make(self, name: str) -> SandboxTerminals:
        """The terminals of a running sandbox; nothing is connected before ``begin``."""
        found = self._by_name.get(name)
        if found is None:
            found = self._by_name[name] = SandboxTerminals(self._theme, name)
            found.menu_wanted.connect(partial(self._ask_modes, name))
            found.opened.connect(partial(self._connect, name))
            found.close_wanted.connect(partial(self._ask_close, name))
        return found

    def begin(self, name: str, *, again: bool = False) -> None:
        """See that a terminal is there: the interactive one the first time; ``again``: also anew once it ended."""
        terminals = self.make(name)
        panel = terminals.current
        if panel is None and (again or not terminals.property("begun")):
            terminals.setProperty("begun", True)
            terminals.add(Opening())
        elif panel is not None and again and not panel.session.active:
            self._again(name, panel)

    def end(self, name: str) -> None:
        """Hang up every terminal of a sandbox that goes."""
        terminals = self._by_name.pop(name, None)
        if terminals is None:
            return
        for panel in terminals.panels:
            self._hang_up(panel)
        self.gone.emit(terminals)
        terminals.hide()
        terminals.deleteLater()

    def _connect(self, name: str, panel: TerminalPanel) -> None:
        self._counted += 1
        self._numbers[panel] = self._counted
        panel.strip.acted.connect(partial(self._strip_acted, name, panel))
        self._run(name, panel)
        if panel.isVisible():
            panel.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _run(self, name: str, panel: TerminalPanel) -> None:
        panel.strip.hide()
        self._by_name[name].mark(panel, ended=False)
        self._tasks.start(self._hold(name, panel), self._key(panel))

    async def _hold(self, name: str, panel: TerminalPanel) -> None:
        opening: Opening = panel.property("opening")

        async def open_pty(columns: int, rows: int) -> Terminal:
            return await self._sandboxes.terminal(name, opening.command, columns=columns, rows=rows)

        again, shut = ("again", tr("Open again"), "refresh"), ("shut", tr("Close"), "close")
        try:
            status = await panel.session.run(open_pty)
        except KitStudioError as error:
            words = " ".join(part for part in (visible(error.what), error.remedy) if part)
            self._mark_ended(name, panel)
            panel.strip.tell("critical", tr("The terminal did not open."), words, again, shut)
            return
        self._mark_ended(name, panel)
        if status == LOST and not await self._runs(name):
            panel.strip.tell(
                "notice", tr("The sandbox stopped."), tr("What it wrote stays here to be read."), None, shut
            )
        elif status == LOST:
            words = tr("The program ended with 255, or the connection to it was lost.")
            panel.strip.tell("notice", tr("The session ended."), words, again, shut)
        else:
            panel.strip.tell("info", tr("The session ended."), tr("Exit status {n}.").format(n=status), again, shut)

    async def _runs(self, name: str) -> bool:
        return any(
            status.name == name and status.state in (State.RUNNING, State.WAITING)
            for status in await self._sandboxes.refresh()
        )

    def _mark_ended(self, name: str, panel: TerminalPanel) -> None:
        terminals = self._by_name.get(name)
        if terminals is not None:
            terminals.mark(panel, ended=True)

    def _strip_acted(self, name: str, panel: TerminalPanel, key: str) -> None:
        if key == "again":
            self._again(name, panel)
        elif key == "shut":
            self._close(name, panel)

    def _again(self, name: str, panel: TerminalPanel) -> None:
        panel.view.restart()
        self._run(name, panel)
        panel.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _ask_modes(self, name: str, place: QPoint) -> None:
        self._tasks.start(self._show_modes(name, place), "modes")

    async def _show_modes(self, name: str, place: QPoint) -> None:
        commands = await self._sandboxes.launch_commands(name)
        terminals = self._by_name.get(name)
        if terminals is not None:
            menu = terminals.menu(commands)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(place)

    def _ask_close(self, name: str, panel: TerminalPanel) -> None:
        if not panel.session.active:
            self._close(name, panel)
            return
        terminals = self._by_name[name]
        dialog = ConfirmDialog(
            self._theme,
            tr("Close {title}?").format(title=terminals.title(panel)),
            tr("The program in it is told to end. Other terminals and the sandbox go on."),
            tr("Close it"),
            terminals,
        )
        dialog.confirmed.connect(lambda: self._close(name, panel))
        dialog.open()

    def _close(self, name: str, panel: TerminalPanel) -> None:
        self._hang_up(panel)
        terminals = self._by_name.get(name)
        if terminals is not None:
            terminals.remove(panel)

    def _hang_up(self, panel: TerminalPanel) -> None:
        """Another task takes the session's place, which ends with it."""
        if panel in self._numbers:
            self._tasks.start(_nothing(), self._key(panel))
            self._numbers.pop(panel)

    def _key(self, panel: TerminalPanel) -> str:
        return f"terminal-{self._numbers[panel]}"


async def _nothing() -> None:
    return
