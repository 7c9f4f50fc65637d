"""``DemoCatalog``: the Kits that come with the program, read from the layout set-up built.

The layout is found beside the checkout or the installation, never in a home; ``KITSTUDIO_DEMO`` names another one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.source import NotFound

VARIABLE = "KITSTUDIO_DEMO"


class DemoCatalog(LayoutSource):
    """The embedded layout; raises at construction where it is not there, with the way to get it."""

    def __init__(self, root: Path | None = None) -> None:
        super().__init__(root or find_demo(os.environ))


def find_demo(environment: Mapping[str, str]) -> Path:
    """The layout's folder: ``KITSTUDIO_DEMO``, the checkout's ``build/demo``, or the installation's share folder."""
    stated = environment.get(VARIABLE, "")
    places = [Path(stated).expanduser().absolute()] if stated else _places()
    for place in places:
        if (place / "index.json").is_file():
            return place
    raise NotFound(
        f"The demo catalog is not where {VARIABLE} says." if stated else "The demo catalog has not been built yet.",
        where=str(places[0]),
        remedy=f"Correct or unset {VARIABLE}." if stated else "Run ./studio setup.",
    )


def _places() -> list[Path]:
    return [Path(__file__).resolve().parents[2] / "build" / "demo", Path(sys.prefix) / "share" / "kitstudio" / "demo"]
