"""Icons only from sources a person trusts; the monogram everywhere else, and in the same shape."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QObject, QRect, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPixmap

from kitstudio.services.catalog import KitCard
from kitstudio.ui.catalog.pictures import KitPictures
from kitstudio.ui.theme import Theme, Token
from tests.ui.catalog.stock import card


class Icons(QObject):
    """Icons as the window's own would be: nothing for a source that is not trusted."""

    arrived = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, bool]] = []

    def icon(self, shown: KitCard, trusted: bool, size: int) -> QPixmap | None:
        self.asked.append((shown.icon_url, trusted))
        if not trusted:
            return None
        made = QPixmap(size, size * 2)
        made.fill(QColor("#ff0000"))
        return made


def painted(pictures: KitPictures, shown: KitCard) -> QImage:
    image = QImage(40, 40, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    pictures.paint(painter, QRect(0, 0, 40, 40), shown)
    painter.end()
    return image


KIT = card("gh", icon_url="https://icons.test/gh.png")


def test_an_icon_is_painted_for_a_trusted_source_and_a_monogram_for_the_others(theme: Theme, qtbot: Any) -> None:
    icons = Icons()
    pictures = KitPictures(theme, icons)  # type: ignore[arg-type]
    plain = painted(pictures, KIT)
    assert plain.pixelColor(20, 4).name() != "#ff0000"
    pictures.trust(frozenset({"hub"}))
    assert painted(pictures, KIT).pixelColor(20, 20).name() == "#ff0000"
    assert icons.asked == [("https://icons.test/gh.png", False), ("https://icons.test/gh.png", True)]
    with qtbot.waitSignal(pictures.arrived):
        icons.arrived.emit("https://icons.test/gh.png")


def test_an_icon_of_any_shape_keeps_to_its_square_and_its_corners(theme: Theme) -> None:
    pictures = KitPictures(theme, Icons())  # type: ignore[arg-type]
    pictures.trust(frozenset({"hub"}))
    image = painted(pictures, KIT)
    assert image.pixelColor(0, 0).alpha() == 0
    assert image.pixelColor(3, 20).name() == theme.colour(Token.RAISED).name()


def test_a_kit_without_an_icon_asks_for_none(theme: Theme) -> None:
    icons = Icons()
    pictures = KitPictures(theme, icons)  # type: ignore[arg-type]
    pictures.trust(frozenset({"hub"}))
    painted(pictures, card("gh"))
    assert icons.asked == []


@pytest.mark.parametrize("side", [20, 40])
def test_the_picture_of_a_table_is_as_large_as_asked(theme: Theme, side: int) -> None:
    made = KitPictures(theme).pixmap(KIT, side, 2.0)
    assert (made.width(), made.deviceIndependentSize().width()) == (side * 2, side)
