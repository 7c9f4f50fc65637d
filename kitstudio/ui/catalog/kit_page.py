"""The Kit page beside the list: who it is, what it asks for, and everything behind it."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QComboBox, QDialog, QStackedWidget, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.models.review import Phase, Weight
from kitstudio.models.words import claim
from kitstudio.services.catalog import CardKind, Catalog, KitDetails
from kitstudio.ui.catalog.cards import kind_word
from kitstudio.ui.catalog.descriptor_view import DescriptorView
from kitstudio.ui.catalog.drag_handle import DragMonogram
from kitstudio.ui.catalog.inside import InsidePanel
from kitstudio.ui.catalog.kit_tabs import InputsTab, ManifestTab, NeedsTab, OverviewTab, image_size
from kitstudio.ui.catalog.versions_tab import VersionsTab, tag_of
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets import (
    Chip,
    ChipLook,
    ChipRow,
    Elided,
    ExactEntry,
    PermissionList,
    Segmented,
    Skeleton,
    StateView,
    button,
    column,
    count_looks,
    holder,
    icon_button,
    line,
    row,
    set_ground,
    text_label,
)
from kitstudio.ui.widgets.tab_strip import TabStrip
from kitstudio.ui.widgets.text import moment_text, size_text, tr, visible

TABS = (
    ("overview", "Overview"),
    ("permissions", "Permissions"),
    ("needs", "Needs & offers"),
    ("inputs", "Inputs"),
    ("versions", "Versions"),
    ("descriptor", "Descriptor"),
    ("manifest", "Manifest"),
)


class KitPage(QWidget):
    """Shows one Kit. ``add_wanted(reference)``, ``closed``."""

    add_wanted = Signal(str)
    closed = Signal()
    shown = Signal(str)

    def __init__(self, theme: Theme, catalog: Catalog, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._catalog = catalog
        self._details: KitDetails | None = None
        self._reference = ""
        self._tasks = Tasks(self, self._failed)
        set_ground(self, "raised")
        self._build_header()
        self._build_tabs()
        content = holder(column(self._header, line(), self._tabs_stack, spacing=0))
        loading = holder(column(Skeleton(theme, (0.35, 0.7, 0.5)), None, margins=(20, 20, 20, 20)))
        self._state = StateView(theme, "critical", "", "")
        self._state.acted.connect(self._state_acted)
        self._stack = QStackedWidget()
        for part in (content, loading, self._state):
            self._stack.addWidget(part)
        self.setLayout(column(self._stack, spacing=0))

    @property
    def reference(self) -> str:
        """What is shown or being fetched."""
        return self._reference

    @property
    def details(self) -> KitDetails | None:
        return self._details

    def open(self, reference: str) -> None:
        """Fetch and show a Kit; the one shown before stays until then if it is another version of it."""
        self._reference = reference
        known = self._details
        if known is None or not reference.startswith(known.card.repository):
            self._stack.setCurrentIndex(1)
        self._tasks.start(self._work(reference), "open")

    def show_details(self, details: KitDetails) -> None:
        """Show a Kit that was fetched."""
        self._details = details
        card = details.card
        self._name.show_text(claim(card.display_name) or card.repository)
        self._verified.setVisible(card.verified)
        self._verified.show_look(
            ChipLook(tr("{name}, verified").format(name=visible(card.publisher)), Tone.SUCCESS, "seal")
        )
        self._reference_label.show_text(card.reference)
        self._line.setText(self._summary(details))
        usable = card.kind in (CardKind.WORKLOAD, CardKind.MIXIN) and not details.problems
        self._monogram.show_card(card, usable)
        self._add.setEnabled(usable)
        words = tr("Add to set") if usable else tr("{kind}: cannot be added").format(kind=kind_word(card.kind))
        self._add.setText(words)
        self._add.setAccessibleName(words)
        self._show_versions(details)
        source = details.descriptor.source_url if details.descriptor else ""
        self._source.setVisible(bool(source))
        self._show_tab(self._tabs.current)
        self._stack.setCurrentIndex(0)
        self.shown.emit(card.repository)

    def choose_tab(self, key: str) -> None:
        self._tabs.choose(key)

    def go_to_line(self, line_number: int) -> None:
        """Show the descriptor at a line."""
        self._tabs.choose("descriptor")
        self._descriptor.go_to_line(line_number)

    def _build_header(self) -> None:
        theme = self.theme
        self._monogram = DragMonogram(theme, 48)
        self._name = Elided("", Type.HEADING)
        self._name.setObjectName("kit-name")
        self._verified = Chip(theme, ChipLook("", Tone.SUCCESS, "seal"))
        self._reference_label = Elided("", Type.MONO, mode=Qt.TextElideMode.ElideMiddle)
        self._line = text_label("", Type.SMALL, "secondary")
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
        words = column(first, second, self._line, spacing=theme.px(3))
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
        self._versions.currentIndexChanged.connect(self._version_chosen)
        self._source = button(theme, tr("Source page"), "external", "link", name="source-page")
        self._source.clicked.connect(self._open_source)
        actions = row(self._add, self._versions, None, self._source)
        self._tabs = TabStrip(theme, [(key, tr(label)) for key, label in TABS], tr("Parts of the Kit page"))
        self._tabs.setObjectName("kit-tabs")
        self._tabs.chosen.connect(self._show_tab)
        inner = column(top, actions, spacing=theme.px(12), margins=(20, 16, 20, 8))
        self._header = holder(column(inner, row(self._tabs, spacing=0, margins=(16, 0, 16, 0)), spacing=0))

    def _build_tabs(self) -> None:
        theme = self.theme
        self._overview = OverviewTab(theme)
        self._phases = Segmented(
            theme,
            [("all", tr("All phases"), ""), (Phase.INSTALL, tr("Install"), ""), (Phase.RUNTIME, tr("Runtime"), "")],
            tr("Phase"),
        )
        self._phases.chosen.connect(lambda _: self._draw_permissions())
        self._counts = ChipRow(theme)
        self._permissions = PermissionList(theme)
        self._permissions.setObjectName("kit-permissions")
        self._nothing = StateView(theme, "info", "", "")
        self._permission_stack = QStackedWidget()
        self._permission_stack.addWidget(self._permissions)
        self._permission_stack.addWidget(self._nothing)
        bar = row(self._phases, None, self._counts, margins=(20, 12, 20, 2))
        self._inside = InsidePanel(theme)
        permissions = holder(column(bar, self._permission_stack, self._inside, spacing=0))
        self._needs = NeedsTab(theme)
        self._inputs = InputsTab(theme)
        self._versions_tab = VersionsTab(theme, self._catalog.details)
        self._versions_tab.open_version.connect(self._open_tag)
        self._descriptor = DescriptorView(theme)
        self._manifest = ManifestTab(theme)
        self._tabs_stack = QStackedWidget()
        self._parts: dict[str, QWidget] = {
            "overview": self._overview,
            "permissions": permissions,
            "needs": self._needs,
            "inputs": self._inputs,
            "versions": self._versions_tab,
            "descriptor": self._descriptor,
            "manifest": self._manifest,
        }
        for part in self._parts.values():
            self._tabs_stack.addWidget(part)
        self._drawn: dict[str, KitDetails] = {}

    async def _work(self, reference: str) -> None:
        details = await self._catalog.details(reference)
        if reference == self._reference:
            self.show_details(details)

    def _failed(self, error: KitStudioError) -> None:
        self._details = None
        self._state.show_error(error, [("retry", tr("Try again"), "refresh"), ("close", tr("Close"), "close")])
        self._stack.setCurrentIndex(2)

    def _state_acted(self, key: str) -> None:
        if key == "retry":
            self.open(self._reference)
        else:
            self.closed.emit()

    def _show_tab(self, key: str) -> None:
        """Draw a tab when it is looked at, once per Kit."""
        details = self._details
        self._tabs_stack.setCurrentWidget(self._parts[key])
        if details is None or self._drawn.get(key) is details:
            return
        self._drawn[key] = details
        if key == "permissions":
            self._draw_permissions()
        elif key == "descriptor":
            self._descriptor.show_text(details.descriptor_text)
        else:
            self._parts[key].show_details(details)  # type: ignore[attr-defined]

    def _draw_permissions(self) -> None:
        if self._details is None:
            return
        permissions = self._details.permissions
        chosen = self._phases.value()
        phase = None if chosen == "all" else Phase(chosen)
        self._permissions.show_permissions(permissions, (), phase)
        for key, label in (("all", tr("All phases")), (Phase.INSTALL, tr("Install")), (Phase.RUNTIME, tr("Runtime"))):
            fitting = [p for p in permissions if key == "all" or p.phase in (Phase.ALWAYS, Phase(key))]
            self._phases.label(key, f"{label} {len(fitting)}")
        counts: dict[Weight, int] = {}
        for permission in permissions:
            counts[permission.weight] = counts.get(permission.weight, 0) + 1
        self._counts.show_looks(count_looks(counts))
        if self._details.descriptor is None:
            words = tr("There is no Kit descriptor, so nothing is known about what it would ask for.")
            self._nothing.show_state("info", tr("Not a Kit"), words)
        else:
            words = tr("This Kit needs no network, no credential, no storage and nothing else of this computer.")
            self._nothing.show_state("success", tr("Asks for nothing"), words, tone=Tone.SUCCESS)
        self._permission_stack.setCurrentIndex(0 if permissions else 1)
        self._inside.show_uncounted(self._details.uncounted)

    def _show_versions(self, details: KitDetails) -> None:
        combo = self._versions
        combo.blockSignals(True)
        combo.clear()
        for version in details.versions:
            combo.addItem(visible(version.tag), version.tag)
        combo.setCurrentIndex(combo.findData(tag_of(details)))
        combo.setVisible(combo.count() > 0)
        combo.blockSignals(False)

    def _summary(self, details: KitDetails) -> str:
        card = details.card
        parts = [
            kind_word(card.kind),
            *(claim(name) for name in card.licenses),
            size_text(image_size(details.artifact)),
        ]
        created = details.artifact.config.created if details.artifact.config else ""
        moment = _moment(created)
        if moment:
            parts.append(tr("published {when}").format(when=moment))
        return " · ".join(parts)

    def _version_chosen(self, index: int) -> None:
        tag = self._versions.itemData(index)
        if tag is not None:
            self._open_tag(tag)

    def _open_tag(self, tag: str) -> None:
        if self._details is not None:
            self.open(f"{self._details.card.repository}:{tag}")

    def _add_clicked(self) -> None:
        if self._details is not None:
            self.add_wanted.emit(self._details.card.reference)

    def _copy(self) -> None:
        if self._details is not None:
            QGuiApplication.clipboard().setText(pinned(self._details))

    def _open_source(self) -> None:
        if self._details is not None and self._details.descriptor is not None:
            LeaveDialog(self.theme, self._details.descriptor.source_url, self.window()).open()


class LeaveDialog(QDialog):
    """Shows an address in full before a browser is asked to open it."""

    def __init__(self, theme: Theme, address: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("leave-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Open in the browser"))
        self.setMinimumWidth(theme.px(480))
        self._address = address
        web = QUrl(address, QUrl.ParsingMode.StrictMode)
        allowed = web.isValid() and web.scheme() in ("https", "http")
        words = tr("The Kit’s publisher chose this address. It opens in your browser, outside Kit Studio.")
        if not allowed:
            words = tr("This is not a web address, so it is not opened.")
        go = button(theme, tr("Open"), "external", name="leave-open")
        go.setEnabled(allowed)
        go.clicked.connect(self._go)
        stay = button(theme, tr("Stay here"), kind="primary", name="leave-stay")
        stay.setDefault(True)
        stay.clicked.connect(self.reject)
        self.setLayout(
            column(
                text_label(tr("Leave for the source page?"), Type.HEADING),
                text_label(words, Type.BODY, "secondary", wrap=True),
                ExactEntry(theme, address),
                8,
                row(None, go, stay),
                spacing=theme.px(10),
                margins=(24, 24, 24, 20),
            )
        )
        stay.setFocus()

    def _go(self) -> None:
        QDesktopServices.openUrl(QUrl(self._address, QUrl.ParsingMode.StrictMode))
        self.accept()


def pinned(details: KitDetails) -> str:
    """The reference with its digest, as it is copied."""
    name = details.card.reference.partition("@")[0]
    return f"{name}@{details.artifact.digest}"


def _moment(created: str) -> str:
    try:
        seconds = datetime.fromisoformat(created).timestamp()
    except (ValueError, OverflowError):
        return ""
    return moment_text(seconds) if seconds > 86_400 else ""
