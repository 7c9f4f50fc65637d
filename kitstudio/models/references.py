"""The two placeholders a descriptor may hold: ``${{ kit.args.N }}`` (§6) and ``${{ kit.env.N }}`` (§6.1)."""

from __future__ import annotations

import re
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


def holds_arg(value: JsonValue) -> bool:
    """True when a config value holds an arg reference, keys included."""
    if isinstance(value, str):
        return "${{" in value and ARG_REFERENCE.search(value) is not None
    if isinstance(value, dict):
        return any(holds_arg(key if isinstance(key, str) else "") or holds_arg(item) for key, item in value.items())
    return isinstance(value, list) and any(holds_arg(item) for item in value)


def holds_env(value: JsonValue) -> bool:
    """True when a config value holds the opener of an environment reference, keys left out."""
    if isinstance(value, str):
        return "${{" in value and ENV_OPENER.search(value) is not None
    if isinstance(value, dict):
        return any(holds_env(item) for item in value.values())
    return isinstance(value, list) and any(holds_env(item) for item in value)


def holds_env_key(value: JsonValue) -> bool:
    """True when a key anywhere inside holds the opener of an environment reference."""
    if isinstance(value, dict):
        return any(holds_env(key if isinstance(key, str) else "") or holds_env_key(v) for key, v in value.items())
    return isinstance(value, list) and any(holds_env_key(item) for item in value)
