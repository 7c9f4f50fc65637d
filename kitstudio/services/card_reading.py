"""One card from its tags and its manifest, and whether its Kit fits a set; what takes a while runs in a thread."""

from __future__ import annotations

from collections.abc import Sequence

from kitstudio.models.fits import Fits, Relations, relations_of
from kitstudio.models.plan import Plan
from kitstudio.models.resolve import Unit
from kitstudio.registry.artifact import Reader, glance
from kitstudio.registry.reference import Reference, parse
from kitstudio.registry.source import Artifact
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.services import cards as view
from kitstudio.services.catalog_values import CardKind, KitCard, SourceKind
from kitstudio.services.kit_pages import exact
from kitstudio.services.places import Place


async def read_card(place: Place, repository: str) -> tuple[KitCard, Relations | None]:
    """A repository at its newest version: its tags and one manifest. Over the network not even the config is read."""
    reference = await _newest(place, repository)
    if place.network:
        artifact = await glance(Reader(place.source.manifest), reference)
    else:
        artifact = await place.source.artifact(reference)
    return await in_thread(_made, place, artifact)


def fitting(stop: Stop, plan: Plan, candidates: Sequence[tuple[str, tuple[str, Relations]]]) -> dict[str, str]:
    """Repository → why its Kit does not fit the set, empty where it does. Blocking."""
    units = [Unit(m.reference, m.descriptor, m.digest, m.args) for m in plan.members if m.descriptor is not None]
    inside = {parse(unit.reference).name for unit in units if unit.reference}
    fits = Fits(units)
    found: dict[str, str] = {}
    for repository, (reference, about) in candidates:
        stop.check()
        found[repository] = "It is in the set already." if repository in inside else fits.why_not(reference, about)
    return found


async def _newest(place: Place, repository: str) -> Reference:
    if place.kind is SourceKind.SET:
        from kitstudio.services.set_source import SetSource

        assert isinstance(place.source, SetSource)
        return await place.source.stated(repository)
    return exact(parse(repository), await place.source.tags(repository))


def _made(stop: Stop, place: Place, artifact: Artifact) -> tuple[KitCard, Relations | None]:
    reading = view.glimpse(artifact, place.spelled(str(artifact.reference), artifact.digest))
    card = view.placed(view.card(place.id, artifact, reading), place)
    about = relations_of(reading.descriptor) if reading.descriptor and card.kind is not CardKind.ERROR else None
    return card, about
