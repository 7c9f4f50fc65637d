"""What a capability type answers about its config (§7): the contract every type module fulfils.

A type is one ``CapabilityType`` value in one module. Validation, projection (§7.4), merge (§9.5) and the reviewer's
rows all ask it; nothing else in ``models`` knows a config's fields. Paths in answers are absolute dotted paths.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Generic, TypeAlias, TypeVar

from kitstudio.models.capabilities.shape import Reader, ShapeError, is_encodable
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Phase, Weight

Config: TypeAlias = "dict[str, JsonValue] | None"
"""A capability's ``config`` as decoded: None when absent or null."""

FieldKeywords: TypeAlias = "Mapping[str, Mapping[str, JsonValue]]"
"""Keywords of JSON Schema by path below a config; ``[]`` for the items of a list."""

C = TypeVar("C")
"""The typed form of one type's config."""

Fact: TypeAlias = tuple[str, str]
"""One string of the permission surface: (field of ``Surface``, entry)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something an entry claims within its declaration block.

    ``at``: path below the entry for a second claim. ``rivals``: keys of another type that exclude this one.
    """

    key: str
    at: str
    what: str
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """One row a reviewer reads: one part of a config, what it grants, and the surface strings it stands for.

    ``at``: path below the entry. ``tick``: what a person must accept by itself (critical rows only).
    ``chip``: words that count such rows on a card, singular and plural; empty when a row is not counted.
    """

    group: Group
    facts: tuple[Fact, ...]
    entry: str
    sentence: str
    weight: Weight
    phase: Phase = Phase.ALWAYS
    denies: bool = False
    at: str = ""
    tick: str = ""


class Slot(IntEnum):
    """Where entries of a type stand in a merged descriptor (§9.5)."""

    NETWORK = 0
    KEYED = 1
    RESOURCES = 2
    SESSIONS = 3
    INTERACTIVE_SESSIONS = 4
    LIFECYCLE = 5
    CONTEXT = 6


class MergeConflict(Exception):
    """Two contributions ask for what cannot be one thing; the text says what."""


class CapabilityType(ABC, Generic[C]):
    """One well-known type. The class attributes are its arity (§7.1) and its place on the surface (§7.4)."""

    name: ClassVar[str]
    """The full type, ``com.docker.sandbox/port@1``."""
    title: ClassVar[str]
    """A word or two for a person, ``port``."""
    singleton: ClassVar[bool] = False
    configless: ClassVar[bool] = False
    workload_only: ClassVar[bool] = False
    silent: ClassVar[bool] = False
    """Contributes nothing to the surface, decodable or not."""
    family: ClassVar[Group] = Group.SERVICES
    """Where a request is shown while an input still decides what it is."""
    heaviest: ClassVar[Weight] = Weight.NOTICE
    """What such a request may turn out to be."""
    slot: ClassVar[Slot] = Slot.KEYED
    rewritten: ClassVar[bool] = False
    """A merge writes its entries anew from their typed form; of other types the first config is kept as it stands."""
    one_author: ClassVar[bool] = False
    """At most one contribution states it; an identical restatement is the same ask (§9.5)."""

    keywords: ClassVar[FieldKeywords] = {}
    """What ``values`` asks of single fields, as far as a schema can say it."""

    @abstractmethod
    def read(self, fields: Reader) -> C:
        """Take every field; raise ``ShapeError`` for a wrong shape. ``decode`` closes the reader."""

    def values(self, config: C, at: str) -> Iterable[Issue]:
        """Rules about the values of a config that has the right shape. ``at`` is the path of the config."""
        return ()

    def decode(self, config: Config) -> C:
        """The typed form of a config. Raises ``ShapeError``."""
        if config is not None and not is_encodable(config):
            raise ShapeError("config holds a value or a key that JSON cannot spell")
        fields = Reader(config)
        typed = self.read(fields)
        fields.close()
        return typed

    def presence(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        """What holds even while a config has references; ``check`` is for configs without any."""
        return ()

    def check(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        """Everything about a config without references: its shape, then its values. ``where``: the entry."""
        try:
            typed = self.decode(config)
        except ShapeError as error:
            return (Issue(f"{where}.config", str(error)),)
        return tuple(self.values(typed, f"{where}.config"))

    def check_published(self, config: Config, where: str) -> tuple[Issue, ...]:
        """What the published form asks beyond the authored one (§9.1)."""
        return ()

    def literal_claims(self, config: Config) -> tuple[Claim, ...]:
        """What the literal parts of a raw config claim: compared at once, references left out."""
        return ()

    def claims(self, config: Config) -> tuple[Claim, ...]:
        """What a config without references claims: compared after its own rules."""
        return ()

    def project(self, config: C) -> Iterable[Fact]:
        """The surface strings of a config (§7.4). Exactly the facts of ``describe``, without the words."""
        return ()

    def describe(self, config: C) -> Iterable[Grant]:
        """The reviewer's rows of a config."""
        return ()

    def split(self, config: C) -> tuple[C, ...]:
        """The config as the entries it becomes in a merge, one a key. Only asked of types that are ``rewritten``."""
        return (config,)

    def merge_key(self, config: C) -> str | None:
        """What makes two requests one in a merge (§7.1); None: type plus whole config."""
        return None

    def merge(self, first: C, second: C) -> C:
        """One request out of two under one key. Raises ``MergeConflict``."""
        return first

    def encode(self, config: C) -> Config:
        """The config as a merge writes it. Only asked of types that are ``rewritten``."""
        raise NotImplementedError(self.name)


def claim(seen: MutableMapping[str, str], claims: Iterable[Claim], where: str) -> tuple[Issue, ...]:
    """Enter an entry's claims into a block's ``seen``; one issue for each that an earlier entry holds."""
    found: list[Issue] = []
    for item in claims:
        holders = [seen.setdefault(item.key, where), *(seen[rival] for rival in item.rivals if rival in seen)]
        found.extend(
            Issue(where + item.at, f"{item.what} is already asked for by {earlier}")
            for earlier in holders
            if earlier != where
        )
    return tuple(found)
