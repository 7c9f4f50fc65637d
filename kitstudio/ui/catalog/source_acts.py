"""What a person does with a source: open or read it, sign in and out, trust its icons, edit, remove."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from kitstudio.services.app import Studio
from kitstudio.services.catalog import SourceInfo
from kitstudio.ui.catalog.sign_in_place import ask_to_sign_in
from kitstudio.ui.catalog.source_pane import SourceDeed
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme


class SourceActs(QObject):
    """``refresh_wanted(id)`` (empty: all), ``removed(SourceInfo)``, ``signed_in(host)``."""

    refresh_wanted = Signal(str)
    removed = Signal(object)
    signed_in = Signal(str)

    def __init__(self, theme: Theme, studio: Studio, navigator: Navigator, tasks: Tasks, page: QWidget) -> None:
        super().__init__(page)
        self._theme, self._studio, self._navigator, self._tasks = theme, studio, navigator, tasks
        self._page = page

    def do(self, source: str, deed: str) -> None:
        """Do one of ``SourceDeed`` with the source of this id."""
        catalog = self._studio.catalog
        info = next((known for known in catalog.sources() if known.id == source), None)
        if deed == SourceDeed.REFRESH:
            self.refresh_wanted.emit(source)
        elif info is None:
            return
        elif deed == SourceDeed.REMOVE:
            self._tasks.start(self._remove(info))
        elif deed in (SourceDeed.TRUST, SourceDeed.DISTRUST):
            catalog.trust(source, deed == SourceDeed.TRUST)
        elif deed == SourceDeed.SIGN_IN:
            window = self._page.window()
            ask_to_sign_in(self._theme, self._studio, info.registry, window, self.signed_in.emit)
        elif deed == SourceDeed.SIGN_OUT:
            self._tasks.start(self._sign_out(info.registry))
        elif deed == SourceDeed.EDIT:
            self._navigator.edit_kit.emit(source)

    async def _remove(self, source: SourceInfo) -> None:
        await self._studio.catalog.remove_source(source.id)
        self.removed.emit(source)

    async def _sign_out(self, host: str) -> None:
        await self._studio.sign_in.logout(host)
        await self._studio.catalog.retry(host)
