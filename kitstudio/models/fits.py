"""Whether one more Kit would fit a set: the rules of §5.3 that a newcomer can break, asked of many candidates at once.

The set is indexed once; a candidate costs as much as it states. A hint for browsing: the composer judges the set whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kitstudio.models import words
from kitstudio.models.capabilities import credential
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.descriptor import Descriptor, Kind
from kitstudio.models.errors import DescriptorError
from kitstudio.models.relations import Provide, parse_conflict, satisfies
from kitstudio.models.resolve import Unit, effective_provides, ordinary, parsed_require, shown


@dataclass(frozen=True, slots=True)
class Relations:
    """What of a descriptor decides whether it fits: small enough to keep thousands. ``credentials``: service and
    phase of each sign-in the Kit owns."""

    kind: str = ""
    version: str = ""
    provides: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    integrates: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    credentials: tuple[tuple[str, str], ...] = ()


def relations_of(descriptor: Descriptor) -> Relations:
    """The relations a descriptor states."""
    return Relations(
        descriptor.kind,
        descriptor.version,
        descriptor.provides,
        descriptor.requires,
        descriptor.integrates,
        descriptor.conflicts,
        tuple(_credentials(descriptor)),
    )


class Fits:
    """A set, ready to be asked about candidates."""

    def __init__(self, units: Sequence[Unit]) -> None:
        known = [unit for unit in units if unit.descriptor is not None]
        names = words.kit_names([unit.reference for unit in known])
        self._workload = ""
        self._offered: dict[str, list[tuple[str, Provide]]] = {}
        self._refused: dict[str, str] = {}
        self._works_with: dict[str, list[tuple[str, str]]] = {}
        self._signs_in: dict[tuple[str, str], str] = {}
        for unit in known:
            assert unit.descriptor is not None
            name = names[unit.reference]
            if unit.descriptor.kind == Kind.WORKLOAD:
                self._workload = self._workload or name
            for _, provide in effective_provides(unit):
                if isinstance(provide, Provide):
                    self._offered.setdefault(provide.name, []).append((name, provide))
            for text in unit.descriptor.conflicts:
                if refused := _conflict(text):
                    self._refused.setdefault(refused, name)
            for text in unit.descriptor.integrates:
                if wanted := _required_name(text):
                    self._works_with.setdefault(wanted, []).append((name, text))
            for pair in _credentials(unit.descriptor):
                self._signs_in.setdefault(pair, name)

    def why_not(self, reference: str, candidate: Relations) -> str:
        """One sentence on what a candidate would break; empty where it fits."""
        if candidate.kind == Kind.WORKLOAD and self._workload:
            return f"The set has a workload already: {self._workload}."
        offered = self._offers(reference, candidate)
        for provide in offered:
            if holders := self._offered.get(provide.name):
                return f"{holders[0][0]} offers {words.quoted(shown(provide.name))} already; a set can have one."
            if provide.name in self._refused:
                return f"{self._refused[provide.name]} cannot be in a set with {words.quoted(shown(provide.name))}."
            for name, text in self._works_with.get(provide.name, ()):
                if not satisfies(provide, parsed_require(text)):
                    return f"{name} works with {words.quoted(text)} only."
        for text in candidate.conflicts:
            if holders := self._offered.get(_conflict(text)):
                return f"It cannot be in a set with {words.quoted(text)}, which {holders[0][0]} offers."
        for pair in candidate.credentials:
            if pair in self._signs_in:
                return f"{self._signs_in[pair]} signs in to {words.exact(pair[0])} already; one Kit owns it."
        return self._unmet(candidate)

    def _unmet(self, candidate: Relations) -> str:
        for texts, needed in ((candidate.requires, True), (candidate.integrates, False)):
            for text in texts:
                try:
                    require = parsed_require(text)
                except DescriptorError:
                    return f"It states {words.quoted(text)}, which is not well formed."
                holders = self._offered.get(require.name, [])
                if any(satisfies(provide, require) for _, provide in holders):
                    continue
                if holders:
                    verb = "needs" if needed else "works with"
                    return f"It {verb} {words.quoted(text)}, and the set has another version."
                if needed:
                    return f"It needs {words.quoted(text)}, and nothing in the set offers it."
        return ""

    @staticmethod
    def _offers(reference: str, candidate: Relations) -> list[Provide]:
        descriptor = Descriptor("3", kind=candidate.kind, version=candidate.version, provides=candidate.provides)
        found = effective_provides(Unit(reference, descriptor))
        return [provide for _, provide in found if isinstance(provide, Provide)]


def _credentials(descriptor: Descriptor) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in ordinary(descriptor):
        if entry.type != credential.TYPE.name:
            continue
        try:
            typed = credential.TYPE.decode(entry.config)
        except ShapeError:
            continue
        found += [(typed.service, str(phase)) for phase in typed.phases]
    return list(dict.fromkeys(found))


def _conflict(text: str) -> str:
    try:
        return parse_conflict(text)
    except DescriptorError:
        return ""


def _required_name(text: str) -> str:
    try:
        return parsed_require(text).name
    except DescriptorError:
        return ""
