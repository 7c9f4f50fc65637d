"""The hands of the tour: real clicks, keys and drags on real widgets; conditions, not sleeps; one picture a step."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QMimeData, QModelIndex, QPoint, QPointF, QRect, Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent, QPainter, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QDialog, QMenu, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.ui.fonts import Type
from kitstudio.ui.main_window import MainWindow
from kitstudio.ui.tasks import fault
from kitstudio.ui.theme import Token

T = TypeVar("T", bound=QWidget)
NO_KEYS = Qt.KeyboardModifier.NoModifier
BREATH = 0.02
"""Seconds between two looks at a condition; the loop serves everything else meanwhile."""
PATIENCE = 30.0
FRAME = 32
"""Height of the title strip a picture gives a dialog."""


class TourError(KitStudioError):
    """An expectation of the tour did not come true."""


@dataclass(slots=True)
class Step:
    """One step as the summary shows it."""

    name: str
    screenshot: str
    seconds: float
    error: str = ""

    def as_json(self) -> dict[str, object]:
        made: dict[str, object] = {
            "name": self.name,
            "screenshot": self.screenshot,
            "seconds": round(self.seconds, 2),
        }
        return made | {"error": self.error} if self.error else made


@dataclass(slots=True)
class Guide:
    """Drives one window and keeps the steps."""

    window: MainWindow
    out: Path
    pace: float = 0.0
    """Seconds a step stays on the screen for a person who watches."""
    steps: list[Step] = field(default_factory=list)

    async def step(self, name: str, work: Callable[[], Awaitable[None]]) -> bool:
        """Do one step, take its picture whether it came out or not; False if it did not."""
        begun = time.monotonic()
        error = ""
        try:
            await work()
            await self.settle()
        except TimeoutError:
            error = "It took longer than it may."
        except KitStudioError as known:
            error = str(known)
        except Exception as unknown:  # noqa: BLE001 - a failed step is a result
            error = str(fault(unknown))
        file = f"{len(self.steps) + 1:02d}-{name.replace(' ', '-')}.png"
        self.picture().save(str(self.out / file))
        self.steps.append(Step(name, file, time.monotonic() - begun, error))
        if self.pace:
            await asyncio.sleep(self.pace)
        return not error

    async def until(self, condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        """Let the loop run until ``condition`` holds; a sentence of what did not come true otherwise."""
        end = time.monotonic() + seconds
        while not condition():
            if not self.window.isVisible():
                raise TourError("The tour’s window was closed.")
            if time.monotonic() > end:
                raise TourError(f"Expected: {what}.", where=str(self.window.page))
            await asyncio.sleep(BREATH)

    async def settle(self) -> None:
        """Let pending paints and timers through."""
        for _ in range(6):
            await asyncio.sleep(BREATH)

    def find(self, kind: type[T], name: str, root: QWidget | None = None) -> T:
        """The visible widget of that object name, in the window or an open dialog."""
        roots = [root] if root is not None else [*self.dialogs(), self.window]
        for place in roots:
            candidates = [place, *place.findChildren(kind, name)]
            for widget in candidates:
                if isinstance(widget, kind) and widget.objectName() == name and widget.isVisible():
                    return widget
        raise TourError(f"There is no {name} on the screen.", where=str(self.window.page))

    def dialogs(self) -> list[QDialog]:
        """Dialogs on the screen, the newest first."""
        found = [w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()]
        return found[::-1]

    async def click(self, widget: QWidget, place: QPoint | None = None) -> None:
        """A left click on a widget that is on and usable, in its middle unless ``place`` says where."""
        await self.until(lambda: widget.isVisible() and widget.isEnabled(), f"{widget.objectName()} can be clicked")
        at = widget.rect().center() if place is None else place
        await self._from_qt(lambda: QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=at))

    async def click_row(self, view: QAbstractItemView, index: QModelIndex) -> None:
        """A left click on a row."""
        view.scrollTo(index)
        await self.settle()
        await self.click(view.viewport(), view.visualRect(index).center())

    async def choose(self, menu_name: str, action_name: str) -> None:
        """Click an action of an open menu."""
        await self.until(lambda: self.menu(menu_name) is not None, f"the menu {menu_name} opens")
        menu = self.menu(menu_name)
        assert menu is not None
        action = next((each for each in menu.actions() if each.objectName() == action_name), None)
        if action is None or not action.isEnabled():
            raise TourError(f"{action_name} cannot be chosen.", where=menu_name)
        await self.click(menu, menu.actionGeometry(action).center())

    async def type(self, widget: QWidget, text: str, *, enter: bool = False) -> None:
        """Keys into a widget, as a person would press them."""
        widget.setFocus(Qt.FocusReason.OtherFocusReason)
        await self._from_qt(lambda: QTest.keyClicks(widget, text))
        if enter:
            await self._from_qt(lambda: QTest.keyClick(widget, Qt.Key.Key_Return))

    async def press(self, widget: QWidget, key: Qt.Key, keys: Qt.KeyboardModifier = NO_KEYS) -> None:
        """One key."""
        await self._from_qt(lambda: QTest.keyClick(widget, key, keys))

    async def drag(self, data: QMimeData, target: QWidget) -> None:
        """Enter, move and drop on a widget that takes the drag."""
        place = target.rect().center()
        action, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        enter = QDragEnterEvent(place, action, data, buttons, keys)
        enter.setDropAction(action)
        enter.ignore()
        QApplication.sendEvent(target, enter)
        if not enter.isAccepted():
            raise TourError(f"{target.objectName() or type(target).__name__} does not take this Kit.")
        move = QDragMoveEvent(place, action, data, buttons, keys)
        move.setDropAction(action)
        QApplication.sendEvent(target, move)
        await self.settle()
        drop = QDropEvent(QPointF(place), action, data, buttons, keys)
        drop.setDropAction(action)
        QApplication.sendEvent(target, drop)
        await self.settle()

    async def rest(self, data: QMimeData, target: QWidget, until: Callable[[], bool], what: str) -> None:
        """Let a drag rest on a widget until something happens, then carry it on."""
        place = target.rect().center()
        action, buttons = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
        QApplication.sendEvent(target, QDragEnterEvent(place, action, data, buttons, NO_KEYS))
        await self.until(until, what)
        QApplication.sendEvent(target, QDragLeaveEvent())
        target.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)

    async def _from_qt(self, act: Callable[[], object]) -> None:
        """Do it from Qt's own loop, never inside this coroutine: a dialog that runs a loop of its own then blocks
        nobody."""
        QTimer.singleShot(0, act)
        await self.settle()

    def menu(self, name: str) -> QMenu | None:
        """The open menu of that name; any open menu if empty."""
        for widget in QApplication.topLevelWidgets():
            if isinstance(widget, QMenu) and widget.isVisible() and name in (widget.objectName(), ""):
                return widget
        return None

    def picture(self) -> QPixmap:
        """The window with its dialogs and menus above it, each dialog in a neutral frame."""
        shot = self.window.grab()
        painter = QPainter(shot)
        for dialog in reversed(self.dialogs()):
            self._paint_dialog(painter, dialog)
        for widget in QApplication.topLevelWidgets():
            if isinstance(widget, QMenu) and widget.isVisible():
                painter.drawPixmap(self.window.mapFromGlobal(widget.pos()), widget.grab())
        painter.end()
        return shot

    def _paint_dialog(self, painter: QPainter, dialog: QDialog) -> None:
        """The desktop draws the real frame, so a picture gets a plain one: title strip, border."""
        theme = self.window.theme
        bar = theme.px(FRAME)
        size = dialog.size()
        left = max(0, (self.window.width() - size.width()) // 2)
        top = max(theme.px(8), (self.window.height() - size.height() - bar) // 2)
        frame = QRect(left, top, size.width(), size.height() + bar)
        painter.save()
        painter.fillRect(QRect(left, top, size.width(), bar), theme.colour(Token.BACKGROUND))
        painter.setFont(theme.font(Type.SMALL))
        painter.setPen(theme.colour(Token.SECONDARY))
        words = QRect(left + theme.px(16), top, size.width() - theme.px(56), bar)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, f"{dialog.windowTitle()} – Kit Studio")
        side = theme.px(16)
        close = QPoint(frame.right() - theme.px(12) - side, top + (bar - side) // 2)
        painter.drawPixmap(close, theme.pixmap("close", 16, Token.SECONDARY))
        painter.drawPixmap(left, top + bar, dialog.grab())
        painter.setPen(theme.colour(Token.BORDER))
        painter.drawLine(left, top + bar - 1, frame.right(), top + bar - 1)
        painter.setPen(theme.colour(Token.BORDER_STRONG))
        painter.drawRect(frame.adjusted(-1, -1, 0, 0))
        painter.restore()

    def summary(self) -> dict[str, object]:
        """What ``kitstudio tour --json`` prints."""
        return {
            "ok": bool(self.steps) and not any(step.error for step in self.steps),
            "steps": [step.as_json() for step in self.steps],
        }
