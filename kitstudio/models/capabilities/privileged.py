"""``privileged@1``: the whole sandbox in its platform's elevated mode."""

from __future__ import annotations

from collections.abc import Iterable

from kitstudio.models.capabilities.contract import Config, Fact
from kitstudio.models.capabilities.flags import Flag
from kitstudio.models.weights import Group, Weight


class Privileged(Flag):
    name = "com.docker.sandbox/privileged@1"
    title = "privileged"
    group = Group.PRIVILEGED
    entry = "privileged"
    sentence = "Runs the whole sandbox, every Kit in it, with elevated privileges."
    weight = Weight.CRITICAL
    tick = "I accept that everything in this sandbox runs with elevated privileges"

    def decode(self, config: Config) -> None:
        """Asking is all there is: a malformed request asks as well."""
        return None

    def project(self, config: None) -> Iterable[Fact]:
        return (("privileged", ""),)


TYPE = Privileged()
