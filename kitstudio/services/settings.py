"""Settings (``settings.toml`` in the home's config folder): typed keys, defaults, atomic writes."""

from __future__ import annotations

from kitstudio.services.topic import Topic


class Settings:
    """``get``/``set`` by dotted key (``ui.theme``, ``sandbox.memory``, ``catalog.sources`` …)."""

    def __init__(self) -> None:
        self.changed: Topic[str] = Topic()

    def get(self, key: str) -> object:
        """The value or its default; ``KitStudioError`` for an unknown key."""
        raise NotImplementedError

    def set(self, key: str, value: object) -> None:
        """Check, keep and write atomically."""
        raise NotImplementedError

    def keys(self) -> tuple[str, ...]:
        raise NotImplementedError
