"""The Kit page beside the list: who it is, what it asks for, and everything behind it. Nothing is fetched for a tab
that was not opened."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.models.review import Phase, Weight
from kitstudio.registry.source import SignInRequired
from kitstudio.services.app import Studio
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.catalog.conformance_tab import ConformanceTab
from kitstudio.ui.catalog.descriptor_view import DescriptorView
from kitstudio.ui.catalog.inside import InsidePanel
from kitstudio.ui.catalog.kit_header import KitHeader
from kitstudio.ui.catalog.kit_tabs import InputsTab, NeedsTab, OverviewTab
from kitstudio.ui.catalog.manifest_tab import ManifestTab
from kitstudio.ui.catalog.pictures import KitPictures
from kitstudio.ui.catalog.recipe_tab import RecipeTab
from kitstudio.ui.catalog.sign_in_place import SignInPlace, host_in
from kitstudio.ui.catalog.versions_tab import VersionsTab
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets import (
    ChipRow,
    Elided,
    PermissionList,
    Segmented,
    Skeleton,
    StateView,
    column,
    count_looks,
    holder,
    icon_button,
    line,
    row,
    set_ground,
)
from kitstudio.ui.widgets.tab_strip import TabStrip
from kitstudio.ui.widgets.text import tr

TABS = (
    ("overview", "Overview"),
    ("permissions", "Permissions"),
    ("needs", "Needs & offers"),
    ("inputs", "Inputs"),
    ("versions", "Versions"),
    ("recipe", "Recipe"),
    ("descriptor", "Descriptor"),
    ("manifest", "Manifest"),
    ("conformance", "Conformance"),
)


class KitPage(QWidget):
    """Shows one Kit. ``add_wanted(reference)``, ``closed``, ``shown(repository)``, ``signed_in(host)``."""

    add_wanted = Signal(str)
    closed = Signal()
    shown = Signal(str)
    signed_in = Signal(str)

    def __init__(
        self, theme: Theme, studio: Studio, pictures: KitPictures | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._catalog = studio.catalog
        self._details: KitDetails | None = None
        self._reference = ""
        self._reasons: Mapping[str, str] | None = None
        self._tasks = Tasks(self, self._failed)
        set_ground(self, "raised")
        self._header = KitHeader(theme, pictures or KitPictures(theme, parent=self))
        self._header.add_wanted.connect(self.add_wanted)
        self._header.version_chosen.connect(self._open_tag)
        self._header.closed.connect(self.closed)
        self._build_tabs(studio)
        strip = row(self._tabs, spacing=0, margins=(16, 0, 16, 0))
        content = holder(column(self._header, strip, line(), self._tabs_stack, spacing=0))
        loading = holder(column(Skeleton(theme, (0.35, 0.7, 0.5)), None, margins=(20, 20, 20, 20)))
        self._state = StateView(theme, "critical", "", "")
        self._state.acted.connect(self._state_acted)
        self._stack = QStackedWidget()
        for part in (content, loading, self._state, self._build_refused(studio)):
            self._stack.addWidget(part)
        self.setLayout(column(self._stack, spacing=0))
        children = Qt.ShortcutContext.WidgetWithChildrenShortcut
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self, self.closed.emit, context=children)

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
        source = next((info for info in self._catalog.sources() if info.id == details.card.source), None)
        self._header.show_details(details, source.title if source else "")
        self._tell_fit()
        self._show_tab(self._tabs.current)
        self._stack.setCurrentIndex(0)
        self.shown.emit(details.card.repository)

    def tell_reasons(self, reasons: Mapping[str, str] | None) -> None:
        """Which repositories fit the current set, and why the others do not."""
        self._reasons = reasons
        self._tell_fit()

    def resume(self, host: str) -> None:
        """After a sign-in at ``host``: what failed here for want of one goes on."""
        if self._stack.currentWidget() is self._refused and host_in(self._reference) == host.partition("/")[0]:
            self.open(self._reference)
        self._recipe.resume()
        self._conformance.resume()

    def choose_tab(self, key: str) -> None:
        self._tabs.choose(key)

    def go_to_line(self, line_number: int) -> None:
        """Show the descriptor at a line."""
        self._tabs.choose("descriptor")
        self._descriptor.go_to_line(line_number)

    def _build_refused(self, studio: Studio) -> QWidget:
        """What stands in place of a Kit that wants a sign-in."""
        self._refused_name = Elided("", Type.HEADING)
        close = icon_button(self.theme, "close", tr("Close the Kit page"), object_name="kit-refused-close")
        close.clicked.connect(self.closed)
        place = QWidget()
        self._sign_in = SignInPlace(self.theme, studio, place)
        self._sign_in.signed_in.connect(self.signed_in)
        top = row(self._refused_name, None, close, margins=(20, 16, 20, 8))
        self._refused = holder(column(top, line(), place, None, spacing=0))
        return self._refused

    def _build_tabs(self, studio: Studio) -> None:
        theme = self.theme
        self._tabs = TabStrip(theme, [(key, tr(label)) for key, label in TABS], tr("Parts of the Kit page"))
        self._tabs.setObjectName("kit-tabs")
        self._tabs.chosen.connect(self._show_tab)
        self._versions_tab = VersionsTab(theme, self._catalog.details)
        self._versions_tab.open_version.connect(self._open_tag)
        self._descriptor = DescriptorView(theme)
        self._recipe = RecipeTab(theme, studio)
        self._conformance = ConformanceTab(theme, studio)
        for tab in (self._recipe, self._conformance):
            tab.signed_in.connect(self.signed_in)
        self._tabs_stack = QStackedWidget()
        self._parts: dict[str, QWidget] = {
            "overview": OverviewTab(theme),
            "permissions": self._build_permissions(),
            "needs": NeedsTab(theme),
            "inputs": InputsTab(theme),
            "versions": self._versions_tab,
            "recipe": self._recipe,
            "descriptor": self._descriptor,
            "manifest": ManifestTab(theme, self._catalog.attached),
            "conformance": self._conformance,
        }
        for part in self._parts.values():
            self._tabs_stack.addWidget(part)
        self._drawn: dict[str, KitDetails] = {}

    def _build_permissions(self) -> QWidget:
        theme = self.theme
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
        return holder(column(bar, self._permission_stack, self._inside, spacing=0))

    async def _work(self, reference: str) -> None:
        details = await self._catalog.details(reference)
        if reference == self._reference:
            self.show_details(details)

    def _failed(self, error: KitStudioError) -> None:
        self._details = None
        host = host_in(self._reference)
        if isinstance(error, SignInRequired) and host:
            self._refused_name.show_text(self._reference)
            self._sign_in.show_for(host, error)
            self._stack.setCurrentWidget(self._refused)
            return
        self._state.show_error(error, [("retry", tr("Try again"), "refresh"), ("close", tr("Close"), "close")])
        self._stack.setCurrentIndex(2)

    def _state_acted(self, key: str) -> None:
        if key == "retry":
            self.open(self._reference)
        else:
            self.closed.emit()

    def _tell_fit(self) -> None:
        known = self._details is not None and self._reasons is not None
        repository = self._details.card.repository if self._details else ""
        self._header.tell_fit(self._reasons.get(repository) if known and self._reasons is not None else None)

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

    def _open_tag(self, tag: str) -> None:
        if self._details is not None:
            self.open(f"{self._details.card.repository}:{tag}")
