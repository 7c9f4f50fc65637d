"""The one style sheet over Fusion, written from tokens.

Variants are dynamic properties, so code names a role and never a colour: ``QPushButton[kind]`` is ``primary``,
``flat``, ``link``, ``danger`` or absent; ``[small="true"]`` is the 28 px form. ``QWidget[ground]`` paints a ground
(``background``, ``surface``, ``raised``, ``sunken``), ``QLabel[role]`` a type role, ``QLabel[ink]`` a text colour,
``QFrame[line]`` a separator (``h`` or ``v``), ``QFrame[card="true"]`` a card.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kitstudio.ui.fonts import SCALE, Type, mono_families


def style_sheet(colours: Mapping[str, str], px: Callable[[float], int], picture: Callable[[str, str], str]) -> str:
    """``picture(icon, token)`` gives the path of an icon in a colour."""
    return "\n".join(
        (
            _grounds(colours),
            _labels(colours, px),
            _buttons(colours, px),
            _fields(colours, px, picture),
            _ticks(colours, px, picture),
            _views(colours, px),
            _tabs(colours, px),
            _bars(colours, px),
            _popups(colours, px, picture),
        )
    )


def _grounds(c: Mapping[str, str]) -> str:
    grounds = "\n".join(
        f'QWidget[ground="{name}"] {{ background: {c[name]}; }}'
        for name in ("background", "surface", "raised", "sunken")
    )
    return f"""
{grounds}
QFrame[line="h"] {{ background: {c["border"]}; border: 0; min-height: 1px; max-height: 1px; }}
QFrame[line="v"] {{ background: {c["border"]}; border: 0; min-width: 1px; max-width: 1px; }}
QFrame[popup="true"] {{ background: {c["raised"]}; border: 1px solid {c["borderStrong"]}; border-radius: 6px; }}
QFrame[card="true"] {{ background: {c["raised"]}; border: 1px solid {c["border"]}; border-radius: 6px; }}
QSplitter::handle {{ background: {c["border"]}; }}
QSplitter::handle:horizontal {{ width: 1px; }}
QSplitter::handle:vertical {{ height: 1px; }}
QLabel[keys="true"] {{
  background: {c["surface"]}; border: 1px solid {c["border"]}; border-radius: 4px; padding: 0 5px;
  color: {c["textSecondary"]};
}}
QScrollArea {{ background: transparent; border: 0; }}
QScrollArea > QWidget > QWidget {{ background: transparent; }}
"""


def _labels(c: Mapping[str, str], px: Callable[[float], int]) -> str:
    roles = []
    for role, step in SCALE.items():
        family = f"font-family: {_family()};" if step.mono else ""
        weight = 600 if step.strong else 400
        roles.append(f'QLabel[role="{role}"] {{ font-size: {px(step.size)}px; font-weight: {weight}; {family} }}')
    inks = {
        "secondary": "textSecondary",
        "disabled": "textDisabled",
        **{name: name for name in ("accent", "info", "notice", "serious", "critical", "success", "onAccent")},
    }
    painted = [f'QLabel[ink="{name}"] {{ color: {c[token]}; }}' for name, token in inks.items()]
    return "\n".join(["QLabel { background: transparent; border: 0; }", *roles, *painted])


def _buttons(c: Mapping[str, str], px: Callable[[float], int]) -> str:
    return f"""
