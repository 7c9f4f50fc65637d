"""Caches: what is kept to be quick, its size and limit, and emptying it. Measured off this thread."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QSpinBox, QWidget

from kitstudio.services.caches import Cache
from kitstudio.ui.fonts import Type
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.widgets import button, text_label
from kitstudio.ui.widgets.text import size_text, tr, visible

GIB = 1024
"""MiB in the unit that limits are shown in."""


class CachesSection(SettingsSection):
    """One row a cache."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("Caches"),
            tr("Kept to be quick and to work offline. Beyond its limit, what was not used for longest goes first."),
        )
        self._limits: dict[str, QSpinBox] = {}
        self._freed: dict[str, int] = {}
        self.add(tr("Measuring…"), "")
        self.destroyed.connect(context.studio.cache_limits.looked.subscribe(lambda _: self._again()))

    def look(self) -> None:
        self.context.tasks.start(self._measure(), "caches")

    def changed(self, key: str) -> None:
        if key in self._limits:
            self._limits[key].setValue(self.context.settings.number(key) // GIB)

    def _again(self) -> None:
        if self.isVisible():
            self.look()

    async def _measure(self) -> None:
        caches = await self.studio.caches.measure()
        self.clear()
        self._limits.clear()
        for cache in caches:
            self._show(cache)

    def _show(self, cache: Cache) -> None:
        words = size_text(cache.size)
        if cache.name in self._freed:
            words = tr("{size}, {freed} given back").format(size=words, freed=size_text(self._freed.pop(cache.name)))
        controls: list[QWidget] = [text_label(words, Type.BODY, "secondary")]
        if cache.limit_key:
            controls.append(self._limit(cache))
        clear = button(self.theme, tr("Clear…"), "trash", small=True, name=f"clear-{cache.name}")
        clear.setAccessibleName(tr("Clear {name}").format(name=cache.title))
        clear.setEnabled(cache.size > cache.kept and not cache.problem)
        clear.clicked.connect(lambda: self._ask(cache))
        controls.append(clear)
        about = cache.about
        if cache.kept:
            about += " " + tr("{size} of it is needed and stays.").format(size=size_text(cache.kept))
        if cache.problem:
            about += " " + visible(cache.problem)
        self.add(cache.title, about, *controls)

    def _limit(self, cache: Cache) -> QSpinBox:
        made = QSpinBox()
        made.setObjectName(f"limit-{cache.name}")
        made.setAccessibleName(tr("Limit of {name} in GiB").format(name=cache.title))
        made.setRange(0, 16_384)
        made.setSuffix(" GiB")
        made.setPrefix(tr("at most "))
        made.setSpecialValueText(tr("no limit"))
        made.setMinimumWidth(self.theme.px(136))
        made.lineEdit().setTextMargins(6, 0, 0, 0)
        held = self.context.settings.number(cache.limit_key)
        # A limit below one GiB, set elsewhere, must not read as none.
        made.setValue(max(1, round(held / GIB)) if held else 0)
        shown = made.value()
        made.editingFinished.connect(lambda: self._choose_limit(cache, made.value(), shown))
        self._limits[cache.limit_key] = made
        return made

    def _choose_limit(self, cache: Cache, value: int, shown: int) -> None:
        held = self.context.settings.number(cache.limit_key)
        if value != shown or value == held // GIB:
            self.context.set(cache.limit_key, value * GIB, tr("Limit a cache"))

    def _ask(self, cache: Cache) -> None:
        question = QMessageBox(self.window())
        question.setObjectName("clear-question")
        question.setWindowTitle(tr("Clear a cache"))
        question.setTextFormat(Qt.TextFormat.PlainText)
        size = size_text(max(0, cache.size - cache.kept))
        question.setText(tr("Clear {name}, up to {size}?").format(name=cache.title, size=size))
        question.setInformativeText(cache.clearing)
        yes = question.addButton(tr("Clear"), QMessageBox.ButtonRole.DestructiveRole)
        keep = question.addButton(tr("Keep"), QMessageBox.ButtonRole.RejectRole)
        question.setDefaultButton(keep)
        question.setEscapeButton(keep)
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question.buttonClicked.connect(self._answer(cache.name, yes))
        question.open()

    def _answer(self, name: str, yes: object) -> Callable[[object], None]:
        def answered(pressed: object) -> None:
            if pressed is yes:
                self.context.tasks.start(self._clear(name), f"clear-{name}")

        return answered

    async def _clear(self, name: str) -> None:
        try:
            self._freed[name] = await self.studio.caches.clear(name)
        finally:
            self.look()
