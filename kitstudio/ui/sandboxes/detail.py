"""One sandbox: header with its actions, tabs, and the designed states around them (launch, broken, stopped)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMenu, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.runtime.backend import Decision, SandboxStatus, State
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.credentials_view import CredentialsView
from kitstudio.ui.sandboxes.files_view import FilesView
from kitstudio.ui.sandboxes.lifecycle_view import LifecycleView
from kitstudio.ui.sandboxes.models import Verdict
from kitstudio.ui.sandboxes.network_view import NetworkView
from kitstudio.ui.sandboxes.ports_view import PortsView
from kitstudio.ui.sandboxes.storage_view import StorageView
from kitstudio.ui.sandboxes.terminals import SandboxTerminals
from kitstudio.ui.sandboxes.text_views import DetailsView, LogView
from kitstudio.ui.sandboxes.words import facts, refused_text, state_look
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets.basic import (
    Chip,
    Elided,
    button,
    column,
    give_icon,
    holder,
    icon_button,
    line,
    row,
    set_ground,
)
from kitstudio.ui.widgets.composite import StateView
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.tab_bar import tab_bar
from kitstudio.ui.widgets.text import tr, visible

TERMINAL, NETWORK, FILES, LIFECYCLE, PORTS, STORAGE, CREDENTIALS, LOG, DETAILS = range(9)
TAB_NAMES = ("Terminal", "Network", "Files", "Lifecycle", "Ports", "Storage", "Credentials", "Log", "Details")


class SandboxDetail(QWidget):
    """``asked(action)``: start, stop, recreate, remove, repair, workspace, terminal, set. The page does them."""

    asked = Signal(str)
    tab_changed = Signal(int)
    kit_wanted = Signal(str)
    propose_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.status: SandboxStatus | None = None
        self._head_name = Elided("", Type.HEADING)
        self._head_name.setObjectName("sandboxName")
        self._head_name.setMinimumWidth(theme.px(90))
        self._chip = Chip(theme, ChipLook("", Tone.PLAIN))
        self._facts = Elided("", ink="secondary")
        self.workspace = button(theme, tr("Workspace"), "folder", small=True, name="sandboxWorkspace")
        self.workspace.clicked.connect(lambda: self.asked.emit("workspace"))
        self.switch = button(theme, tr("Stop"), "stop", small=True, name="sandboxSwitch")
        self.switch.clicked.connect(self._switch)
        self.more = icon_button(theme, "more", tr("More actions"), small=True, object_name="sandboxMore")
        self.more.clicked.connect(self._open_menu)
        self.tabs = tab_bar([tr(name) for name in TAB_NAMES], "sandboxTabs", tr("Views of this sandbox"))
        self.tabs.currentChanged.connect(self._show_tab)
        head = row(spacing=theme.px(12), margins=(theme.px(16), theme.px(10), theme.px(16), 0))
        head.addWidget(self._head_name)
        head.addWidget(self._chip)
        head.addWidget(self._facts)
        head.addStretch(1)
        for tool in (self.workspace, self.switch, self.more):
            head.addWidget(tool)
        top = column(spacing=theme.px(4))
        top.addLayout(head)
        top.addLayout(row(self.tabs, None, margins=(8, 0, 16, 0)))
        self.terminals = QStackedWidget()
        self._no_terminal = StateView(theme, "terminal", "", "")
        self._no_terminal.acted.connect(self.asked)
        self.terminals.addWidget(self._no_terminal)
        self.network = NetworkView(theme)
        self.below = NetworkView(theme, split=True)
        self.files = FilesView(theme)
        self.lifecycle = LifecycleView(theme)
        self.ports = PortsView(theme)
        self.storage = StorageView(theme)
        self.credentials = CredentialsView(theme)
        self.log = LogView(theme)
        self.details = DetailsView(theme)
        self._pages = QStackedWidget()
        for page in (
            self.terminals,
            self.network,
            self.files,
            self.lifecycle,
            self.ports,
            self.storage,
            self.credentials,
            self.log,
            self.details,
        ):
            self._pages.addWidget(page)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.addWidget(self._pages)
        self.splitter.addWidget(self.below)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setSizes([theme.px(360), theme.px(290)])
        self.below.hide()
        self.network.split_wanted.connect(lambda: self.show_split(True))
        self.below.split_wanted.connect(lambda: self.show_split(False))
        for view in (self.network, self.below):
            view.kit_wanted.connect(self.kit_wanted)
            view.propose_wanted.connect(self.propose_wanted)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(top, "raised"))
        layout.addWidget(line())
        layout.addWidget(self.splitter, 1)
        set_ground(self, "surface")

    def show_status(self, status: SandboxStatus) -> None:
        """Show another sandbox, or the same one as it is now."""
        self.status = status
        look = state_look(status)
        self._head_name.show_text(status.name)
        if status.state is State.RUNNING and status.refused:
            self._chip.show_look(ChipLook(refused_text(status.refused), Tone.SERIOUS, "deny", bold=True))
        else:
            self._chip.show_look(ChipLook(look.words[:60], look.tone, look.icon, bold=True))
        self.show_facts()
        up = status.state in (State.RUNNING, State.WAITING)
        self.switch.setText(tr("Stop") if up else tr("Start"))
        self.switch.setAccessibleName(self.switch.text())
        give_icon(self.theme, self.switch, "stop" if up else "play", 14)
        self.switch.setEnabled(status.state is not State.BROKEN and status.state is not State.STARTING)
        self.workspace.setEnabled(bool(status.workspace))
        self.workspace.setToolTip(
            visible(status.workspace) if status.workspace else tr("This sandbox has no workspace folder")
        )
        count = f" {status.refused}" if status.refused else ""
        self.tabs.setTabText(NETWORK, tr("Network") + count)
        self.tabs.setTabIcon(
            NETWORK,
            self.theme.icon("deny", 14, Token.SERIOUS)
            if status.refused
            else self.theme.icon("network", 14, Token.SECONDARY),
        )
        self.tabs.setTabIcon(TERMINAL, self.theme.icon("terminal", 14, Token.SECONDARY))

    def show_facts(self) -> None:
        """Running time and memory as they are now."""
        if self.status is not None:
            self._facts.show_text(facts(self.status))

    def show_terminal(self, sessions: SandboxTerminals | None) -> None:
        """Show a sandbox's terminals, or why there are none."""
        if sessions is not None:
            if self.terminals.indexOf(sessions) < 0:
                self.terminals.addWidget(sessions)
            self.terminals.setCurrentWidget(sessions)
            return
        status = self.status
        if status is not None and status.state is State.BROKEN:
            actions = [("repair", claim(status.repair, 40), "tools")] if status.repair else []
            self._no_terminal.show_state(
                "critical",
                tr("{name} is broken").format(name=status.name),
                claim(status.broken, 300),
                [*actions, ("remove", tr("Remove…"), "trash")],
                tr("The approved set and the workspace folder are not touched by a repair."),
                tone=Tone.CRITICAL,
            )
        elif status is not None and status.state is State.STOPPED:
            self._no_terminal.show_state(
                "stop",
                tr("{name} is stopped").format(name=status.name),
                tr("Its disk and its approval are kept. Starting runs the startup hooks, not the install hooks."),
                [("start", tr("Start"), "play"), ("recreate", tr("Recreate…"), "refresh")],
            )
        else:
            self._no_terminal.show_state("terminal", tr("No terminal yet"), tr("It opens when the sandbox is ready."))
        self.terminals.setCurrentWidget(self._no_terminal)

    def drop_terminals(self, sessions: SandboxTerminals) -> None:
        """Take a sandbox's terminals off the screen."""
        self.terminals.removeWidget(sessions)

    def show_decisions(self, decisions: Sequence[Decision]) -> None:
        """Fill both network views."""
        self.network.show_decisions(decisions)
        self.below.show_decisions(decisions)

    def show_split(self, on: bool) -> None:
        """Network below the terminal, or in its own tab."""
        self.below.setVisible(on)
        if on:
            self.tabs.setCurrentIndex(TERMINAL)
            self.below.choose_verdict(Verdict.ALL)

    def menu(self) -> QMenu:
        """Everything that can be done with this sandbox."""
        menu = QMenu(self)
        menu.setObjectName("sandboxMenu")
        state = self.status.state if self.status is not None else State.STOPPED
        up = state in (State.RUNNING, State.WAITING)
        for key, words, icon, enabled in (
            ("terminal", tr("Open terminal"), "terminal", up),
            ("workspace", tr("Open workspace"), "folder", self.workspace.isEnabled()),
            ("split", tr("Network below the terminal"), "network", True),
            ("", "", "", False),
            ("set", tr("Change its set…"), "composer", state is not State.STARTING),
            ("recreate", tr("Recreate…"), "refresh", state is not State.STARTING),
            ("remove", tr("Remove…"), "trash", True),
        ):
            if not key:
                menu.addSeparator()
                continue
            action = menu.addAction(self.theme.icon(icon, 16, Token.SECONDARY), words)
            action.setObjectName(key)
            action.setEnabled(enabled)
            action.triggered.connect(lambda _=False, key=key: self._chosen(key))
        return menu

    def _open_menu(self) -> None:
        menu = self.menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _chosen(self, key: str) -> None:
        if key == "split":
            self.show_split(not self.below.isVisible())
        else:
            self.asked.emit(key)

    def _switch(self) -> None:
        up = self.status is not None and self.status.state in (State.RUNNING, State.WAITING)
        self.asked.emit("stop" if up else "start")

    def _show_tab(self, index: int) -> None:
        self._pages.setCurrentIndex(index)
        if index == NETWORK:
            self.below.hide()
        self.tab_changed.emit(index)
