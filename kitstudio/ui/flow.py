"""A layout that sets its items in lines and wraps, and a scroll content whose height follows its width."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class Flow(QLayout):
    """Left to right, then the next line; each line's items are centred on one axis. ``right``: lines end right."""

    def __init__(self, spacing: int = 8, *, right: bool = False) -> None:
        super().__init__()
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)
        self._right = right
        self._items: list[QLayoutItem] = []

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        lines = self._lines(width)
        return sum(height for _, height in lines) + self.spacing() * max(0, len(lines) - 1)

    def sizeHint(self) -> QSize:
        shown = self._shown()
        width = sum(item.sizeHint().width() for item in shown) + self.spacing() * max(0, len(shown) - 1)
        return QSize(width, max((item.sizeHint().height() for item in shown), default=0))

    def minimumSize(self) -> QSize:
        shown = self._shown()
        return QSize(
            max((item.minimumSize().width() for item in shown), default=0),
            max((item.minimumSize().height() for item in shown), default=0),
        )

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        top = rect.top()
        for items, height in self._lines(rect.width()):
            used = sum(size.width() for _, size in items) + self.spacing() * (len(items) - 1)
            left = rect.right() + 1 - used if self._right else rect.left()
            for item, size in items:
                item.setGeometry(QRect(QPoint(left, top + (height - size.height()) // 2), size))
                left += size.width() + self.spacing()
            top += height + self.spacing()

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _lines(self, width: int) -> list[tuple[list[tuple[QLayoutItem, QSize]], int]]:
        lines: list[tuple[list[tuple[QLayoutItem, QSize]], int]] = []
        used = 0
        for item in self._shown():
            size = _fit(item, width)
            if not lines or used + self.spacing() + size.width() > width:
                lines.append(([], 0))
                used = -self.spacing()
            items, height = lines[-1]
            items.append((item, size))
            lines[-1] = (items, max(height, size.height()))
            used += self.spacing() + size.width()
        return lines


class ScrollContent(QWidget):
    """What a scroll area holds: as high as its layout needs at the width it gets, not more."""

    def minimumSizeHint(self) -> QSize:
        wanted = super().minimumSizeHint()
        layout = self.layout()
        return QSize(wanted.width(), 0) if layout is not None and layout.hasHeightForWidth() else wanted


def _fit(item: QLayoutItem, width: int) -> QSize:
    """An item's size in a line of ``width``: narrower than it wants where the line is, and then higher."""
    wanted = item.sizeHint()
    if wanted.width() <= width:
        return wanted
    height = item.heightForWidth(width) if item.hasHeightForWidth() else wanted.height()
    return QSize(width, height)
