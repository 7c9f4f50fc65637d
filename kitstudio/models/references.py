"""The two placeholders a descriptor may hold: ``${{ kit.args.N }}`` (§6) and ``${{ kit.env.N }}`` (§6.1)."""

from __future__ import annotations

import re
from enum import Flag
from typing import Final

from kitstudio.models.descriptor import JsonValue

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ARG_REFERENCE: Final = re.compile(r"\$\{\{[\t\n\f\r ]*kit\.args\.([A-Za-z_][A-Za-z0-9_]*)[\t\n\f\r ]*\}\}")
ENV_REFERENCE: Final = re.compile(r"\$\{\{[\t\n\f\r ]*kit\.env\.([A-Za-z_][A-Za-z0-9_]*)[\t\n\f\r ]*\}\}")
ARG_OPENER: Final = re.compile(r"\$\{\{[\t\n\f\r ]*kit\.args\b", re.ASCII)
ENV_OPENER: Final = re.compile(r"\$\{\{[\t\n\f\r ]*kit\.env\b", re.ASCII)


def references(text: str) -> tuple[str, ...]:
    """Names of the args a text refers to, each once, in order of first appearance."""
    if "${{" not in text:
        return ()
    return tuple(dict.fromkeys(ARG_REFERENCE.findall(text)))


def whole_reference(text: str) -> str:
    """The arg's name when the text is nothing but one reference, else empty."""
    match = ARG_REFERENCE.fullmatch(text)
    return match[1] if match else ""


class Held(Flag):
    """Which placeholders a config value holds."""

    NONE = 0
    ARG = 1
    """An arg reference, in a value or a key."""
    ENV = 2
    """The opener of an environment reference, in a value."""
    ENV_KEY = 4
    """The same in a key."""


def held(value: JsonValue) -> Held:
    """What a config value holds, in one walk."""
    found = Held.NONE
    waiting: list[JsonValue] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if "${{" in item:
                found |= _held_by(item, Held.ENV)
        elif isinstance(item, dict):
            for key in item:
                if isinstance(key, str) and "${{" in key:
                    found |= _held_by(key, Held.ENV_KEY)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return found


def holds_arg(value: JsonValue) -> bool:
    """True when a config value holds an arg reference, keys included."""
    return Held.ARG in held(value)


def holds_env(value: JsonValue) -> bool:
    """True when a config value holds the opener of an environment reference, keys left out."""
    return Held.ENV in held(value)


def holds_env_key(value: JsonValue) -> bool:
    """True when a key anywhere inside holds the opener of an environment reference."""
    return Held.ENV_KEY in held(value)


def _held_by(text: str, env: Held) -> Held:
    found = Held.ARG if ARG_REFERENCE.search(text) else Held.NONE
    return found | env if ENV_OPENER.search(text) else found
