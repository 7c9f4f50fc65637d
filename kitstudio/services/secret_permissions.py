"""Permissions that a secret input would become part of: they would carry its value into locks, records and history."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kitstudio.models import surface as surfaces
from kitstudio.models.canonical import encode
from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Plan

_BETWEEN = re.compile(r"[\s/]+")
_RECOGNISABLE = 4
"""Letters from which on a value is told from chance."""


def refuse_written_secrets(plan: Plan) -> None:
    """Raise where a Kit fills a secret into what it asks for. Words that its own text spells out are no secret."""
    texts = [encode(member.descriptor) for member in plan.members if member.descriptor is not None]
    entries = {entry for surface in (plan.surface, *plan.kit_surfaces.values()) for entry in _texts(surface)}
    for item in plan.inputs:
        value = plan.values.get(item.kit, {}).get(item.name) or ""
        if not item.secret or len(value) < _RECOGNISABLE:
            continue
        for entry in entries:
            if value in entry and not all(any(word in text for text in texts) for word in _BETWEEN.split(entry)):
                raise KitStudioError(
                    f"The secret input {item.name} would become part of a permission, and be written down with it.",
                    where=item.kit or "the set",
                    remedy="Do not give this Kit a secret: choose another version, or tell its author.",
                )


def _texts(surface: surfaces.Surface) -> Iterator[str]:
    waiting: list[object] = [surfaces.to_json(surface)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            # A whole host is asked for as “ANY HOST/**”, which no Kit's text spells.
            yield value.removeprefix("ANY ").removesuffix("/**")
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
