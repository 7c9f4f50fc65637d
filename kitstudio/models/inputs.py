"""Create-phase inputs of a set (§6): where each value comes from, whether it is good, what is in the way.

A value of a listed Kit that is one reference is answered by the set's own arg of that name (§9.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kitstudio.models import words
from kitstudio.models.args import check_re_export, check_value, looks_secret
from kitstudio.models.descriptor import Arg
from kitstudio.models.errors import DescriptorError
from kitstudio.models.problems import Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.models.references import ARG_OPENER, references, whole_reference

OWN = ""
"""The Kit of an input that is the set's own."""


@dataclass(frozen=True, slots=True)
class Input:
    """One create-phase input of the set: where its value comes from and whether it is good.

    ``value``: as stated for this Kit, None when nothing is (a default then stands in ``arg``).
    """

    kit: str
    name: str
    arg: Arg
    value: str | None = field(repr=False)
    error: str = ""
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """The args of one Kit of a set, and what is stated for them. ``hidden``: those a person marked as secret."""

    kit: str
    args: Mapping[str, Arg]
    stated: Mapping[str, str] = field(repr=False)
    hidden: frozenset[str] = frozenset()

    def is_secret(self, name: str) -> bool:
        """True when the value of an arg is never shown or stored."""
        arg = self.args.get(name)
        return name in self.hidden or (arg is not None and looks_secret(name, arg.description))


@dataclass(frozen=True, slots=True)
class Settled:
    """All inputs. ``values``: per Kit without a fault, the value of every arg that has one (the set's own under "")."""

    inputs: tuple[Input, ...]
    values: Mapping[str, Mapping[str, str]] = field(repr=False)
    problems: tuple[Problem, ...]


def settle(own: Declared, kits: Sequence[Declared]) -> Settled:
    """Resolve every input of a set."""
    inputs: list[Input] = []
    values: dict[str, dict[str, str]] = {}
    problems: list[Problem] = []
    for declared in (own, *kits):
        made = _Kit(declared, own, values.get(OWN))
        inputs += made.inputs
        problems += made.problems
        if not made.problems and not made.waits:
            values[declared.kit] = made.values
    return Settled(tuple(inputs), values, tuple(problems))


class _Kit:
    """One Kit's inputs being settled."""

    def __init__(self, declared: Declared, own: Declared, own_values: Mapping[str, str] | None) -> None:
        self.kit, self.declared = declared.kit, declared
        self.name = words.kit_name(declared.kit) if declared.kit else "The set"
        self.own, self.own_values = own, own_values
        self.inputs: list[Input] = []
        self.values: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.missing: set[str] = set()
        self.waits = False
        for name in declared.stated:
            arg = declared.args.get(name)
            if arg is None:
                self._problem(name, f"{self.name} has no input {words.quoted(name)}.", None)
            elif arg.is_build:
                self._problem(name, f"{words.quoted(name)} was answered when {self.name} was published.", None)
        for name in sorted(name for name, arg in declared.args.items() if not arg.is_build):
            self._settle(name, declared.args[name], declared.stated.get(name))

    def _settle(self, name: str, arg: Arg, stated: str | None) -> None:
        error = ""
        try:
            value = self._value(name, arg, stated)
            if value is not None:
                self.values[name] = value
            elif arg.required and not self.waits:
                error = "A value is needed."
                self.missing.add(name)
        except DescriptorError as fault:
            error = " ".join(part for part in (fault.what, fault.remedy) if part)
        target = whole_reference(stated or "") if self.kit else ""
        secret = self.declared.is_secret(name) or (bool(target) and self.own.is_secret(target))
        self.inputs.append(Input(self.kit, name, arg, stated, error, secret))
        if error and name in self.missing:
            self._problem(
                name, f"{self.name} needs a value for {words.quoted(name)}.", arg, words.claim(arg.description)
            )
        elif error:
            self._problem(name, f"{self.name} does not accept the value of {words.quoted(name)}.", arg, error)

    def _value(self, name: str, arg: Arg, stated: str | None) -> str | None:
        """The value as used. Raises ``DescriptorError`` for one that is not accepted; values are never repeated."""
        value = stated if stated is not None else arg.default
        if value is None:
            return None
        target = whole_reference(value) if self.kit and stated is not None else ""
        if target:
            check_re_export(name, arg, self.own.args, target)
            if self.own_values is None:
                # The set's own input is at fault and says so itself.
                self.waits = True
                return None
            value = self.own_values.get(target)
            if value is None:
                return None
        elif stated is not None and "${{" in value and (references(value) or ARG_OPENER.search(value)):
            raise DescriptorError(
                f"The value of {name!r} mixes a reference with other text.",
                remedy="State a literal value, or nothing but one reference.",
            )
        check_value(name, arg, value)
        return value

    def _problem(self, name: str, message: str, arg: Arg | None, detail: str = "") -> None:
        remedies: tuple[Remedy, ...] = (Remedy(RemedyKind.SET_ARG, f"Clear {name}", kit=self.kit, arg=name),)
        if arg is not None:
            remedies = tuple(
                Remedy(RemedyKind.SET_ARG, f"Use {choice or 'the empty value'}", kit=self.kit, arg=name, other=choice)
                for choice in arg.enum[:3]
                if choice
            )
            remedies = remedies or (Remedy(RemedyKind.SET_ARG, f"Fill in {name}", kit=self.kit, arg=name),)
        kits = (self.kit,) if self.kit else ()
        self.problems.append(Problem(ProblemKind.ARG, kits, name, message, detail, remedies))
