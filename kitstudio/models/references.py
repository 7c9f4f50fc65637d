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
    if not value:
        return Held.NONE
    found = Held.NONE
    for text, env in _placeholders(value):
        if ARG_REFERENCE.search(text):
            found |= Held.ARG
        if ENV_OPENER.search(text):
            found |= env
    return found


def holds_arg(value: JsonValue) -> bool:
    """True when a config value holds an arg reference, keys included."""
    if isinstance(value, str):
        return "${{" in value and ARG_REFERENCE.search(value) is not None
    return any(ARG_REFERENCE.search(text) for text, _ in _placeholders(value))


def holds_env(value: JsonValue) -> bool:
    """True when a config value holds the opener of an environment reference, keys left out."""
    return any(env is Held.ENV and ENV_OPENER.search(text) for text, env in _placeholders(value))


def holds_env_key(value: JsonValue) -> bool:
    """True when a key anywhere inside holds the opener of an environment reference."""
    return any(env is Held.ENV_KEY and ENV_OPENER.search(text) for text, env in _placeholders(value))


def _placeholders(value: JsonValue) -> list[tuple[str, Held]]:
    """Every text that can hold a placeholder, with what an environment reference in it would be."""
    if isinstance(value, str):
        return [(value, Held.ENV)] if "${{" in value else []
    found: list[tuple[str, Held]] = []
    waiting: list[JsonValue] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key, below in item.items():
                if isinstance(key, str) and "${{" in key:
                    found.append((key, Held.ENV_KEY))
                if isinstance(below, str):
                    if "${{" in below:
                        found.append((below, Held.ENV))
                elif isinstance(below, dict | list):
                    waiting.append(below)
        elif isinstance(item, list):
            for below in item:
                if isinstance(below, str):
                    if "${{" in below:
                        found.append((below, Held.ENV))
                elif isinstance(below, dict | list):
                    waiting.append(below)
    return found
