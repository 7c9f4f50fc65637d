"""Select graphic rendition: bold, colours and the rest, in both spellings of extended colours."""

from __future__ import annotations

from collections import deque
from functools import lru_cache

from pyte.graphics import BG_AIXTERM, BG_ANSI, FG_AIXTERM, FG_ANSI, FG_BG_256, TEXT
from pyte.screens import Char

from kitstudio.ui.terminal.cells import BLANK
from kitstudio.ui.terminal.parser import Params

_NAMES = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")


@lru_cache(maxsize=1024)
def rendered(attrs: Char, params: Params) -> Char:
    """``attrs`` after a select-graphic-rendition sequence; what is not known changes nothing."""
    queue = deque(params or ((0,),))
    while queue:
        param = queue.popleft()
        code = max(param[0], 0)
        if code == 0:
            attrs = BLANK
        elif code in (38, 48):
            colour = _colour(param[1:]) if len(param) > 1 else _colour_of_queue(queue)
            if colour:
                attrs = attrs._replace(fg=colour) if code == 38 else attrs._replace(bg=colour)
        elif code in FG_ANSI or code in FG_AIXTERM:
            attrs = attrs._replace(fg=FG_ANSI.get(code) or FG_AIXTERM[code])
        elif code in BG_ANSI or code in BG_AIXTERM:
            name = BG_ANSI.get(code) or BG_AIXTERM[code]
            attrs = attrs._replace(bg="brightmagenta" if code == 105 else name)
        elif code == 4 and len(param) > 1:
            attrs = attrs._replace(underscore=param[1] != 0)
        elif code == 21:
            attrs = attrs._replace(underscore=True)
        elif code in TEXT:
            attrs = _with_style(attrs, TEXT[code][1:], TEXT[code].startswith("+"))
    return attrs._replace(data=" ")


def _with_style(attrs: Char, name: str, on: bool) -> Char:
    values = attrs._asdict()
    values[name] = on
    return Char(**values)


def _colour(parts: tuple[int, ...]) -> str:
    """Colon form: ``5:N``, ``2:R:G:B`` or ``2:SPACE:R:G:B``."""
    if parts[:1] == (5,) and len(parts) > 1:
        return _indexed(parts[1])
    if parts[:1] == (2,) and len(parts) >= 4:
        return _rgb(parts[-3:])
    return ""


def _colour_of_queue(queue: deque[tuple[int, ...]]) -> str:
    kind = queue.popleft()[0] if queue else -1
    if kind == 5 and queue:
        return _indexed(queue.popleft()[0])
    if kind == 2 and len(queue) >= 3:
        return _rgb(tuple(queue.popleft()[0] for _ in range(3)))
    return ""


def _indexed(number: int) -> str:
    if 0 <= number < 8:
        return _NAMES[number]
    if 8 <= number < 16:
        return f"bright{_NAMES[number - 8]}"
    return FG_BG_256[number] if 16 <= number < 256 else ""


def _rgb(parts: tuple[int, ...]) -> str:
    red, green, blue = (min(max(part, 0), 255) for part in parts)
    return f"{red:02x}{green:02x}{blue:02x}"
