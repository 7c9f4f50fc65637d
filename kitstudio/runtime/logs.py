"""A sandbox's log as text: what its supervisor noted and what its console printed. Untrusted, made harmless."""

from __future__ import annotations

from kitstudio.runtime.state import SandboxFolder

_LOG_KEPT = 256 << 10


def read_logs(folder: SandboxFolder) -> str:
    """The last part of each log, control characters taken out."""
    parts: list[str] = []
    for title, path in (
        ("supervisor", folder.log),
        ("supervisor failure", folder.crash),
        ("console", folder.machine / "console.log"),
    ):
        if path.is_file() and path.stat().st_size:
            with path.open("rb") as source:
                source.seek(max(0, path.stat().st_size - _LOG_KEPT))
                text = source.read(_LOG_KEPT).decode("utf-8", "replace").replace("\r\n", "\n")
            parts.append(f"== {title}\n" + "".join(c for c in text if c in "\n\t" or c.isprintable()))
    return "\n".join(parts)
