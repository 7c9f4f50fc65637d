"""A tab bar whose last tabs move into a *More* menu when the room runs out."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSizePolicy, QTabBar, QWidget

from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import give_icon
from kitstudio.ui.widgets.text import tr

SIDE = 8
"""Padding at either side of a tab's word, as in the style sheet."""


class TabStrip(QWidget):
    """``chosen(key)`` when another tab is shown."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, tabs: Sequence[tuple[str, str]], name: str, parent: QWidget | None = None) -> None:
        """``tabs``: (key, label)."""
        super().__init__(parent)
        self.theme = theme
        self._tabs = tuple(tabs)
        self._current = tabs[0][0]
        self._bar = QTabBar()
        self._bar.setObjectName("tabs")
        self._bar.setAccessibleName(name)
        self._bar.setDrawBase(False)
        self._bar.setExpanding(False)
        self._bar.setUsesScrollButtons(False)
        self._bar.setElideMode(Qt.TextElideMode.ElideNone)
        self._bar.currentChanged.connect(self._bar_changed)
        self._more = QPushButton(tr("More"))
        self._more.setProperty("kind", "flat")
        self._more.setObjectName("tabs-more")
        self._more.setAccessibleName(tr("More tabs"))
        self._more.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        give_icon(theme, self._more, "chevron-down", 14, Token.SECONDARY)
        self._menu = QMenu(self._more)
        self._more.setMenu(self._menu)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addWidget(self._more)
        layout.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._arrange)
        self._arrange()

    @property
    def current(self) -> str:
        return self._current

    def choose(self, key: str) -> None:
        """Show a tab and tell."""
        if key == self._current:
            return
        self._current = key
        self._arrange()
        self.chosen.emit(key)

    def click(self, key: str) -> None:
        """What a click on the tab does; for keyboards, tests and the tour."""
        self.choose(key)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(400), self.theme.px(37))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.px(37))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._arrange()

    def _arrange(self) -> None:
        metrics = self.theme.metrics(Type.NAME)
        widths = [metrics.horizontalAdvance(label) + 2 * self.theme.px(SIDE) + 4 for _, label in self._tabs]
        more = self.theme.px(80)
        room = self.width()
        if sum(widths) <= room:
            shown = list(range(len(self._tabs)))
        else:
            shown, used = [], 0
            for index, width in enumerate(widths):
                if used + width > room - more:
                    break
                shown.append(index)
                used += width
            current = next(index for index, (key, _) in enumerate(self._tabs) if key == self._current)
            if current not in shown:
                if shown:
                    shown.pop()
                shown.append(current)
        self._fill(shown)

    def _fill(self, shown: list[int]) -> None:
        wanted = [self._tabs[index] for index in shown]
        have = [self._bar.tabData(n) for n in range(self._bar.count())]
        self._bar.blockSignals(True)
        if [key for key, _ in wanted] != have:
            while self._bar.count():
                self._bar.removeTab(0)
            for key, label in wanted:
                self._bar.setTabData(self._bar.addTab(_literal(label)), key)
        self._bar.setCurrentIndex(next((n for n, (key, _) in enumerate(wanted) if key == self._current), -1))
        self._bar.blockSignals(False)
        rest = [tab for index, tab in enumerate(self._tabs) if index not in shown]
        self._menu.clear()
        for key, label in rest:
            self._menu.addAction(_literal(label)).triggered.connect(lambda _=False, key=key: self.choose(key))
        self._more.setVisible(bool(rest))

    def _bar_changed(self, index: int) -> None:
        if index >= 0:
            self._current = str(self._bar.tabData(index))
            self.chosen.emit(self._current)


def _literal(label: str) -> str:
    """An ampersand as itself, not as a mnemonic."""
    return label.replace("&", "&&")
