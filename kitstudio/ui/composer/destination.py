"""Where a set may be published, judged while it is typed; and the places chosen before."""

from __future__ import annotations

import json
from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.reference import DEMO, LOCAL, LayoutLocation, Reference, parse_location
from kitstudio.services.settings import Settings
from kitstudio.ui.widgets.text import tr

REMEMBERED = 8
_KEY = "ui.state.publish"


def destination_error(text: str) -> str:
    """Why a text is no place to publish to; empty where it is one. Nothing is looked up."""
    try:
        location = parse_location(text, Path.cwd())
    except KitStudioError as error:
        return f"{error.what} {error.remedy}".strip()
    if isinstance(location, LayoutLocation | Reference) and location.digest:
        return tr("The digest follows from the content: name a tag.")
    if isinstance(location, Reference) and location.registry in (DEMO, LOCAL):
        return tr("{host} is not a registry one can publish to.").format(host=location.registry)
    if not isinstance(location, LayoutLocation | Reference):
        return tr("Name a registry reference (host/name:tag) or an OCI layout (oci:DIR:TAG).")
    return ""


def known_destinations(settings: Settings) -> tuple[str, ...]:
    """Where was published before, the last one first."""
    text = str(settings.get(_KEY))
    try:
        found = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return ()
    return tuple(str(each) for each in found[:REMEMBERED]) if isinstance(found, list) else ()


def remember_destination(settings: Settings, text: str) -> None:
    """Put a place first among those known."""
    others = [known for known in known_destinations(settings) if known != text]
    settings.set(_KEY, json.dumps([text, *others][:REMEMBERED]))
