"""Where the Kit page stands beside the list. The page itself is made when the first Kit is opened: reading its modules
and building its tabs is work that the window's start does not wait for."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from kitstudio.services.app import Studio
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.catalog.pictures import KitPictures
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import column

if TYPE_CHECKING:
    from kitstudio.ui.catalog.kit_page import KitPage

_MODULE = "kitstudio.ui.catalog.kit_page"


class KitPlace(QWidget):
    """The signals are the Kit page's own."""

    add_wanted = Signal(str)
    closed = Signal()
    shown = Signal(str)
    signed_in = Signal(str)

    def __init__(self, theme: Theme, studio: Studio, pictures: KitPictures, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._studio = studio
        self._pictures = pictures
        self._page: KitPage | None = None
        self._reasons: Mapping[str, str] | None = None
        self._inside = column(spacing=0)
        self.setLayout(self._inside)

    async def load(self) -> None:
        """Read the page's modules in a thread, so that the first Kit opens without waiting for them."""
        await asyncio.to_thread(importlib.import_module, _MODULE)

    @property
    def page(self) -> KitPage:
        """The Kit page, made now if it was not yet."""
        if self._page is None:
            from kitstudio.ui.catalog.kit_page import KitPage

            page = KitPage(self._theme, self._studio, self._pictures)
            page.add_wanted.connect(self.add_wanted)
            page.closed.connect(self.closed)
            page.shown.connect(self.shown)
            page.signed_in.connect(self.signed_in)
            if self._reasons is not None:
                page.tell_reasons(self._reasons)
            self._inside.addWidget(page)
            self._page = page
        return self._page

    @property
    def reference(self) -> str:
        """What is shown or being fetched; empty before the first Kit."""
        return self._page.reference if self._page is not None else ""

    @property
    def details(self) -> KitDetails | None:
        """The Kit that is shown."""
        return self._page.details if self._page is not None else None

    def open(self, reference: str) -> None:
        """Fetch and show a Kit."""
        self.page.open(reference)

    def resume(self, host: str) -> None:
        """A sign-in at ``host`` worked: what failed for want of one goes on."""
        if self._page is not None:
            self._page.resume(host)

    def tell_reasons(self, reasons: Mapping[str, str] | None) -> None:
        """Why Kits do not fit the set."""
        self._reasons = reasons
        if self._page is not None:
            self._page.tell_reasons(reasons)
