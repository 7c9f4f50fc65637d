"""Keys as the bytes a program in a terminal expects (xterm's encoding)."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

_Key = Qt.Key
_CURSOR = {
    _Key.Key_Up: "A",
    _Key.Key_Down: "B",
    _Key.Key_Right: "C",
    _Key.Key_Left: "D",
    _Key.Key_Home: "H",
    _Key.Key_End: "F",
}
_TILDE = {
    _Key.Key_Insert: 2,
    _Key.Key_Delete: 3,
    _Key.Key_PageUp: 5,
    _Key.Key_PageDown: 6,
    _Key.Key_F5: 15,
    _Key.Key_F6: 17,
    _Key.Key_F7: 18,
    _Key.Key_F8: 19,
    _Key.Key_F9: 20,
    _Key.Key_F10: 21,
    _Key.Key_F11: 23,
    _Key.Key_F12: 24,
}
_FUNCTION = {_Key.Key_F1: "P", _Key.Key_F2: "Q", _Key.Key_F3: "R", _Key.Key_F4: "S"}
_CONTROL = {
    _Key.Key_Space: 0,
    _Key.Key_At: 0,
    _Key.Key_2: 0,
    _Key.Key_BracketLeft: 27,
    _Key.Key_3: 27,
    _Key.Key_Backslash: 28,
    _Key.Key_4: 28,
    _Key.Key_BracketRight: 29,
    _Key.Key_5: 29,
    _Key.Key_AsciiCircum: 30,
    _Key.Key_6: 30,
    _Key.Key_Underscore: 31,
    _Key.Key_Slash: 31,
    _Key.Key_7: 31,
    _Key.Key_8: 127,
}


def encode(event: QKeyEvent, *, application_cursor: bool) -> bytes:
    """The bytes for a key press, empty where the key means nothing to a terminal."""
    key, held = _Key(event.key()), event.modifiers()
    shift = bool(held & Qt.KeyboardModifier.ShiftModifier)
    alt = bool(held & Qt.KeyboardModifier.AltModifier)
    control = bool(held & Qt.KeyboardModifier.ControlModifier)
    modifier = 1 + shift + 2 * alt + 4 * control
    if key in _CURSOR:
        if modifier > 1:
            return f"\x1b[1;{modifier}{_CURSOR[key]}".encode()
        return f"\x1b{'O' if application_cursor else '['}{_CURSOR[key]}".encode()
    if key in _TILDE:
        return f"\x1b[{_TILDE[key]}{f';{modifier}' if modifier > 1 else ''}~".encode()
    if key in _FUNCTION:
        return f"\x1b[1;{modifier}{_FUNCTION[key]}".encode() if modifier > 1 else f"\x1bO{_FUNCTION[key]}".encode()
    prefix = b"\x1b" if alt else b""
    if key == _Key.Key_Backtab or (key == _Key.Key_Tab and shift):
        return b"\x1b[Z"
    simple = {_Key.Key_Return: b"\r", _Key.Key_Enter: b"\r", _Key.Key_Tab: b"\t", _Key.Key_Escape: b"\x1b"}
    if key in simple:
        return prefix + simple[key]
    if key == _Key.Key_Backspace:
        return prefix + (b"\x08" if control else b"\x7f")
    if control:
        if _Key.Key_A <= key <= _Key.Key_Z:
            return prefix + bytes([int(key) - int(_Key.Key_A) + 1])
        return prefix + bytes([_CONTROL[key]]) if key in _CONTROL else b""
    return prefix + event.text().encode() if event.text() else b""


def paste(text: str, *, bracketed: bool) -> bytes:
    """Pasted text: line ends as Return, no control characters, so a paste cannot end its own brackets."""
    lines = text.replace("\r\n", "\r").replace("\n", "\r")
    clean = "".join(char for char in lines if char in "\t\r" or (char >= " " and not "\x7f" <= char <= "\x9f"))
    data = clean.encode("utf-8", "replace")
    return b"\x1b[200~" + data + b"\x1b[201~" if bracketed else data
