"""Catalogs: the sources, and whether their Kits' icons may be fetched."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.catalog import SourceInfo
from kitstudio.services.places import VERIFIED
from kitstudio.ui.fonts import Type
from kitstudio.ui.settings.fields import TextSetting
from kitstudio.ui.settings.rows import Section
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.widgets import Switch, button, text_label
from kitstudio.ui.widgets.text import tr, visible


class CatalogsSection(SettingsSection):
    """One row a source, drawn again when one of them changes."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("Catalogs"),
            tr("No request leaves before a network source is opened for the first time. Icons come from hosts that a "
               "Kit names, so they are fetched only from sources you trust."),
        )  # fmt: skip
        self._drawn: tuple[object, ...] = ()
        add = button(self.theme, tr("Add a source"), "plus", name="settings-add-source")
        add.clicked.connect(self._add_source)
        self.action(add)
        hub = Section(self.theme, tr("Docker Hub’s addresses"), tr("For a copy of the Hub; empty: its own."))
        for key, title, example in (
            ("hub.search_base", tr("Search"), "https://hub.docker.com/api/search"),
            ("hub.api_base", tr("Lists of namespaces and versions"), "https://hub.docker.com"),
        ):
            hub.add(title, "", TextSetting(context, key, title, example))
        self.below(hub)
        self._draw()
        self.destroyed.connect(context.studio.catalog.changed.subscribe(lambda _: self._draw()))

    def changed(self, key: str) -> None:
        if key in ("catalog.trusted", "catalog.sources"):
            self._draw()

    def _draw(self) -> None:
        from kitstudio.ui.catalog.source_words import ICONS, state_line

        sources = self.studio.catalog.sources()
        state = tuple((source.id, source.title, state_line(source).text, source.trusted) for source in sources)
        if self._drawn == state:
            return
        self._drawn = state
        self.clear()
        for source in sources:
            self.add(source.title, state_line(source).text, *self._controls(source), icon=ICONS[source.kind])

    def _controls(self, source: SourceInfo) -> list[QWidget]:
        controls: list[QWidget] = []
        name = visible(source.title)
        if source.network:
            icons = Switch(self.theme, tr("Fetch icons of {name}").format(name=name), source.trusted)
            icons.setObjectName(f"trust-{source.id}")
            icons.toggled.connect(self._truster(source.id))
            controls += [text_label(tr("Icons"), Type.SMALL, "secondary"), icons]
        if source.id not in ("demo", VERIFIED):
            remove = button(self.theme, tr("Remove"), kind="link", name=f"remove-{source.id}")
            remove.setAccessibleName(tr("Remove {name}").format(name=name))
            remove.clicked.connect(self._remover(source.id))
            controls.append(remove)
        return controls

    def _add_source(self) -> None:
        from kitstudio.ui.catalog.add_source import AddSourceDialog

        AddSourceDialog(self.theme, self.studio.catalog, self.window()).open()

    def _remover(self, source: str) -> Callable[[], None]:
        def remove() -> None:
            self.context.tasks.start(self.studio.catalog.remove_source(source))

        return remove

    def _truster(self, source: str) -> Callable[[bool], None]:
        def trust(on: bool) -> None:
            try:
                self.studio.catalog.trust(source, on)
            except KitStudioError as error:
                self.context.fail(error)
                self._drawn = ()
                self._draw()

        return trust
