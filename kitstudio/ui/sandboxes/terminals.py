"""The terminals of one sandbox: tabs, each with a PTY of its own, and what a new one may be opened with (§8)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtWidgets import QMenu, QStackedWidget, QTabBar, QToolButton, QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.ui.sandboxes.text_dialog import TextDialog
from kitstudio.ui.terminal.panel import TerminalPanel
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import holder, icon_button, line, row
from kitstudio.ui.widgets.composite import StateView
from kitstudio.ui.widgets.text import tr, visible

MOST_TERMINALS = 16


class Mode(StrEnum):
    """What a terminal runs. The first three are the launch argvs of §8 as the sandbox's set states them."""

    INTERACTIVE = "interactive"
    HEADLESS = "headless"
    SHELL = "shell"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Opening:
    """What a terminal was opened with; an empty command is the interactive launch argv."""

    mode: Mode = Mode.INTERACTIVE
    command: tuple[str, ...] = ()


class SandboxTerminals(QWidget):
    """``menu_wanted`` asks for the menu of modes, ``opened(panel)`` for a session in a new panel, and
    ``close_wanted(panel)`` for its end."""

    menu_wanted = Signal(QPoint)
    opened = Signal(object)
    close_wanted = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.name = name
        self.setObjectName(f"terminals-{name}")
        self.tabs = QTabBar()
        self.tabs.setObjectName("terminalTabs")
        self.tabs.setAccessibleName(tr("Terminals of {name}").format(name=name))
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(True)
        self.tabs.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.tabs.setProperty("small", True)
        self.tabs.setIconSize(QSize(theme.px(14), theme.px(14)))
        self.tabs.currentChanged.connect(self._show)
        self.tabs.tabBarDoubleClicked.connect(lambda index: self.rename(index))
        self.new = icon_button(theme, "plus", tr("New terminal (Ctrl+Shift+T)"), small=True, object_name="terminalNew")
        self.new.clicked.connect(self._ask_menu)
        self.rename_button = icon_button(
            theme, "tag", tr("Rename this terminal"), small=True, object_name="terminalRename"
        )
        self.rename_button.clicked.connect(lambda: self.rename(self.tabs.currentIndex()))
        self._stack = QStackedWidget()
        self._none = StateView(
            theme,
            "terminal",
            tr("No terminal is open"),
            tr("The sandbox goes on without one. Each terminal is a session of its own."),
            [("new", tr("Open one"), "plus")],
        )
        self._none.acted.connect(lambda _key: self.add(Opening()))
        self._body = QStackedWidget()
        self._body.addWidget(self._none)
        self._body.addWidget(self._stack)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        bar = row(self.tabs, self.new, None, self.rename_button, spacing=4, margins=(8, 2, 8, 2))
        layout.addWidget(holder(bar, "raised"))
        layout.addWidget(line())
        layout.addWidget(self._body, 1)

    @property
    def panels(self) -> tuple[TerminalPanel, ...]:
        """Every terminal, in the order of the tabs."""
        found = [self._stack.widget(index) for index in range(self._stack.count())]
        return tuple(widget for widget in found if isinstance(widget, TerminalPanel))

    @property
    def current(self) -> TerminalPanel | None:
        """The terminal that is shown."""
        widget = self._stack.currentWidget()
        return widget if isinstance(widget, TerminalPanel) else None

    @property
    def active(self) -> bool:
        """Whether a PTY is connected in any of them."""
        return any(panel.session.active for panel in self.panels)

    def add(self, opening: Opening, title: str = "") -> TerminalPanel:
        """A new tab, shown; whoever hears ``opened`` connects it."""
        panel = TerminalPanel(self.theme)
        panel.setProperty("opening", opening)
        panel.view.tab_wanted.connect(self._tab_wanted)
        title = self._free(title or title_of(opening))
        self._stack.addWidget(panel)
        self._body.setCurrentWidget(self._stack)
        self.rename_button.setEnabled(True)
        index = self.tabs.addTab(visible(title))
        self.tabs.setTabToolTip(index, visible(" ".join(opening.command)))
        self.tabs.setTabIcon(index, self.theme.icon("terminal", 14, Token.SECONDARY))
        self._give_close(index, panel)
        self._label(panel, title)
        self.tabs.setCurrentIndex(index)
        self._show(index)
        self.new.setEnabled(self._stack.count() < MOST_TERMINALS)
        self.opened.emit(panel)
        return panel

    def remove(self, panel: TerminalPanel) -> None:
        """Take a tab away; its neighbour is shown and gets the keys."""
        index = self._stack.indexOf(panel)
        if index < 0:
            return
        held = panel.isAncestorOf(self.focusWidget()) if self.focusWidget() is not None else False
        self._stack.removeWidget(panel)
        self.tabs.removeTab(index)
        self._show(self.tabs.currentIndex())
        if not self._stack.count():
            self._body.setCurrentWidget(self._none)
            self.rename_button.setEnabled(False)
        self.new.setEnabled(True)
        panel.hide()
        panel.deleteLater()
        if held and self.current is not None:
            self.current.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def mark(self, panel: TerminalPanel, *, ended: bool) -> None:
        """Say in the tab whether its program has ended."""
        index = self._stack.indexOf(panel)
        if index >= 0:
            icon = "stop" if ended else "terminal"
            self.tabs.setTabIcon(index, self.theme.icon(icon, 14, Token.SECONDARY))
            text = self.tabs.tabText(index)
            self.tabs.setAccessibleTabName(index, tr("{name}, ended").format(name=text) if ended else text)

    def title(self, panel: TerminalPanel) -> str:
        """The name of its tab."""
        return self.tabs.tabText(self._stack.indexOf(panel))

    def rename(self, index: int) -> None:
        """Ask for another name."""
        panel = self._stack.widget(index)
        if not isinstance(panel, TerminalPanel):
            return
        dialog = TextDialog(
            self.theme,
            tr("Rename this terminal"),
            tr("A name for its tab."),
            tr("Rename"),
            lambda text: "" if text.strip() and len(text) <= 60 else tr("One to sixty characters."),
            text=self.tabs.tabText(index),
            parent=self,
        )
        dialog.given.connect(lambda text: self._label(panel, text.strip()))
        dialog.open()

    def menu(self, commands: Mapping[str, tuple[str, ...]]) -> QMenu:
        """What a new terminal may run; each with the exact command."""
        menu = QMenu(self)
        menu.setObjectName("terminalModes")
        menu.setToolTipsVisible(True)
        for mode, words in (
            (Mode.INTERACTIVE, tr("Interactive")),
            (Mode.HEADLESS, tr("Headless command")),
            (Mode.SHELL, tr("Shell")),
        ):
            command = commands.get(mode, ())
            said = claim(" ".join(command), 60) if command else tr("not stated by this set")
            action = menu.addAction(self.theme.icon("terminal", 16, Token.SECONDARY), f"{words}: {_plain(said)}")
            action.setObjectName(mode)
            action.setEnabled(bool(command))
            action.setToolTip(visible(" ".join(command)))
            opening = Opening(mode, () if mode is Mode.INTERACTIVE else command)
            action.triggered.connect(lambda _=False, opening=opening: self.add(opening))
        menu.addSeparator()
        own = menu.addAction(self.theme.icon("plus", 16, Token.SECONDARY), tr("A command…"))
        own.setObjectName(Mode.COMMAND)
        own.triggered.connect(self._ask_command)
        return menu

    def _ask_command(self) -> None:
        dialog = TextDialog(
            self.theme,
            tr("Run a command in a new terminal"),
            tr(
                "Words as in a shell, with quotes where needed. No shell reads it: name one to have pipes or variables."
            ),
            tr("Run"),
            command_fault,
            parent=self,
        )
        dialog.given.connect(lambda text: self.add(Opening(Mode.COMMAND, words_of(text))))
        dialog.open()

    def _ask_menu(self) -> None:
        self.menu_wanted.emit(self.new.mapToGlobal(self.new.rect().bottomLeft()))

    def _tab_wanted(self, what: str) -> None:
        count, at = self.tabs.count(), self.tabs.currentIndex()
        match what:
            case "new":
                self._ask_menu()
            case "close" if self.current is not None:
                self.close_wanted.emit(self.current)
            case "next" | "previous" if count:
                self.tabs.setCurrentIndex((at + (1 if what == "next" else -1)) % count)
                if self.current is not None:
                    self.current.view.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _show(self, index: int) -> None:
        if 0 <= index < self._stack.count():
            self._stack.setCurrentIndex(index)
            if (panel := self.current) is not None:
                self.setFocusProxy(panel)

    def _label(self, panel: TerminalPanel, title: str) -> None:
        index = self._stack.indexOf(panel)
        if index >= 0:
            self.tabs.setTabText(index, visible(title).replace("&", "&&"))
            panel.view.setAccessibleName(tr("Terminal {title} of {name}").format(title=title, name=self.name))

    def _free(self, title: str) -> str:
        taken = {self.tabs.tabText(index) for index in range(self.tabs.count())}
        number = 2
        found = title
        while visible(found) in taken:
            found, number = f"{title} {number}", number + 1
        return found

    def _give_close(self, index: int, panel: TerminalPanel) -> None:
        shut: QToolButton = icon_button(self.theme, "close", tr("Close this terminal"), small=True)
        shut.setObjectName("terminalClose")
        shut.clicked.connect(lambda: self.close_wanted.emit(panel))
        self.tabs.setTabButton(index, QTabBar.ButtonPosition.RightSide, shut)


def title_of(opening: Opening) -> str:
    """The name a terminal has at first."""
    match opening.mode:
        case Mode.INTERACTIVE:
            return tr("Interactive")
        case Mode.HEADLESS:
            return tr("Headless")
        case Mode.SHELL:
            return tr("Shell")
    return claim(opening.command[0].rsplit("/", 1)[-1] if opening.command else tr("Command"), 24)


def words_of(text: str) -> tuple[str, ...]:
    """A command as the words it is made of; ``ValueError`` where a quote stays open."""
    return tuple(shlex.split(text))


def command_fault(text: str) -> str:
    """What is wrong with a command, empty for nothing."""
    try:
        return "" if words_of(text) else tr("Write a command.")
    except ValueError:
        return tr("A quote is not closed.")


def _plain(text: str) -> str:
    return visible(text).replace("&", "&&")
