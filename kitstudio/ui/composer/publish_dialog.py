"""Publishing a set: exactly what would be published, where it goes, how far it is, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QProgressBar,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from kitstudio.models.errors import KitStudioError
from kitstudio.models.review import Weight, permissions
from kitstudio.models.words import exact
from kitstudio.services.jobs import JobState, JobView
from kitstudio.ui.composer.destination import destination_error
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets.basic import ExactEntry, Icon, button, holder, line, row, text_label
from kitstudio.ui.widgets.composite import ChipRow, StateView
from kitstudio.ui.widgets.painters import ChipLook, count_looks
from kitstudio.ui.widgets.permission_list import ListLook, PermissionList
from kitstudio.ui.widgets.text import counted, size_text, tr, visible

if TYPE_CHECKING:
    from kitstudio.services.publishing import Published, PublishPreview

_WEIGHTS = dict.fromkeys(Weight, 0)


class PublishDialog(QDialog):
    """``wanted(destination)`` when the person publishes, ``cancelled`` when the running work is to end."""

    wanted = Signal(str)
    cancelled = Signal()

    def __init__(self, theme: Theme, name: str, known: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._ready = False
        self._running = False
        self.setObjectName("publishDialog")
        self.setWindowTitle(tr("Publish"))
        self.setMinimumSize(theme.px(640), theme.px(560))
        self.destination = QComboBox()
        self.destination.setObjectName("publishDestination")
        self.destination.setEditable(True)
        self.destination.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.destination.setAccessibleName(tr("Where to publish"))
        self.destination.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.destination.addItems(list(known))
        field = self.destination.lineEdit()
        assert field is not None
        field.setPlaceholderText(tr("registry.example/team/set:1.0.0 or oci:/folder:1.0.0"))
        field.textChanged.connect(lambda _text: self._judge())
        browse = button(theme, tr("Folder…"), "folder", name="publishBrowse")
        browse.clicked.connect(self._browse)
        self._wrong = text_label("", Type.SMALL, "critical", wrap=True)
        self._wrong.setObjectName("publishWrong")
        where = row(spacing=theme.px(8))
        where.addWidget(self.destination, 1)
        where.addWidget(browse)
        self._views = QStackedWidget()
        self._waiting = StateView(theme, "spinner", tr("Making what would be published"), tr("Nothing is sent yet."))
        self._failure = StateView(theme, "critical", "", "")
        self.facts = _Facts(theme)
        for view in (self._waiting, self._failure, self.facts):
            self._views.addWidget(view)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._step = text_label("", Type.SMALL, "secondary")
        self._step.setObjectName("publishStep")
        self._progress = holder(_stacked(theme, self._step, self._bar))
        self._progress.hide()
        body = QVBoxLayout()
        body.setContentsMargins(theme.px(24), theme.px(20), theme.px(24), theme.px(12))
        body.setSpacing(theme.px(10))
        body.addWidget(text_label(tr("Publish {name}").format(name=visible(name)), Type.HEADING))
        note = tr("One image is made of all Kits. Layers the registry has already are not sent again.")
        body.addWidget(text_label(note, ink="secondary", wrap=True))
        body.addWidget(text_label(tr("Where to"), Type.NAME))
        body.addLayout(where)
        body.addWidget(self._wrong)
        body.addWidget(self._views, 1)
        body.addWidget(self._progress)
        self.go = button(theme, tr("Publish"), "upload", "primary", name="publishGo")
        self.go.clicked.connect(self._go)
        self.stay = button(theme, tr("Cancel"), name="publishCancel")
        self.stay.clicked.connect(self._stay)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(body, "raised"), 1)
        layout.addWidget(line())
        layout.addWidget(holder(row(None, self.stay, self.go, margins=(24, 12, 24, 12)), "background"))
        self._judge()

    def show_preview(self, preview: PublishPreview) -> None:
        """What would be published, or why it cannot be."""
        self._ready = preview.ready
        self.facts.show_preview(preview)
        self._views.setCurrentWidget(self.facts)
        self._judge()

    def show_failure(self, error: KitStudioError) -> None:
        """Why there is nothing to publish, or why publishing ended."""
        self._running = False
        self._progress.hide()
        self._failure.show_error(error)
        self._views.setCurrentWidget(self._failure)
        self._judge()

    def show_card(self, card: QWidget) -> None:
        """What the person can do about it, in the place of the preview."""
        self._running = False
        self._progress.hide()
        parts = _stacked(self.theme, card)
        parts.addStretch(1)
        held = holder(parts)
        self._views.addWidget(held)
        self._views.setCurrentWidget(held)
        self._judge()

    def show_job(self, view: JobView) -> None:
        """How far the work is."""
        if view.state is not JobState.RUNNING:
            return
        self._running = True
        self._progress.show()
        self._step.setText(visible(view.text) or tr("Publishing"))
        self._bar.setRange(0, 0 if view.fraction is None else 1000)
        self._bar.setValue(0 if view.fraction is None else round(view.fraction * 1000))
        self._judge()

    def show_cancelled(self) -> None:
        """The work was ended: nothing is tagged."""
        self._running = False
        self._progress.hide()
        self._wrong.setText(tr("Cancelled. Nothing was tagged; what was sent already is not sent again next time."))
        self._wrong.show()
        self._judge(keep=True)

    def show_published(self, published: Published) -> None:
        """The reference with its digest, to be copied."""
        self._running = False
        self._progress.hide()
        self._views.addWidget(done := _Done(self.theme, published))
        self._views.setCurrentWidget(done)
        self.go.hide()
        self.destination.setEnabled(False)
        self.stay.setText(tr("Close"))
        self.stay.setAccessibleName(tr("Close"))

    def _judge(self, *, keep: bool = False) -> None:
        text = self.destination.currentText().strip()
        error = destination_error(text) if text else ""
        if not keep:
            self._wrong.setText(error)
            self._wrong.setVisible(bool(error))
        self.go.setEnabled(self._ready and not self._running and bool(text) and not error)
        self.destination.setEnabled(not self._running)

    def _browse(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, tr("Folder of the OCI layout"))
        if chosen:
            self.destination.setEditText(f"oci:{Path(chosen)}:1.0.0")

    def _go(self) -> None:
        if self.go.isEnabled():
            self.wanted.emit(self.destination.currentText().strip())

    def _stay(self) -> None:
        if self._running:
            self.cancelled.emit()
        else:
            self.reject()


class _Facts(QWidget):
    """Kind, platforms, layers, size; what stands in the way; the permissions of the merged Kit."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._form = QFormLayout()
        self._form.setHorizontalSpacing(theme.px(16))
        self._form.setVerticalSpacing(theme.px(4))
        self._problems = QVBoxLayout()
        self._problems.setSpacing(theme.px(6))
        self.counts = ChipRow(theme)
        self.list = PermissionList(theme, ListLook(padding=12))
        self.list.setObjectName("publishPermissions")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(theme.px(8))
        layout.addLayout(self._form)
        layout.addLayout(self._problems)
        layout.addWidget(self.counts)
        layout.addWidget(self.list, 1)

    def show_preview(self, preview: PublishPreview) -> None:
        """Show it all; nothing is left out where something stands in the way."""
        while self._form.rowCount():
            self._form.removeRow(0)
        while (item := self._problems.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        platforms = preview.platforms
        layers = len(preview.layers) // max(1, len(platforms))
        size = tr("{all}, of it {new} new").format(all=size_text(preview.size), new=size_text(preview.added))
        rows = [
            (tr("Kind"), preview.kind),
            (tr("Platforms"), ", ".join(platforms)),
            (tr("Layers"), counted(layers, "layer", "layers") if layers else ""),
            (tr("Size"), size),
        ]
        for label, words in rows if preview.descriptor is not None else rows[:2]:
            if words:
                self._form.addRow(text_label(label, ink="secondary"), text_label(visible(words), wrap=True))
        for problem in preview.problems:
            words = exact(problem.message) + (f"\n{exact(problem.detail)}" if problem.detail else "")
            self._problems.addWidget(_remark(self.theme, "critical", words))
        for warning in preview.warnings:
            self._problems.addWidget(_remark(self.theme, "notice", exact(warning)))
        asked = permissions(preview.descriptor) if preview.descriptor is not None else ()
        counts = dict(_WEIGHTS)
        for each in asked:
            counts[each.weight] += 1
        looks = count_looks(counts)
        if preview.descriptor is not None and not asked:
            looks = (ChipLook(tr("Asks for nothing"), Tone.SUCCESS, "success"),)
        self.counts.show_looks(looks)
        self.list.show_permissions(tuple(asked), ())
        self.list.setVisible(bool(asked))


class _Done(QWidget):
    """What was published, and what it cost."""

    def __init__(self, theme: Theme, published: Published) -> None:
        super().__init__()
        self._text = f"{published.reference}@{published.digest}"
        entry = ExactEntry(theme, self._text)
        entry.setObjectName("publishedReference")
        copy = button(theme, tr("Copy reference and digest"), "copy", name="publishCopy")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._text))
        head = row(Icon(theme, "success", 20, Token.SUCCESS), spacing=theme.px(8))
        head.addWidget(text_label(tr("Published as a {kind}.").format(kind=published.kind), Type.STRONG), 1)
        words = tr("{sent} sent, {shared} shared with what the registry had.").format(
            sent=size_text(published.sent), shared=size_text(published.shared)
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, theme.px(8), 0, 0)
        layout.setSpacing(theme.px(10))
        layout.addLayout(head)
        layout.addWidget(entry)
        layout.addWidget(copy)
        layout.addWidget(text_label(words, Type.SMALL, "secondary", wrap=True))
        for warning in published.warnings:
            layout.addWidget(_remark(theme, "notice", exact(warning)))
        layout.addStretch(1)


def _remark(theme: Theme, ink: str, words: str) -> QWidget:
    held = QWidget()
    icon = Icon(theme, ink, 16, Token(ink))
    layout = row(icon, spacing=theme.px(8))
    layout.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
    layout.addWidget(text_label(words, wrap=True), 1)
    held.setLayout(layout)
    held.setAccessibleName(words)
    return held


def _stacked(theme: Theme, *widgets: QWidget) -> QVBoxLayout:
    layout = QVBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(theme.px(4))
    for widget in widgets:
        layout.addWidget(widget)
    return layout
