"""The short digest of a config: how a request without fields of its own is told apart (§7.1, §7.4)."""

from __future__ import annotations

import hashlib

from kitstudio.models.canonical import encode_value
from kitstudio.models.capabilities.contract import Config
from kitstudio.models.errors import DescriptorError


def config_digest(config: Config) -> str | None:
    """First 12 hex digits of SHA-256 over the config's canonical JSON; empty for an empty config, None if JSON cannot
    spell it."""
    if not config:
        return ""
    try:
        text = encode_value(config)
    except DescriptorError:
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
