"""The launch as one progress view: eight phases with times, what is open during installation, hooks as they run."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from kitstudio.models.surface import Surface
from kitstudio.runtime.backend import HookRun, LaunchPhase, Progress
from kitstudio.services.sandboxes import Launch, Operation
from kitstudio.ui.flow import Flow, ScrollContent
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.launch_steps import START, Step, StepState, steps_of
from kitstudio.ui.sandboxes.lifecycle_view import HookOutput
from kitstudio.ui.sandboxes.models import HookModel, Index
from kitstudio.ui.tables import dressed_table
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import (
    ExactEntry,
    Icon,
    Painted,
    button,
    column,
    holder,
    line,
    row,
    set_ground,
    text_label,
)
from kitstudio.ui.widgets.text import duration_text, tr

_ENTRIES = 24
_TITLES = {
    Operation.LAUNCH: "Starting {name}",
    Operation.START: "Starting {name} again",
    Operation.RECREATE: "Recreating {name}",
}
_NOTES = {
    Operation.LAUNCH: "Cancel stops the machine and removes its disk. Downloaded layers stay in the cache.",
    Operation.START: "Cancel stops the machine. Its disk stays as it is.",
    Operation.RECREATE: "Cancel stops the machine and puts the old disk back. Downloaded layers stay in the cache.",
}
"""What cancelling leaves behind, by what is going on."""


class StepView(Painted):
    """One phase: mark, name, what it does, time; the running one alone is tinted and has a bar."""

    def __init__(self, theme: Theme, step: Step, *, last: bool) -> None:
        super().__init__(theme)
        self._last = last
        self.step = step
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.show_step(step)

    def show_step(self, step: Step) -> None:
        """Show another state of the phase."""
        self.step = step
        words = {StepState.DONE: tr("done"), StepState.NOW: tr("running"), StepState.FAILED: tr("failed")}
        self.setAccessibleName(f"{step.name}: {words.get(step.state, tr('not begun'))}. {step.text}")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        theme = self.theme
        height = theme.px(8) + theme.line(Type.NAME) + theme.line(Type.SMALL) + theme.px(18)
        if self.step.state is StepState.NOW:
            height = theme.px(10) + theme.line(Type.NAME) + theme.line(Type.SMALL) + theme.px(26)
        return QSize(theme.px(420), height)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, step = self.theme, self.step
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        now = step.state is StepState.NOW
        left, top = theme.px(16), theme.px(10 if now else 4)
        if now:
            painter.setPen(QPen(theme.colour(Token.ACCENT_BORDER), 1))
            painter.setBrush(theme.colour(Token.ACCENT_TINT))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        icon, ink = {
            StepState.DONE: ("success", Token.SUCCESS),
            StepState.NOW: ("spinner", Token.ACCENT),
            StepState.FAILED: ("critical", Token.CRITICAL),
            StepState.TODO: ("ring", Token.DISABLED),
        }[step.state]
        side = theme.px(20)
        painter.drawPixmap(left + theme.px(2), top, theme.pixmap(icon, 20, ink))
        if not self._last and not now:
            rail = Token.SUCCESS if step.state is StepState.DONE else Token.BORDER
            from_y = top + side + theme.px(5)
            painter.fillRect(
                QRect(left + theme.px(11), from_y, max(2, theme.px(2)), self.height() - from_y - theme.px(1)),
                theme.colour(rail),
            )
        text_left = left + theme.px(36)
        width = self.width() - text_left - theme.px(16)
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        todo = step.state is StepState.TODO
        painter.setFont(theme.font(Type.BODY if todo else Type.NAME))
        painter.setPen(theme.colour(Token.SECONDARY if todo else Token.TEXT))
        line_height = theme.line(Type.NAME)
        painter.drawText(QRect(text_left, top, width, line_height), align, step.name)
        if step.seconds is not None:
            painter.setFont(theme.font(Type.BODY))
            painter.setPen(theme.colour(Token.TEXT if now else Token.SECONDARY))
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRect(text_left, top, width, line_height), right, duration_text(step.seconds))
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.TEXT if now else Token.SECONDARY))
        shown = theme.metrics(Type.SMALL).elidedText(step.text, Qt.TextElideMode.ElideRight, width)
        below = top + line_height + theme.px(1)
        painter.drawText(QRect(text_left, below, width, theme.line(Type.SMALL)), align, shown)
        if now:
            self._paint_bar(painter, QRect(text_left, below + theme.line(Type.SMALL) + theme.px(6), width, theme.px(6)))

    def _paint_bar(self, painter: QPainter, area: QRect) -> None:
        theme = self.theme
        bar = QRectF(area.left(), area.top(), min(theme.px(300), area.width()), area.height())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(Token.RAISED))
        painter.drawRoundedRect(bar, 3, 3)
        if self.step.fraction is not None:
            done = min(max(self.step.fraction, 0.0), 1.0)
            painter.setBrush(theme.colour(Token.ACCENT_FILL))
            painter.drawRoundedRect(QRectF(bar.left(), bar.top(), bar.width() * done, bar.height()), 3, 3)


class LaunchView(QWidget):
    """``cancelled`` when the person stops the launch."""

    cancelled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._progress: tuple[Progress, ...] = ()
        self._began = time.monotonic()
        self._facts = ""
        self._phases: tuple[LaunchPhase, ...] = tuple(LaunchPhase)
        self._shown_open: object = None
        self._clock = QTimer(self)
        self._clock.setInterval(1000)
        self._clock.timeout.connect(self._tick)
        self._title = text_label("", Type.HEADING, wrap=True)
        self._title.setObjectName("launchTitle")
        self._below = text_label("", ink="secondary", wrap=True)
        self.cancel = button(theme, tr("Cancel launch"), "close", name="launchCancel")
        self.cancel.clicked.connect(self.cancelled)
        head = row(spacing=theme.px(12), margins=(theme.px(16), 0, theme.px(16), 0))
        head.addLayout(column(self._title, self._below, spacing=theme.px(2)), 1)
        head.addWidget(self.cancel)
        head.setAlignment(self.cancel, Qt.AlignmentFlag.AlignTop)
        steps = steps_of((), 0.0)
        self.steps = tuple(StepView(theme, step, last=step is steps[-1]) for step in steps)
        note_icon = Icon(theme, "info", 14)
        note = self._note = text_label("", Type.SMALL, "secondary", wrap=True)
        note_row = row(note_icon, spacing=theme.px(6), margins=(theme.px(16), 0, theme.px(16), 0))
        note_row.setAlignment(note_icon, Qt.AlignmentFlag.AlignTop)
        note_row.addWidget(note, 1)
        left = column(spacing=0, margins=(theme.px(16), theme.px(20), theme.px(16), theme.px(16)))
        left.addLayout(head)
        left.addSpacing(theme.px(16))
        for view in self.steps:
            left.addWidget(view)
        left.addStretch(1)
        left.addLayout(note_row)
        content = ScrollContent()
        content.setLayout(left)
        set_ground(content, "raised")
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        area.setMinimumWidth(theme.px(380))
        area.setMaximumWidth(theme.px(524))
        self.model = HookModel(theme, self)
        self.hooks = dressed_table(
            theme, self.model, (52, 0, 76, 76, 150, 60), tr("Hooks of this launch"), "launchHooks"
        )
        self.hooks.selectionModel().currentRowChanged.connect(lambda current, _old: self._show_hook(current))
        self.output = HookOutput(theme)
        self._chosen_by_hand = False
        self.hooks.clicked.connect(lambda _index: self._choose())
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self._open_part())
        right.addWidget(self.output, 1)
        right.addWidget(line())
        right.addWidget(self.hooks)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(area, 11)
        layout.addWidget(line(vertical=True))
        layout.addLayout(right, 14)
        self._fit_hooks()

    def begin(self, launch: Launch, facts: str = "") -> None:
        """Start showing a launch. ``facts``: set and number of Kits."""
        self._title.setText(tr(_TITLES[launch.operation]).format(name=launch.name))
        self._note.setText(tr(_NOTES[launch.operation]))
        self._phases = START if launch.operation is Operation.START else tuple(LaunchPhase)
        self._facts = facts
        self._began = time.monotonic()
        self._progress = ()
        self._chosen_by_hand = False
        self._shown_open = None
        for view in self.steps:
            view.setVisible(view.step.phase in self._phases)
        self.show_launch(launch)
        self.show_hooks(())
        self._clock.start()

    def show_launch(self, launch: Launch) -> None:
        """The launch as it is now."""
        if self._shown_open != (launch.operation, launch.lock):
            self._shown_open = (launch.operation, launch.lock)
            self._show_open(launch)
        self.show_progress(launch.steps)

    def show_progress(self, progress: Sequence[Progress]) -> None:
        """The reports so far."""
        self._progress = tuple(progress)
        if self._progress:
            self._began = min(self._began, time.monotonic() - self._progress[-1].seconds)
        self._tick()

    def show_hooks(self, hooks: Sequence[HookRun]) -> None:
        """Hooks so far; the newest one is shown unless another was chosen."""
        self.model.show_hooks(hooks)
        self._fit_hooks()
        self.hooks.setVisible(bool(hooks))
        if hooks and not self._chosen_by_hand:
            self.hooks.selectRow(len(hooks) - 1)
        current = self.hooks.currentIndex()
        self._show_hook(current if hooks else None)

    def end(self) -> None:
        """The launch is over: the clock stands still."""
        self._clock.stop()

    def _tick(self) -> None:
        elapsed = time.monotonic() - self._began
        parts = [self._facts, tr("{time} so far").format(time=duration_text(elapsed))]
        self._below.setText(" · ".join(part for part in parts if part))
        steps = {step.phase: step for step in steps_of(self._progress, elapsed, phases=self._phases)}
        for view in self.steps:
            step = steps.get(view.step.phase)
            if step is not None and view.step != step:
                view.show_step(step)

    def _open_part(self) -> QWidget:
        theme = self.theme
        title = text_label(tr("Open during install only"), Type.NAME)
        note = text_label(tr("closes before the agent starts"), Type.SMALL, "secondary")
        self._entries = Flow(theme.px(6))
        whole = column(
            row(Icon(theme, "network", 20), title, None, note),
            spacing=theme.px(10),
            margins=(theme.px(20), theme.px(16), theme.px(20), theme.px(14)),
        )
        whole.addLayout(self._entries)
        made = QWidget()
        made.setLayout(column(holder(whole, "raised"), line(), spacing=0))
        return made

    def _show_open(self, launch: Launch) -> None:
        while (item := self._entries.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        entries = install_entries(launch.lock.surface if launch.lock is not None else None)
        for entry in entries[:_ENTRIES]:
            self._entries.addWidget(ExactEntry(self.theme, entry))
        if len(entries) > _ENTRIES:
            more = tr("and {n} more").format(n=len(entries) - _ENTRIES)
            self._entries.addWidget(text_label(more, Type.SMALL, "secondary"))
        if entries:
            return
        if launch.operation is Operation.START:
            words = tr("Nothing: starting again opens no install grants.")
        elif launch.lock is None:
            words = tr("Not known yet: the approved lock is being read.")
        else:
            words = tr("Nothing: this set opens nothing for its installation.")
        self._entries.addWidget(text_label(words, ink="secondary", wrap=True))

    def _choose(self) -> None:
        self._chosen_by_hand = True

    def _show_hook(self, index: Index | None) -> None:
        if index is not None and index.isValid():
            self.output.show_hook(self.model.hook(index.row()), index.row() + 1)
        else:
            self.output.show_hook(None, 0)

    def _fit_hooks(self) -> None:
        rows = min(max(self.model.rowCount(), 1), 5)
        self.hooks.setFixedHeight(self.hooks.horizontalHeader().sizeHint().height() + rows * self.theme.px(30) + 2)


def install_entries(surface: Surface | None) -> tuple[str, ...]:
    """Exact entries that are open while install hooks run and not afterwards."""
    if surface is None:
        return ()
    hosts = set(surface.network_install_allow) - set(surface.network_runtime_allow)
    requests = set(surface.network_install_http_allow) - set(surface.network_runtime_http_allow)
    credentials = set(surface.credentials_install) - set(surface.credentials_runtime)
    return (*sorted(hosts), *sorted(requests), *sorted(credentials))
