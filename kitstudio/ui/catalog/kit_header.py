"""The head of the Kit page: who it is, which version, and what can be done with it."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QWidget

from kitstudio.models.words import claim
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.catalog.card_words import card_name, kind_word, vouched
from kitstudio.ui.catalog.cards import USABLE
from kitstudio.ui.catalog.drag_handle import DragMonogram
from kitstudio.ui.catalog.kit_tabs import image_size
from kitstudio.ui.catalog.leave_dialog import LeaveDialog
from kitstudio.ui.catalog.pictures import KitPictures
from kitstudio.ui.catalog.versions_tab import tag_of
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets import Chip, ChipLook, Elided, Icon, button, column, holder, icon_button, row, text_label
from kitstudio.ui.widgets.text import moment_text, size_text, tr, visible

MANY_VERSIONS = 24


class KitHeader(QWidget):
    """``add_wanted(reference)``, ``version_chosen(tag)``, ``closed``."""

    add_wanted = Signal(str)
    version_chosen = Signal(str)
    closed = Signal()

    def __init__(self, theme: Theme, pictures: KitPictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._details: KitDetails | None = None
        self._monogram = DragMonogram(theme, 48, pictures)
        self._name = Elided("", Type.HEADING)
        self._name.setObjectName("kit-name")
        self._verified = Chip(theme, ChipLook("", Tone.SUCCESS, "seal"))
        self._reference_label = Elided("", Type.MONO, mode=Qt.TextElideMode.ElideMiddle)
        self._line = Elided("", Type.SMALL, "secondary")
        copy = button(theme, tr("Copy with digest"), "copy", "link", name="copy-with-digest")
        copy.clicked.connect(self._copy)
        close = icon_button(theme, "close", tr("Close the Kit page"), object_name="kit-close")
        close.clicked.connect(self.closed)
        first = row(spacing=8)
        first.addWidget(self._name)
        first.addWidget(self._verified)
        first.addStretch(1)
        second = row(spacing=8)
        second.addWidget(self._reference_label)
        second.addWidget(copy)
        second.addStretch(1)
        words = column(first, second, row(self._line, None), spacing=theme.px(3))
        top = row(spacing=theme.px(12))
        top.addWidget(self._monogram, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(words, 1)
        top.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self._add = button(theme, tr("Add to set"), "plus", "primary", name="add-to-set")
        self._add.clicked.connect(self._add_clicked)
        self._versions = QComboBox()
        self._versions.setObjectName("kit-version")
        self._versions.setAccessibleName(tr("Version"))
        self._versions.setFixedWidth(theme.px(130))
        self._versions.setMaxVisibleItems(MANY_VERSIONS)
        self._versions.currentIndexChanged.connect(self._chosen)
        self._source = button(theme, tr("Source page"), "external", "link", name="source-page")
        self._source.clicked.connect(self._leave)
        self._fit_icon = Icon(theme, "notice", 16, Token.NOTICE)
        self._fit_words = text_label("", Type.SMALL, wrap=True)
        self._fit = holder(row(self._fit_icon, self._fit_words, spacing=8))
        self._fit.hide()
        actions = row(self._add, self._versions, None, self._source)
        self.setLayout(column(top, actions, self._fit, spacing=theme.px(12), margins=(20, 16, 20, 8)))
        self._pictures = pictures
        pictures.arrived.connect(self._icon_arrived)

    def show_details(self, details: KitDetails, source_title: str) -> None:
        """The Kit, and the name of the source that may vouch for its publisher."""
        self._details = details
        card = details.card
        self._name.show_text(card_name(card))
        self._verified.setVisible(card.verified)
        look = ChipLook(tr("{name}, verified").format(name=visible(card.publisher)), Tone.SUCCESS, "seal")
        self._verified.show_look(look)
        self._verified.setToolTip(vouched(card, source_title))
        self._reference_label.show_text(card.reference)
        self._line.show_text(_summary(details))
        usable = card.kind in USABLE and not details.problems
        self._monogram.show_card(card, usable)
        self._add.setEnabled(usable)
        words = tr("Add to set") if usable else tr("{kind}: cannot be added").format(kind=kind_word(card.kind))
        self._add.setText(words)
        self._add.setAccessibleName(words)
        self._show_versions(details)
        self._source.setVisible(bool(details.descriptor and details.descriptor.source_url))

    def _icon_arrived(self, _: str) -> None:
        self._monogram.update()

    def tell_fit(self, reason: str | None) -> None:
        """Whether it works with the current set, and if not, why not; None: there is nothing to say."""
        self._fit.setVisible(reason is not None)
        if reason is None:
            return
        self._fit_icon.show_icon("notice" if reason else "success", Token.NOTICE if reason else Token.SUCCESS)
        why = tr("Does not fit the current set: {why}").format(why=visible(reason))
        self._fit_words.setText(why if reason else tr("Works with the current set"))

    def _show_versions(self, details: KitDetails) -> None:
        combo = self._versions
        combo.blockSignals(True)
        combo.clear()
        for version in details.versions:
            combo.addItem(visible(version.tag), version.tag)
        combo.setCurrentIndex(combo.findData(tag_of(details)))
        combo.setVisible(combo.count() > 0)
        combo.blockSignals(False)

    def _chosen(self, index: int) -> None:
        tag = self._versions.itemData(index)
        if tag is not None:
            self.version_chosen.emit(tag)

    def _add_clicked(self) -> None:
        if self._details is not None:
            self.add_wanted.emit(self._details.card.reference)

    def _copy(self) -> None:
        if self._details is not None:
            QGuiApplication.clipboard().setText(pinned(self._details))

    def _leave(self) -> None:
        if self._details is not None and self._details.descriptor is not None:
            LeaveDialog(self.theme, self._details.descriptor.source_url, self.window()).open()


def pinned(details: KitDetails) -> str:
    """The reference with its digest, as it is copied."""
    name = details.card.reference.partition("@")[0]
    return f"{name}@{details.artifact.digest}"


def _summary(details: KitDetails) -> str:
    card = details.card
    parts = [kind_word(card.kind), *(claim(name) for name in card.licenses), size_text(image_size(details.artifact))]
    created = details.artifact.config.created if details.artifact.config else ""
    if moment := _moment(created):
        parts.append(tr("published {when}").format(when=moment))
    return " · ".join(parts)


def _moment(created: str) -> str:
    try:
        seconds = datetime.fromisoformat(created).timestamp()
    except (ValueError, OverflowError):
        return ""
    return moment_text(seconds) if seconds > 86_400 else ""
