"""Kit-to-Kit relations (§5): names, provides, requires and what satisfies what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kitstudio.models.errors import DescriptorError
from kitstudio.models.quote import quote
from kitstudio.models.versions import compare, is_version, strip_zeros, trim

DEFAULT_NAMESPACE: Final = "com.docker.kit"
DERIVED_NAMESPACES: Final = ("deb", "apk")
"""Single-label namespaces: facts read out of a filesystem, never an author's claim (§9.6)."""

_BARE = re.compile(r"[a-z0-9](?:[a-z0-9+.-]{0,62}[a-z0-9+])?")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_OPERATOR_START = re.compile(r"[><=]")
_CONSTRAINT = re.compile(r"\s*(>=|<=|>|<|=)\s*([^\s<>=]+)\s*", re.ASCII)
_NAME_RULE = (
    "A name is lower case letters, digits, '.', '+' and '-', up to 64; a namespace is a domain such as com.example."
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One bound of a requirement."""

    operator: str
    version: str

    def holds(self, version: str) -> bool:
        order = compare(version, self.version)
        return {
            ">=": order >= 0,
            "<=": order <= 0,
            ">": order > 0,
            "<": order < 0,
            "=": order == 0,
        }[self.operator]

    def __str__(self) -> str:
        return self.operator + self.version


@dataclass(frozen=True, slots=True)
class Provide:
    """One ``provides`` entry. ``name`` is normalised; ``version`` is empty when the entry states none."""

    name: str
    version: str = ""

    def canonical(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name

    @property
    def derived(self) -> bool:
        """True for what publishing read out of a package database (§9.6)."""
        return self.name.partition("/")[0] in DERIVED_NAMESPACES


@dataclass(frozen=True, slots=True)
class Require:
    """One ``requires`` or ``integrates`` entry; all constraints must hold."""

    name: str
    constraints: tuple[Constraint, ...] = ()

    def canonical(self) -> str:
        """Name, a blank, then the reduced constraints."""
        return f"{self.name} {','.join(sorted(str(c) for c in _reduced(self.constraints)))}"


def is_name(text: str) -> bool:
    """True for a bare or namespace-qualified capability name."""
    namespace, slash, bare = text.partition("/")
    if not slash:
        return _BARE.fullmatch(text) is not None
    return _is_namespace(namespace) and _BARE.fullmatch(bare) is not None


def normalise(name: str) -> str:
    """``gh`` → ``com.docker.kit/gh``; a qualified name as it is."""
    return name if "/" in name else f"{DEFAULT_NAMESPACE}/{name}"


def parse_provide(text: str) -> Provide:
    """``name`` or ``name@version``. Raises DescriptorError."""
    name, at, version = trim(text).partition("@")
    _require_name(name, text)
    version = trim(version)
    if at and not is_version(version):
        raise DescriptorError(
            f"{quote(text)} does not state a version after '@'.",
            remedy="A version is digits and dots such as 2.98.0, without a leading v.",
        )
    return Provide(normalise(name), version)


def parse_require(text: str) -> Require:
    """``name`` or ``name >= 1.0, < 2``. Raises DescriptorError, also when no version could satisfy it."""
    stripped = trim(text)
    start = _OPERATOR_START.search(stripped)
    name = trim(stripped[: start.start()] if start else stripped)
    _require_name(name, text)
    if start is None:
        return Require(normalise(name))
    constraints = tuple(_parse_constraint(part, text) for part in stripped[start.start() :].split(","))
    if not _satisfiable(constraints):
        raise DescriptorError(f"{quote(text)} can never be satisfied: its constraints exclude each other.")
    return Require(normalise(name), constraints)


def parse_conflict(text: str) -> str:
    """The normalised name of a ``conflicts`` entry. Raises DescriptorError."""
    if not is_name(text):
        raise DescriptorError(
            f"{quote(text)} is not a capability name.", remedy="Conflicts take a name without a version."
        )
    return normalise(text)


def satisfies(provide: Provide, require: Require) -> bool:
    """True when the names match and the provided version holds every constraint."""
    if provide.name != require.name:
        return False
    if not require.constraints:
        return True
    return bool(provide.version) and all(c.holds(provide.version) for c in require.constraints)


def _is_namespace(text: str) -> bool:
    if text in DERIVED_NAMESPACES:
        return True
    labels = text.split(".")
    return len(text) <= 253 and len(labels) > 1 and all(_LABEL.fullmatch(label) for label in labels)


def _require_name(name: str, text: str) -> None:
    if not is_name(name):
        raise DescriptorError(f"{quote(text)} does not begin with a capability name.", remedy=_NAME_RULE)


def _parse_constraint(part: str, text: str) -> Constraint:
    match = _CONSTRAINT.fullmatch(part)
    if match is None or not is_version(match[2]):
        raise DescriptorError(
            f"{quote(text)} has a constraint that does not read.",
            remedy="Write constraints as `>= 1.0, < 2`: one of >=, >, <=, <, = and a version, joined by commas.",
        )
    return Constraint(match[1], match[2])


def _satisfiable(constraints: tuple[Constraint, ...]) -> bool:
    pins = [c.version for c in constraints if c.operator == "="]
    if pins:
        return all(c.holds(pin) for pin in pins for c in constraints)
    lower, _, upper = _bounds(constraints)
    if upper is None:
        return True
    order = compare(lower, upper.version)
    return order < 0 or (order == 0 and upper.operator == "<=")


def _bounds(constraints: tuple[Constraint, ...]) -> tuple[str, bool, Constraint | None]:
    """Tightest lower bound as an inclusive version, whether one is stated, and the tightest upper bound."""
    lower, stated = "0", False
    upper: Constraint | None = None
    for constraint in constraints:
        if constraint.operator in {">", ">="}:
            bound = constraint.version + (".-" if constraint.operator == ">" else "")
            if compare(bound, lower) > 0:
                lower = bound
            stated = True
        elif constraint.operator in {"<", "<="}:
            order = -1 if upper is None else compare(constraint.version, upper.version)
            if upper is None or order < 0 or (order == 0 and constraint.operator == "<"):
                upper = constraint
    return lower, stated, upper


def _reduced(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    pins = [c for c in constraints if c.operator == "="]
    if pins:
        return (Constraint("=", strip_zeros(pins[0].version)),)
    lower, stated, upper = _bounds(constraints)
    if upper is not None and upper.operator == "<" and upper.version.endswith(".-"):
        upper = Constraint("<=", upper.version.removesuffix(".-"))
    if stated and upper is not None and upper.operator == "<=" and compare(lower, upper.version) == 0:
        return (Constraint("=", strip_zeros(lower)),)
    found = [Constraint(">=", strip_zeros(lower))] if stated else []
    if upper is not None:
        found.append(Constraint(upper.operator, strip_zeros(upper.version)))
    return tuple(found)
