"""The footer: what runs, how far it is, cancel; and the last failure with its details."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QProgressBar, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.jobs import Jobs, JobState, JobView
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import Elided, ExactEntry, Icon, Painted, button, column, row, text_label
from kitstudio.ui.widgets.text import tr, visible

HEIGHT = 28
PATIENCE = 300
"""Milliseconds before a job is worth showing."""


class Footer(Painted):
    """Follows ``Jobs``; between jobs it shows the page's own words."""

    def __init__(self, theme: Theme, jobs: Jobs, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._jobs = jobs
        self._status = ("info", "")
        self._shown: JobView | None = None
        self._error: KitStudioError | None = None
        self.setMinimumHeight(theme.px(HEIGHT))
        self._icon = Icon(theme, "info", 16)
        self._words = text_label("", Type.SMALL, "secondary")
        self._bar = QProgressBar()
        self._bar.setFixedWidth(theme.px(120))
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(tr("Progress"))
        self._count = text_label("", Type.SMALL, "secondary")
        self._cancel = button(theme, tr("Cancel"), kind="link", name="job-cancel")
        self._cancel.clicked.connect(self._cancel_job)
        self._error_icon = Icon(theme, "serious", 14, Token.SERIOUS)
        self._error_words = Elided("", Type.SMALL, "secondary")
        self._error_words.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._details = button(theme, tr("Details"), kind="link", name="error-details")
        self._details.clicked.connect(self._show_details)
        self._dismiss = button(theme, tr("Dismiss"), kind="link", name="error-dismiss")
        self._dismiss.clicked.connect(lambda: self.show_error(None))
        layout = row(
            self._icon,
            self._words,
            self._bar,
            self._count,
            self._cancel,
            spacing=10,
            margins=(16, 1, 12, 0),
        )
        layout.addStretch(1)
        layout.addWidget(self._error_icon)
        layout.addWidget(self._error_words, 2)
        layout.addWidget(self._details)
        layout.addWidget(self._dismiss)
        self.setLayout(layout)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self._draw)
        self._unsubscribe = jobs.changed.subscribe(self._job_changed)
        self.destroyed.connect(self._unsubscribe)
        self.show_error(None)
        self._draw()

    def _restyle(self) -> None:
        self.setMinimumHeight(self.theme.px(HEIGHT))
        self._bar.setFixedWidth(self.theme.px(120))
        super()._restyle()

    def show_status(self, icon: str, text: str) -> None:
        """What the page says while nothing runs."""
        self._status = (icon, text)
        self._draw()

    def show_error(self, error: KitStudioError | None) -> None:
        """The last failure, until the next one or *Dismiss*."""
        self._error = error
        for part in (self._error_icon, self._error_words, self._details, self._dismiss):
            part.setVisible(error is not None)
        if error is not None:
            self._error_words.show_text(error.what)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.colour(Token.BACKGROUND))
        painter.setPen(self.theme.colour(Token.BORDER))
        painter.drawLine(0, 0, self.width(), 0)

    def _job_changed(self, view: JobView) -> None:
        if view.state is JobState.FAILED and view.error is not None:
            self.show_error(view.error)
        if self._shown is not None or not self._jobs.running():
            self._draw()
        elif not self._patience.isActive():
            self._patience.start()

    def _draw(self) -> None:
        running = self._jobs.running()
        self._shown = running[-1].view if running else None
        busy = self._shown is not None
        self._bar.setVisible(busy)
        self._count.setVisible(busy)
        self._cancel.setVisible(busy)
        if self._shown is None:
            icon, text = self._status
            self._icon.setVisible(bool(text))
            self._icon.show_icon(icon, Token.SUCCESS if icon == "success" else Token.SECONDARY)
            self._words.setText(text)
            return
        self._icon.show()
        self._icon.show_icon("spinner", Token.ACCENT)
        more = len(running) - 1
        title = visible(self._shown.title)
        self._words.setText(tr("{title} and {n} more").format(title=title, n=more) if more else title)
        self._count.setText(visible(self._shown.text))
        self._bar.setRange(0, 0 if self._shown.fraction is None else 1000)
        if self._shown.fraction is not None:
            self._bar.setValue(round(self._shown.fraction * 1000))
        self._cancel.setAccessibleName(tr("Cancel {title}").format(title=title))

    def _cancel_job(self) -> None:
        running = self._jobs.running()
        if running:
            running[-1].cancel()

    def _show_details(self) -> None:
        if self._error is not None:
            ErrorDialog(self.theme, self._error, self.window()).open()


class ErrorDialog(QDialog):
    """A failure in full: what, where, remedy; copyable. ``retry``: closing it may also mean *Try again*."""

    def __init__(
        self, theme: Theme, error: KitStudioError, parent: QWidget | None = None, *, retry: bool = False
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("What went wrong"))
        self.setObjectName("error-dialog")
        self.setMinimumWidth(theme.px(520))
        body = column(spacing=theme.px(8))
        body.addWidget(text_label(visible(error.what), Type.TITLE, wrap=True))
        if error.where:
            body.addWidget(ExactEntry(theme, error.where))
        if error.remedy:
            body.addWidget(text_label(visible(error.remedy), Type.BODY, "secondary", wrap=True))
        top = row(spacing=theme.px(16))
        top.addWidget(Icon(theme, "critical", 28, Token.CRITICAL), 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(body, 1)
        copy = button(theme, tr("Copy"), "copy", name="error-copy")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(str(error)))
        close = button(theme, tr("Close"), kind="" if retry else "primary", name="error-close")
        close.clicked.connect(self.reject)
        buttons = row(None, copy, close)
        main = close
        if retry:
            main = button(theme, tr("Try again"), "refresh", "primary", name="error-retry")
            main.clicked.connect(self.accept)
            buttons.addWidget(main)
        main.setDefault(True)
        self.setLayout(column(top, buttons, spacing=theme.px(20), margins=(24, 24, 24, 20)))
        main.setFocus()
