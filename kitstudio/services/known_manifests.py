"""What the manifests seen so far say to a set: which Kits would fit it, and which could be proposed."""

from __future__ import annotations

from collections.abc import Mapping

from kitstudio.models.fits import Relations
from kitstudio.models.plan import Offer, Plan
from kitstudio.registry.threads import in_thread
from kitstudio.services.card_reading import fitting
from kitstudio.services.catalog_values import KitCard


class KnownManifests:
    """Manifests of any source, seen in this run or kept from another."""

    def __init__(self) -> None:
        self._relations: dict[str, tuple[str, Relations]] = {}
        self._offers: dict[str, Offer] = {}

    def take(self, card: KitCard, about: Relations | None) -> None:
        """Take over what a card's manifest states; None where it states nothing that is understood."""
        if about is not None:
            self._relations[card.repository] = (card.reference, about)
            self._offers[card.reference] = Offer(card.reference, card.version, about.provides, card.kind.value)

    def offers(self) -> tuple[Offer, ...]:
        """What a proposal can draw on: each Kit at every version that was seen."""
        return tuple(self._offers.values())

    async def fitting(self, plan: Plan) -> Mapping[str, str]:
        """Repository → empty where its Kit, as seen last, fits the set, else one sentence why not."""
        return await in_thread(fitting, plan, tuple(self._relations.items()))
