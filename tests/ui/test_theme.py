"""The theme: tokens, contrast, scale, modes and icons."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from kitstudio.models.review import Group, Weight
from kitstudio.ui.fonts import SCALE, Type
from kitstudio.ui.icons import icon_names
from kitstudio.ui.theme import ICON_OF_GROUP, ICON_OF_WEIGHT, Mode, Theme, Token, Tone


def luminance(colour: QColor) -> float:
    def channel(value: float) -> float:
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    return 0.2126 * channel(colour.redF()) + 0.7152 * channel(colour.greenF()) + 0.0722 * channel(colour.blueF())


def contrast(one: QColor, other: QColor) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", [Mode.LIGHT, Mode.DARK])
def test_text_is_legible_on_every_ground(qapp: QApplication, mode: Mode) -> None:
    theme = Theme(mode)
    grounds = (Token.BACKGROUND, Token.SURFACE, Token.RAISED, Token.SUNKEN)
    for ink in (Token.TEXT, Token.SECONDARY, Token.DISABLED, Token.ACCENT):
        for ground in grounds:
            assert contrast(theme.colour(ink), theme.colour(ground)) >= 4.5, (ink, ground)


@pytest.mark.parametrize("mode", [Mode.LIGHT, Mode.DARK])
def test_every_tone_is_legible_on_its_own_tint(qapp: QApplication, mode: Mode) -> None:
    theme = Theme(mode)
    for tone in Tone:
        if tone is not Tone.PLAIN:
            ink, tint, _ = theme.tone(tone)
            assert contrast(ink, tint) >= 4.5, tone


def test_monograms_are_legible(qapp: QApplication) -> None:
    for mode in (Mode.LIGHT, Mode.DARK):
        theme = Theme(mode)
        assert all(contrast(*theme.monogram(index)) >= 4.5 for index in range(12))


def test_the_four_weights_have_four_shapes(qapp: QApplication) -> None:
    assert len({ICON_OF_WEIGHT[weight] for weight in Weight}) == len(Weight)


def test_every_named_icon_exists_and_draws(theme: Theme) -> None:
    wanted = {*ICON_OF_GROUP.values(), *ICON_OF_WEIGHT.values()}
    assert wanted <= set(icon_names())
    assert set(ICON_OF_GROUP) == set(Group)
    for name in icon_names():
        image = theme.pixmap(name, 20, Token.TEXT, 1.0).toImage()
        assert any(image.pixelColor(x, y).alpha() for x in range(20) for y in range(20)), name


def test_choosing_a_mode_dresses_the_application_and_tells(theme: Theme, qapp: QApplication) -> None:
    told: list[bool] = []
    theme.changed.connect(lambda: told.append(theme.dark))
    theme.choose(mode=Mode.DARK)
    assert told == [True]
    assert qapp.palette().color(QPalette.ColorRole.Window).name().upper() == "#121519"


def test_text_scale_multiplies_fonts_and_lengths_within_its_bounds(theme: Theme) -> None:
    theme.choose(scale=2.0)
    assert theme.font(Type.BODY).pixelSize() == 2 * SCALE[Type.BODY].size
    assert theme.px(22) == 44
    theme.choose(scale=9.0)
    assert theme.scale == 2.0
    theme.choose(scale=1.0)


def test_nothing_is_smaller_than_twelve_pixels() -> None:
    assert min(step.size for step in SCALE.values()) == 12


def test_style_sheet_has_no_hole(theme: Theme, qapp: QApplication) -> None:
    sheet = qapp.styleSheet()
    assert sheet.count("{") == sheet.count("}")
    assert "None" not in sheet
