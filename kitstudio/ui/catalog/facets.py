"""What the catalog can be narrowed down by: which facets a card fits, and how they are grouped and called. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from kitstudio.models.review import Group
from kitstudio.services.catalog import CardKind, KitCard
from kitstudio.ui.widgets.text import group_word, tr, visible

WORKS = "works-set"
VERIFIED = "verified"
_SOURCE = "source:"
_USABLE = (CardKind.WORKLOAD, CardKind.MIXIN)
_GROUPS = (
    Group.NETWORK,
    Group.CREDENTIALS,
    Group.SSH_AGENT,
    Group.STORAGE,
    Group.HOST_FILES,
    Group.SKILLS,
    Group.PORTS,
    Group.USB,
    Group.PRIVILEGED,
)


@dataclass(frozen=True, slots=True)
class Section:
    """A group of facets. Facets of one section widen each other; sections narrow each other.

    ``fixed``: key and label of those that always stand there; ``prefix``: what the keys of those that come from the
    cards begin with, empty where none do; ``folded``: shown folded until asked for.
    """

    key: str
    title: str
    fixed: tuple[tuple[str, str], ...] = ()
    prefix: str = ""
    folded: bool = False

    def holds(self, key: str) -> bool:
        return any(key == known for known, _ in self.fixed) or bool(self.prefix and key.startswith(self.prefix))

    def label(self, key: str) -> str:
        """What a facet is called."""
        known = dict(self.fixed).get(key)
        if known is not None:
            return known
        value = visible(key.removeprefix(self.prefix))
        return value.rpartition("/")[2] if self.prefix == "type:" else value


@cache
def sections() -> tuple[Section, ...]:
    """Every section, in the order shown."""
    kinds = (
        (f"kind-{CardKind.MIXIN}", tr("Mixin")),
        (f"kind-{CardKind.WORKLOAD}", tr("Workload")),
        (f"kind-{CardKind.V2}", tr("v2 artifact")),
        (f"kind-{CardKind.IMAGE}", tr("Plain image")),
        (f"kind-{CardKind.ERROR}", tr("Not readable")),
    )
    groups = tuple((f"asks-{group.name.lower()}", group_word(group)) for group in _GROUPS)
    return (
        Section("kind", tr("Kind"), kinds),
        Section("verified", tr("Publisher"), ((VERIFIED, tr("Verified only")),)),
        Section("asks", tr("Asks for"), (*groups, ("asks-nothing", tr("Nothing")))),
        Section("works", tr("Works with"), ((WORKS, tr("The current set")),)),
        Section("publisher", tr("Published by"), prefix="publisher:", folded=True),
        Section("type", tr("Capability type"), prefix="type:", folded=True),
        Section("licence", tr("Licence"), prefix="licence:", folded=True),
        Section("platform", tr("Platform"), prefix="platform:", folded=True),
    )


def source_key(source: str) -> str:
    """The facet of all cards of a source."""
    return f"{_SOURCE}{source}"


def facet_keys(card: KitCard) -> frozenset[str]:
    """Every facet a card fits, the set it would join aside."""
    keys = {source_key(card.source), f"kind-{card.kind}"}
    if card.publisher:
        keys.add(f"publisher:{card.publisher}")
    if card.verified:
        keys.add(VERIFIED)
    keys.update(f"asks-{chip.group.name.lower()}" for chip in card.chips)
    if card.kind in _USABLE and not card.chips and not card.newer_types:
        keys.add("asks-nothing")
    keys.update(f"type:{name}" for name in card.capability_types)
    keys.update(f"licence:{name}" for name in card.licenses)
    keys.update(f"platform:{name}" for name in card.platforms)
    return frozenset(keys)


def by_section(chosen: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Chosen facets, those of one section together."""
    keys = tuple(chosen)
    grouped = (tuple(key for key in keys if section.holds(key)) for section in sections())
    return tuple(group for group in grouped if group)


def dynamic(section: Section, counts: Mapping[str, int], chosen: Iterable[str]) -> tuple[str, ...]:
    """The keys of a section that come from the cards: most frequent first, what is chosen always among them."""
    found = {key: count for key, count in counts.items() if count and key.startswith(section.prefix)}
    for key in chosen:
        if key.startswith(section.prefix):
            found.setdefault(key, 0)
    return tuple(sorted(found, key=lambda key: (-found[key], key.casefold())))
