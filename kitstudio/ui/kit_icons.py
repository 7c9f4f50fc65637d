"""Kits' own icons as pixmaps: fetched where the source is trusted, decoded elsewhere, kept; else None, at once.

``icon`` never waits: what is not here is fetched in the background, and ``arrived`` tells when to paint again. What
cannot be had stays a monogram.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication, QImage, QPixmap

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.source import RegistryError
from kitstudio.registry.threads import in_thread
from kitstudio.services.catalog_values import KitCard
from kitstudio.ui.icon_decoder import MAX_SIDE, IconDecoder, Pixels
from kitstudio.ui.tasks import Tasks, fault

if TYPE_CHECKING:
    from kitstudio.services.app import Studio

KEPT = 600
"""Pixmaps held; at 80 pixels a side some 15 MB."""
WAITING = 256
"""Icons wanted at once: those asked for first go, and are asked for again when they are painted again."""
WORKERS = 4
MISSED = 5000
AGAIN = 900.0
"""Seconds after which an icon that could not be had is tried again."""

Key = tuple[str, int]


class KitIcons(QObject):
    """The icons of one window. ``arrived(url)`` for each icon that came since it was asked for."""

    arrived = Signal(str)

    def __init__(self, studio: Studio, parent: QObject | None = None, decoder: IconDecoder | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._decoder = decoder or IconDecoder()
        self._kept: OrderedDict[Key, QPixmap] = OrderedDict()
        self._wanted: OrderedDict[Key, None] = OrderedDict()
        self._asking: set[Key] = set()
        self._missed: OrderedDict[str, tuple[float, KitStudioError]] = OrderedDict()
        self._working = 0
        self._tasks = Tasks(self, self._failed)
        decode = self._decoder
        self.destroyed.connect(lambda: decode.close())

    def icon(self, card: KitCard | str, trusted: bool, size: int) -> QPixmap | None:
        """The icon for a square of ``size`` device-independent pixels; None: draw the monogram.

        Nothing leaves this computer for a card of a source that is not ``trusted``, and nothing fetched before shows.
        """
        url = card if isinstance(card, str) else card.icon_url
        if not trusted or not url or size < 1:
            return None
        ratio = _ratio()
        key = (url, min(MAX_SIDE, round(size * ratio)))
        if (found := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return found
        if key not in self._asking and not self._missing(url):
            self._want(key)
        return None

    def problem(self, url: str) -> KitStudioError | None:
        """Why an icon could not be had; None where nothing is known against it."""
        return self._missed[url][1] if url in self._missed else None

    def forget(self) -> None:
        """Drop every pixmap and every failure: the cache on disk was emptied, or a source changed."""
        self._kept.clear()
        self._missed.clear()

    def _missing(self, url: str) -> bool:
        if url not in self._missed:
            return False
        if time.monotonic() < self._missed[url][0]:
            return True
        del self._missed[url]
        return False

    def _want(self, key: Key) -> None:
        self._wanted[key] = None
        self._wanted.move_to_end(key)
        while len(self._wanted) > WAITING:
            self._wanted.popitem(last=False)
        if self._working < WORKERS:
            self._working += 1
            if self._tasks.start(self._work()) is None:
                self._working -= 1

    async def _work(self) -> None:
        """Serve what is wanted, the newest first: it is what is on the screen."""
        try:
            while self._wanted:
                key, _ = self._wanted.popitem()
                self._asking.add(key)
                try:
                    await self._bring(key)
                finally:
                    self._asking.discard(key)
        finally:
            self._working -= 1

    async def _bring(self, key: Key) -> None:
        url, side = key
        try:
            # What fetches is slow to load, so the first time is a thread's.
            icons = await in_thread(lambda stop: self._studio.icons)
            icon = await icons.get(url)
            pixels = await in_thread(lambda stop: self._decoder.decode(icon.data, str(icon.format), side))
        except RegistryError as error:
            self._miss(url, error)
            return
        except Exception as error:  # noqa: BLE001 - one icon's fault is a monogram, not a message over the work
            self._miss(url, fault(error))
            return
        self._kept[key] = _pixmap(pixels)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        self.arrived.emit(url)

    def _miss(self, url: str, error: KitStudioError) -> None:
        self._missed[url] = (time.monotonic() + AGAIN, error)
        while len(self._missed) > MISSED:
            self._missed.popitem(last=False)

    def _failed(self, error: KitStudioError) -> None:
        """A worker ended for a reason of its own; the next icon that is wanted starts another."""
        self._miss("", error)


def _ratio() -> float:
    application = QGuiApplication.instance()
    return application.devicePixelRatio() if isinstance(application, QGuiApplication) else 1.0


def _pixmap(pixels: Pixels) -> QPixmap:
    form = QImage.Format.Format_RGBA8888_Premultiplied
    image = QImage(pixels.data, pixels.width, pixels.height, pixels.width * 4, form)
    made = QPixmap.fromImage(image)
    made.setDevicePixelRatio(_ratio())
    return made
