"""Which tag a reference without one means."""

from __future__ import annotations

from kitstudio.models.versions import latest


def newest_tag(tags: tuple[str, ...]) -> str:
    """The highest version-shaped tag, else ``latest``, else the only one; empty where that cannot be told."""
    return latest(tags) or ("latest" if "latest" in tags else tags[0] if len(tags) == 1 else "")
