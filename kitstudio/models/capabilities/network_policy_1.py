"""``network-policy@1``: outbound access by host name, phased."""

from __future__ import annotations

from collections.abc import Iterable

from kitstudio.models.capabilities import network
from kitstudio.models.capabilities.contract import CapabilityType, Config, Fact, Grant, Slot
from kitstudio.models.capabilities.network import Entry, Policy, Rules
from kitstudio.models.capabilities.shape import Reader
from kitstudio.models.weights import Group, Weight


class NetworkPolicy1(CapabilityType[Policy]):
    name = "com.docker.sandbox/network-policy@1"
    title = "network policy"
    family = Group.NETWORK
    heaviest = Weight.CRITICAL
    singleton = True
    slot = Slot.NETWORK

    def read(self, fields: Reader) -> Policy:
        return Policy(_rules(fields.object("install")), _rules(fields.object("runtime")))

    def project(self, config: Policy) -> Iterable[Fact]:
        return network.project(config)

    def describe(self, config: Policy) -> Iterable[Grant]:
        return network.describe(config)

    def encode(self, config: Policy) -> Config:
        return network.encode(config)


def _rules(fields: Reader | None) -> Rules:
    if fields is None:
        return Rules()
    rules = Rules(
        tuple(Entry((host,)) for host in fields.texts("allow") or ()),
        tuple(Entry((host,)) for host in fields.texts("deny") or ()),
    )
    fields.close()
    return rules


TYPE = NetworkPolicy1()
