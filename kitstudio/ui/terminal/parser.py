"""From a guest's bytes to terminal actions: the ECMA-48 state machine in front of the screen.

Every string a guest can send is bounded, unknown sequences are swallowed whole, and C1 controls (which no
program sends in UTF-8) are dropped. Nothing here can make the host do anything but draw.
"""

from __future__ import annotations

import codecs
import re
from enum import Enum, auto
from functools import lru_cache
from typing import Protocol, TypeAlias

_TEXT = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_CSI = re.compile(r"\x1b\[([<=>?]?)([0-9:;]{0,64})([ -/]{0,2})([@-~])")
_MAX_STRING = 2048
_MAX_PARAMS = 64
_MAX_NUMBER = 9999

Params: TypeAlias = tuple[tuple[int, ...], ...]
"""Parameters of a control sequence: each a number with its colon-separated parts; -1 where empty."""


class Actions(Protocol):
    """What the parser asks of a screen."""

    def draw(self, data: str) -> None: ...

    def control(self, char: str) -> None:
        """One C0 control."""

    def escape(self, intermediates: str, final: str) -> None:
        """``ESC`` with optional intermediates."""

    def csi(self, private: str, params: Params, intermediates: str, final: str) -> None:
        """A control sequence."""

    def osc(self, text: str) -> None:
        """An operating system command, bounded."""


class _State(Enum):
    GROUND = auto()
    ESCAPE = auto()
    CSI = auto()
    CSI_IGNORE = auto()
    STRING = auto()
    STRING_ESCAPE = auto()


class Parser:
    """Feed it bytes in any portions; it calls ``actions``."""

    def __init__(self, actions: Actions) -> None:
        self._actions = actions
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._state = _State.GROUND
        self._collected = ""
        self._osc = False

    def feed(self, data: bytes) -> None:
        """Consume a portion; unfinished sequences continue with the next one."""
        text = self._decoder.decode(data)
        position, end = 0, len(text)
        while position < end:
            if self._state is _State.GROUND:
                position = self._ground(text, position)
            elif self._state is _State.STRING:
                position = self._string(text, position)
            else:
                self._step(text[position])
                position += 1

    def _ground(self, text: str, position: int) -> int:
        match = _TEXT.match(text, position)
        if match is not None:
            self._actions.draw(match.group())
            return match.end()
        char = text[position]
        if char == "\x1b":
            sequence = _CSI.match(text, position)
            if sequence is not None:
                private, params, intermediates, final = sequence.groups()
                self._actions.csi(private, _params(params), intermediates, final)
                return sequence.end()
            self._enter(_State.ESCAPE)
        elif char < "\x20":
            self._actions.control(char)
        return position + 1

    def _string(self, text: str, position: int) -> int:
        """Collect up to BEL, ESC, CAN or SUB, keeping at most ``_MAX_STRING`` characters."""
        end = position
        while end < len(text) and text[end] not in "\x07\x1b\x18\x1a\x9c":
            end += 1
        room = _MAX_STRING - len(self._collected)
        if self._osc and room > 0:
            self._collected += text[position : min(end, position + room)]
        if end == len(text):
            return end
        if text[end] == "\x1b":
            self._state = _State.STRING_ESCAPE
        else:
            self._finish_string(whole=text[end] in "\x07\x9c")
        return end + 1

    def _step(self, char: str) -> None:
        if self._state is _State.STRING_ESCAPE:
            self._finish_string(whole=char == "\\")
            if char != "\\":
                self._enter(_State.ESCAPE)
                self._step(char)
        elif char in "\x18\x1a":
            self._enter(_State.GROUND)
        elif char == "\x1b":
            self._enter(_State.ESCAPE)
        elif char < "\x20":
            self._actions.control(char)
        elif "\x7f" <= char <= "\x9f":
            return
        elif self._state is _State.ESCAPE:
            self._escape(char)
        else:
            self._control_sequence(char)

    def _escape(self, char: str) -> None:
        if " " <= char <= "/":
            if len(self._collected) < 4:
                self._collected += char
        elif char == "[" and not self._collected:
            self._enter(_State.CSI)
        elif char in "]PX^_" and not self._collected:
            self._enter(_State.STRING)
            self._osc = char == "]"
        else:
            collected = self._collected
            self._enter(_State.GROUND)
            if char <= "~":
                self._actions.escape(collected, char)

    def _control_sequence(self, char: str) -> None:
        if "@" <= char <= "~":
            state, collected = self._state, self._collected
            self._enter(_State.GROUND)
            sequence = _CSI.fullmatch(f"\x1b[{collected}{char}")
            if state is _State.CSI and sequence is not None:
                private, params, intermediates, final = sequence.groups()
                self._actions.csi(private, _params(params), intermediates, final)
        elif " " <= char <= "?" and len(self._collected) < 80:
            self._collected += char
        else:
            self._state = _State.CSI_IGNORE

    def _finish_string(self, *, whole: bool) -> None:
        collected, osc = self._collected, self._osc
        self._enter(_State.GROUND)
        if osc and whole:
            self._actions.osc(collected)

    def _enter(self, state: _State) -> None:
        self._state, self._collected, self._osc = state, "", False


@lru_cache(maxsize=1024)
def _params(text: str) -> Params:
    if not text:
        return ()
    return tuple(
        tuple(min(int(part[:6]), _MAX_NUMBER) if part else -1 for part in param.split(":")[:8])
        for param in text.split(";")[:_MAX_PARAMS]
    )