QPushButton:focus, QToolButton:focus, QCheckBox:focus, QRadioButton:focus, QTabBar::tab:focus {{ outline: none; }}
QPushButton {{
  min-height: {px(30)}px; padding: 0 {px(12)}px; border: 1px solid {c["borderStrong"]}; border-radius: 6px;
  background: {c["raised"]}; color: {c["text"]};
}}
QPushButton:hover {{ background: {c["surface"]}; }}
QPushButton:pressed {{ background: {c["sunken"]}; }}
QPushButton:disabled {{ background: {c["surface"]}; color: {c["textDisabled"]}; border-color: {c["border"]}; }}
QPushButton[small="true"] {{
  min-height: {px(26)}px; padding: 0 {px(10)}px; font-size: {px(SCALE[Type.SMALL].size)}px;
}}
QPushButton[kind="primary"] {{
  background: {c["accentFill"]}; border-color: {c["accentFill"]}; color: {c["onAccent"]}; font-weight: 600;
}}
QPushButton[kind="primary"]:hover, QPushButton[kind="primary"]:pressed {{
  background: {c["accentHover"]}; border-color: {c["accentHover"]};
}}
QPushButton[kind="primary"]:disabled {{
  background: {c["surface"]}; color: {c["textDisabled"]}; border-color: {c["border"]};
}}
QPushButton[kind="danger"] {{ color: {c["critical"]}; border-color: {c["critical"]}; }}
QPushButton[kind="danger"]:hover {{ background: {c["criticalTint"]}; }}
QPushButton[kind="flat"] {{ background: transparent; border-color: transparent; color: {c["textSecondary"]}; }}
QPushButton[kind="flat"]:hover, QToolButton[kind="flat"]:hover {{ background: {c["accentTint"]}; color: {c["text"]}; }}
QPushButton[kind="flat"]:disabled {{ background: transparent; color: {c["textDisabled"]}; }}
QPushButton[kind="link"] {{
  background: transparent; border: 0; color: {c["accent"]}; padding: 0; min-height: {px(20)}px; text-align: left;
}}
QPushButton[kind="link"]:hover {{ text-decoration: underline; }}
QPushButton[kind="link"]:disabled {{ color: {c["textDisabled"]}; }}
QPushButton::menu-indicator, QToolButton::menu-indicator {{ image: none; width: 0; }}
QToolButton {{
  min-width: {px(30)}px; min-height: {px(30)}px; border: 1px solid {c["borderStrong"]}; border-radius: 6px;
  background: {c["raised"]}; color: {c["text"]}; padding: 0;
}}
QToolButton[small="true"] {{ min-width: {px(26)}px; min-height: {px(26)}px; }}
QToolButton[kind="flat"] {{ background: transparent; border-color: transparent; color: {c["textSecondary"]}; }}
QToolButton:disabled {{ color: {c["textDisabled"]}; }}
QPushButton[segment] {{
  min-height: {px(26)}px; padding: 0 {px(10)}px; border: 1px solid {c["borderStrong"]}; border-left-width: 0;
  border-radius: 0; background: {c["raised"]}; color: {c["textSecondary"]}; font-size: {px(SCALE[Type.SMALL].size)}px;
}}
QPushButton[segment]:hover {{ background: {c["surface"]}; }}
QPushButton[segment]:checked {{ background: {c["accentTint"]}; color: {c["accent"]}; font-weight: 600; }}
QPushButton[segment]:disabled {{ color: {c["textDisabled"]}; }}
QPushButton[segment="first"], QPushButton[segment="only"] {{
  border-left-width: 1px; border-top-left-radius: 6px; border-bottom-left-radius: 6px;
}}
QPushButton[segment="last"], QPushButton[segment="only"] {{
  border-top-right-radius: 6px; border-bottom-right-radius: 6px;
}}
"""


def _fields(c: Mapping[str, str], px: Callable[[float], int], picture: Callable[[str, str], str]) -> str:
    down = picture("chevron-down", "textSecondary")
    up = picture("chevron-up", "textSecondary")
    return f"""
QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox {{
  min-height: {px(30)}px; padding: 0 {px(9)}px; border: 1px solid {c["borderStrong"]}; border-radius: 6px;
  background: {c["raised"]}; color: {c["text"]}; selection-background-color: {c["accentTint"]};
  selection-color: {c["text"]}; placeholder-text-color: {c["textSecondary"]};
}}
QLineEdit QToolButton {{ min-width: 0; min-height: 0; border: 0; background: transparent; }}
QLineEdit:focus, QComboBox:focus, QSpinBox:focus {{
  border: 2px solid {c["focus"]}; padding: 0 {px(8)}px; min-height: {px(28)}px;
}}
QLineEdit:disabled, QComboBox:disabled, QSpinBox:disabled {{
  background: {c["surface"]}; color: {c["textDisabled"]}; border-color: {c["border"]};
}}
QLineEdit[state="error"] {{ border-color: {c["critical"]}; }}
QLineEdit[mono="true"] {{ font-family: {_family()}; font-size: {px(SCALE[Type.MONO_FIELD].size)}px; }}
QLineEdit[small="true"], QComboBox[small="true"] {{
  min-height: {px(26)}px; font-size: {px(SCALE[Type.SMALL].size)}px;
}}
QComboBox::drop-down {{ border: 0; width: {px(28)}px; }}
QComboBox::down-arrow {{ image: url({down}); width: {px(16)}px; height: {px(16)}px; }}
QAbstractSpinBox QLineEdit {{ border: 0; padding: 0 {px(6)}px; min-height: 0; background: transparent; }}
QAbstractSpinBox QLineEdit:focus {{ border: 0; padding: 0 {px(6)}px; min-height: 0; }}
QSpinBox::up-button, QSpinBox::down-button {{ border: 0; width: {px(22)}px; background: transparent; }}
QSpinBox::up-arrow {{ image: url({up}); width: {px(12)}px; height: {px(12)}px; }}
QSpinBox::down-arrow {{ image: url({down}); width: {px(12)}px; height: {px(12)}px; }}
QPlainTextEdit, QTextEdit {{
  background: {c["raised"]}; color: {c["text"]}; border: 0; selection-background-color: {c["accentTint"]};
  selection-color: {c["text"]};
}}
QPlainTextEdit[mono="true"] {{ font-family: {_family()}; font-size: {px(SCALE[Type.MONO].size)}px; }}
QPlainTextEdit[terminal="true"] {{ background: {c["termBg"]}; color: {c["termText"]}; }}
"""


def _ticks(c: Mapping[str, str], px: Callable[[float], int], picture: Callable[[str, str], str]) -> str:
    tick = picture("check", "onAccent")
    dash = picture("minus", "onAccent")
    size = px(14)
    return f"""
