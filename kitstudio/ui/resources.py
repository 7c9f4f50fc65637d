"""Where the icons and the palette lie: beside the package in a checkout, under ``share/kitstudio`` when installed."""

from __future__ import annotations

import sys
from pathlib import Path

import kitstudio
from kitstudio.models.errors import KitStudioError


def resource(*parts: str) -> Path:
    """A file or folder of the installation; ``KitStudioError`` names what is missing."""
    checkout = Path(kitstudio.__file__).resolve().parent.parent
    for root in (checkout, Path(sys.prefix) / "share" / "kitstudio"):
        candidate = root.joinpath(*parts)
        if candidate.exists():
            return candidate
    raise KitStudioError(
        "A file of the installation is missing.",
        where="/".join(parts),
        remedy="Run ./studio setup in the checkout, or install Kit Studio again.",
    )
