"""What a place lists, complete or not, the same way for every kind of source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kitstudio.registry.reference import HUB, RegistryError, parse
from kitstudio.registry.source import SignInRequired
from kitstudio.services import cards as view
from kitstudio.services.catalog_values import CardKind, KitCard, SourceKind
from kitstudio.services.places import Place
from kitstudio.services.stand_ins import Later

if TYPE_CHECKING:
    from kitstudio.registry.hub_values import HubKit


@dataclass(frozen=True, slots=True)
class Listed:
    """Repositories (without tag). ``note``: what a person should know about the list, may be empty; ``error``: why
    nothing could be listed though the place answers; ``complete``: nothing is known to be missing; ``about``: what
    Docker Hub says of each."""

    names: tuple[str, ...]
    note: str = ""
    error: RegistryError | None = None
    complete: bool = True
    about: Mapping[str, HubKit] = field(default_factory=dict)


async def listed(place: Place) -> Listed:
    """Ask a place what it has."""
    source = await place.source.opened() if isinstance(place.source, Later) else place.source
    if place.registry == HUB and "/" in place.path:
        return Listed((f"{HUB}/{place.path}",))
    if place.kind is SourceKind.HUB:
        from kitstudio.registry.hub import HubSource

        assert isinstance(source, HubSource)
        hub = await source.listing()
        about = {kit.repository: kit for kit in hub.kits}
        return Listed(tuple(sorted(about)), hub.note, complete=hub.complete, about=about)
    if place.kind is SourceKind.REGISTRY and isinstance(place.source, Later):
        from kitstudio.registry.listing import ListingState
        from kitstudio.registry.registry import RegistrySource

        assert isinstance(source, RegistrySource)
        found = await source.listing()
        refused = not found.names and isinstance(found.error, SignInRequired)
        error = found.error if refused else None
        return Listed(found.names, found.note, error, found.state is ListingState.COMPLETE)
    return Listed(await source.list())


async def found_at_hub(place: Place, query: str) -> Listed:
    """What Docker Hub finds for a query: its lists are cut short, its search reaches the rest."""
    source = await place.source.opened() if isinstance(place.source, Later) else place.source
    from kitstudio.registry.hub import HubSource

    assert isinstance(source, HubSource)
    hub = await source.search(query)
    about = {kit.repository: kit for kit in hub.kits}
    return replace(Listed(tuple(sorted(about)), hub.note, complete=False), about=about)


def shelved(source: str, known: Mapping[str, KitCard], found: Listed) -> tuple[dict[str, KitCard], int]:
    """The cards of a list: new names as LOADING cards, known ones as they are; and how many names are none. An
    incomplete list takes nothing away."""
    cards = {} if found.complete else dict(known)
    strange = 0
    for name in found.names:
        card, about = known.get(name), found.about.get(name)
        if about is not None:
            fresh = view.hub_card(source, about)
            cards[name] = view.vouched(card, fresh) if card and card.kind is not CardKind.LOADING else fresh
            continue
        try:
            cards[name] = card or view.loading_card(source, parse(name))
        except RegistryError:
            strange += 1
    return cards, strange
