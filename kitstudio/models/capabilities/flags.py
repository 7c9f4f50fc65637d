"""What the types without a config share: the request is its presence."""

from __future__ import annotations

from collections.abc import Iterable

from kitstudio.models.capabilities.contract import CapabilityType, Config, Fact, Grant
from kitstudio.models.capabilities.shape import Reader
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Weight


class Flag(CapabilityType[None]):
    """A config-less singleton. Subclasses state their words; a silent one grants nothing."""

    singleton = True
    configless = True
    group: Group = Group.SERVICES
    entry: str = ""
    sentence: str = ""
    weight: Weight = Weight.NOTICE
    tick: str = ""

    def read(self, fields: Reader) -> None:
        return None

    def check(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        return ()

    def project(self, config: None) -> Iterable[Fact]:
        return () if self.silent else (("services", self.name),)

    def describe(self, config: None) -> Iterable[Grant]:
        if self.silent:
            return ()
        entry = self.entry or self.name.partition("/")[2]
        return (Grant(self.group, tuple(self.project(None)), entry, self.sentence, self.weight, tick=self.tick),)

    def merge_key(self, config: None) -> str:
        return ""