QCheckBox, QRadioButton {{ spacing: {px(8)}px; background: transparent; color: {c["text"]}; }}
QCheckBox:disabled, QRadioButton:disabled {{ color: {c["textDisabled"]}; }}
QCheckBox::indicator {{
  width: {size}px; height: {size}px; border: 1px solid {c["borderStrong"]}; border-radius: 3px;
  background: {c["raised"]};
}}
QCheckBox::indicator:checked {{
  background: {c["accentFill"]}; border-color: {c["accentFill"]}; image: url({tick});
}}
QCheckBox::indicator:indeterminate {{
  background: {c["accentFill"]}; border-color: {c["accentFill"]}; image: url({dash});
}}
QCheckBox::indicator:disabled {{ border-color: {c["border"]}; background: {c["surface"]}; }}
QRadioButton::indicator {{
  width: {size}px; height: {size}px; border: 1px solid {c["borderStrong"]}; border-radius: {size // 2 + 1}px;
  background: {c["raised"]};
}}
QRadioButton::indicator:checked {{
  border: {size // 3}px solid {c["accentFill"]}; width: {size + 2 - size // 3 * 2}px;
  height: {size + 2 - size // 3 * 2}px;
}}
"""


def _views(c: Mapping[str, str], px: Callable[[float], int]) -> str:
    return f"""
QAbstractItemView {{ border: 0; outline: 0; color: {c["text"]}; selection-color: {c["text"]};
  selection-background-color: {c["accentTint"]}; }}
QListView, QTreeView {{ background: transparent; }}
QListWidget::item {{ padding: 0 {px(8)}px; border-radius: 6px; }}
QListWidget::item:selected {{ background: {c["accentTint"]}; color: {c["text"]}; }}
QListWidget::item:hover:!selected {{ background: {c["raised"]}; }}
QTableView {{ background: {c["raised"]}; gridline-color: transparent; alternate-background-color: {c["raised"]}; }}
QTableView::item {{ padding: 0 {px(8)}px; border-bottom: 1px solid {c["border"]}; }}
QTableView::item:selected, QTreeView::item:selected {{ background: {c["accentTint"]}; color: {c["text"]}; }}
QTableView[cards="true"] {{ background: transparent; selection-background-color: transparent; }}
QTableView[cards="true"]::item, QTableView[cards="true"]::item:selected {{
  background: transparent; border: 0; padding: 0;
}}
QHeaderView {{ background: {c["surface"]}; border: 0; }}
QHeaderView::section {{
  background: {c["surface"]}; color: {c["textSecondary"]}; font-size: {px(SCALE[Type.LABEL].size)}px; font-weight: 600;
  border: 0; border-bottom: 1px solid {c["border"]}; padding: 0 {px(8)}px; min-height: {px(28)}px; text-align: left;
}}
"""


def _tabs(c: Mapping[str, str], px: Callable[[float], int]) -> str:
    return f"""
QTabBar {{ background: transparent; border: 0; }}
QTabBar::tab {{
  background: transparent; border: 0; border-bottom: 3px solid transparent; color: {c["textSecondary"]};
  padding: 0 {px(8)}px; min-height: {px(33)}px; margin: 0;
}}
QTabBar::tab:hover {{ color: {c["text"]}; }}
QTabBar::tab:selected {{ color: {c["text"]}; border-bottom-color: {c["accent"]}; font-weight: 600; }}
QTabBar::tab:focus {{ color: {c["accent"]}; }}
QTabWidget::pane {{ border: 0; border-top: 1px solid {c["border"]}; }}
"""


def _bars(c: Mapping[str, str], px: Callable[[float], int]) -> str:
    handle = c["borderStrong"]
    return f"""
QScrollBar {{ background: transparent; border: 0; }}
QAbstractScrollArea::corner {{ background: transparent; border: 0; }}
QScrollBar:vertical {{ width: {px(12)}px; margin: 0; }}
QScrollBar:horizontal {{ height: {px(12)}px; margin: 0; }}
QScrollBar::handle {{ background: {handle}; border-radius: {px(3)}px; }}
QScrollBar::handle:vertical {{ min-height: {px(32)}px; margin: 2px {px(3)}px; }}
QScrollBar::handle:horizontal {{ min-width: {px(32)}px; margin: {px(3)}px 2px; }}
QScrollBar::handle:hover {{ background: {c["textSecondary"]}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QProgressBar {{ background: {c["border"]}; border: 0; border-radius: 3px; max-height: 6px; min-height: 6px; }}
QProgressBar::chunk {{ background: {c["accentFill"]}; border-radius: 3px; }}
"""


def _popups(c: Mapping[str, str], px: Callable[[float], int], picture: Callable[[str, str], str]) -> str:
    return f"""
QMenu {{ background: {c["raised"]}; border: 1px solid {c["borderStrong"]}; border-radius: 6px; padding: {px(4)}px; }}
QMenu::item {{ padding: {px(6)}px {px(24)}px {px(6)}px {px(12)}px; border-radius: 4px; color: {c["text"]}; }}
QMenu::item:selected {{ background: {c["accentTint"]}; }}
QMenu::item:disabled {{ color: {c["textDisabled"]}; }}
QMenu::separator {{ height: 1px; background: {c["border"]}; margin: {px(4)}px {px(8)}px; }}
QMenu::icon {{ padding-left: {px(8)}px; }}
QToolTip {{
  background: {c["raised"]}; color: {c["text"]}; border: 1px solid {c["borderStrong"]}; padding: {px(4)}px {px(6)}px;
}}
QComboBox QAbstractItemView {{
  background: {c["raised"]}; border: 1px solid {c["borderStrong"]}; padding: {px(4)}px; outline: 0;
}}
QComboBox QAbstractItemView::item {{ min-height: {px(28)}px; padding: 0 {px(8)}px; border-radius: 4px; }}
QDialog {{ background: {c["raised"]}; }}
"""


def _family() -> str:
    return ", ".join(f'"{name}"' for name in mono_families())
