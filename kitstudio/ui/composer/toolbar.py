"""The composer's tool bar: type a reference, stack or graph, and what is done with the whole set."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from kitstudio.services.composition import Composition
from kitstudio.ui.composer.rows import blocking
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import button, give_icon, row, set_ground
from kitstudio.ui.widgets.composite import Segmented
from kitstudio.ui.widgets.text import counted, tr

TYPED = 60
"""Pixels of the reference field that stay in the narrowest bar."""


class Toolbar(QWidget):
    """Buttons and the reference field. ``typed(text)`` when something is to be added."""

    typed = Signal(str)
    view_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.reference = QLineEdit()
        self.reference.setObjectName("composerReference")
        self.reference.setPlaceholderText(tr("Type a reference or drop a Kit, file or folder"))
        self.reference.setAccessibleName(tr("Add a Kit by reference or path"))
        self._plus = QAction(theme.icon("plus", 16, Token.SECONDARY), "", self.reference)
        self.reference.addAction(self._plus, QLineEdit.ActionPosition.LeadingPosition)
        self.reference.setMaximumWidth(theme.px(360))
        self.reference.returnPressed.connect(self._add_typed)
        choices = (("stack", tr("Stack"), "list"), ("graph", tr("Graph"), "graph"))
        self.view = Segmented(theme, choices, tr("Show the set as"))
        self.view.chosen.connect(self.view_chosen)
        self.open = button(theme, tr("Open"), "folder", "flat", name="composerOpen")
        self.save = button(theme, tr("Save"), "save", "flat", name="composerSave")
        self.export = button(theme, tr("Export"), "export", name="composerExport")
        self.publish = button(theme, tr("Publish"), "upload", name="composerPublish")
        self.launch = button(theme, tr("Launch"), "play", "primary", name="composerLaunch")
        self._launch = tr("Launch")
        for tool in self.tools():
            tool.setAccessibleName(tool.text())
        bar = row(spacing=8, margins=(16, 8, 16, 8))
        bar.addWidget(self.reference, 3)
        bar.addWidget(self.view)
        bar.addStretch(2)
        for tool in self.tools():
            bar.addWidget(tool)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(bar)
        set_ground(self, "raised")
        theme.changed.connect(self._redraw)

    def tools(self) -> tuple[QPushButton, ...]:
        """The buttons at the right, in order."""
        return (self.open, self.save, self.export, self.publish, self.launch)

    def show_composition(self, composition: Composition, empty: bool) -> None:
        """The launch button says itself why it cannot run."""
        plan = composition.plan
        problems = blocking(plan)
        self.launch.setEnabled(plan.launchable and not empty)
        if empty:
            words = tr("Launch: no Kits yet")
        elif plan.loading:
            words = tr("Launch: looking at the Kits")
        elif problems:
            words = tr("Launch: {problems}").format(problems=counted(problems, "problem", "problems"))
        elif not plan.launchable:
            words = tr("Launch: the set cannot be read")
        else:
            words = tr("Launch")
        self._launch = words
        self.launch.setAccessibleName(words)
        give_icon(self.theme, self.launch, "play", 16, Token.ON_ACCENT if plan.launchable else Token.DISABLED)
        self.export.setEnabled(not empty)
        self.publish.setEnabled(not empty and not plan.loading)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Where there is little room, what is known by its icon gives up its word, not its name; one after another, and
        last the launch button its reason. Nothing is cut."""
        small = self.width() < self.theme.px(1000)
        worded = (
            (self.open, tr("Open"), small),
            (self.save, tr("Save"), small),
            (self.export, tr("Export"), False),
            (self.publish, tr("Publish"), False),
            (self.launch, self._launch, False),
        )
        for tool, words, bare in worded:
            self._word(tool, words, bare)
        for tool, words, bare in worded:
            if not bare and self._needed() > self.width():
                self._word(tool, words, bare=True)

    def _word(self, tool: QPushButton, words: str, bare: bool) -> None:
        shown = tr("Launch") if bare and tool is self.launch else "" if bare else words
        if tool.text() != shown:
            tool.setText(shown)
        tool.setToolTip(words if bare else "")

    def _needed(self) -> int:
        """The width at which every part stands whole, with a few letters of the reference."""
        parts = (self.view, *self.tools())
        gaps = self.theme.px(8) * (len(parts) + 1) + self.theme.px(32)
        return sum(part.sizeHint().width() for part in parts) + gaps + self.theme.px(TYPED)

    def _add_typed(self) -> None:
        text = self.reference.text().strip()
        if text:
            self.typed.emit(text)
            self.reference.clear()

    def _redraw(self) -> None:
        self._plus.setIcon(self.theme.icon("plus", 16, Token.SECONDARY))
        self.reference.setMaximumWidth(self.theme.px(360))
