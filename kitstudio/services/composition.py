"""The values of the composer, and reading what is a set and what is not. The document is the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kitstudio.models import set_file, words
from kitstudio.models.args import check_value, looks_secret, resolve_args
from kitstudio.models.descriptor import Descriptor, Kind
from kitstudio.models.document import Document
from kitstudio.models.errors import DescriptorError
from kitstudio.models.expansion import expand_build
from kitstudio.models.plan import Input, Member, Plan, Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.registry.reference import LOCAL, Reference

EMPTY_SET = set_file.render(Descriptor("3", kind=Kind.SET))
"""A new set, as it is written before anything is in it."""


@dataclass(frozen=True, slots=True)
class SetState:
    """What a person edits: the document's text, and what is never written into it.

    ``secrets``: (kit reference, arg) → value, kept out of text, logs and history. ``choices``: ``KIT#PATH`` of
    optional items → in or out. ``set_args``: values for the set's own args on this machine.
    ``environment``: runtime overrides (§6.1).
    """

    text: str
    secrets: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    choices: Mapping[str, bool] = field(default_factory=dict)
    set_args: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Composition:
    """The set as shown. ``name``: file stem or ``untitled``. ``descriptor``: the parsed set, None while the text
    does not decode (``text_error`` says why and where)."""

    state: SetState
    name: str = "untitled"
    path: Path | None = None
    dirty: bool = False
    descriptor: Descriptor | None = None
    text_error: str = ""
    plan: Plan = field(default_factory=Plan, repr=False)


class Ground(Protocol):
    """What the composer stands on: where Kits come from and how a set is judged."""

    def exact(self, text: str) -> Reference | None:
        """The reference a spelling means, None where the source must be asked (folder, layout, no version)."""

    async def adopt(self, text: str) -> tuple[Reference, str]:
        """Ask: import what is local, find the newest version; the reference to write, and its digest if pinned."""

    async def member(self, reference: str, digest: str) -> Member:
        """Fetch one Kit; failures are in the member."""

    async def clashes(self, members: Sequence[Member]) -> tuple[Problem, ...]:
        """Files that two of these Kits ship, from layers that are here already."""

    def judge(self, descriptor: Descriptor, members: tuple[Member, ...], state: SetState) -> Plan:
        """Everything that follows from the set and what is known of its members."""


@dataclass(frozen=True, slots=True, repr=False)
class JudgedPlan(Plan):
    """A plan with what it was judged from, so that it can be judged again with other choices, and be recorded."""

    state: SetState | None = None
    document: Descriptor | None = None

    def __repr__(self) -> str:
        """Expanded values may be secrets: nothing of them is shown."""
        return f"JudgedPlan({len(self.members)} members, {len(self.problems)} problems)"


def expanded_set(document: Document, state: SetState) -> Descriptor:
    """The set with its own build-phase args answered (real sets take their registry from one)."""
    declared = {name: arg for name, arg in document.descriptor.args.items() if arg.is_build}
    if not declared:
        return document.descriptor
    given = {name: value for name, value in state.set_args.items() if name in declared}
    return expand_build(document, resolve_args(declared, given))


def build_inputs(document: Document, state: SetState) -> tuple[Input, ...]:
    """The set's own build-phase args: answered before its Kits can be looked up.

    What is published holds their values, so none may be a secret.
    """
    found = []
    for name, arg in sorted(document.descriptor.args.items()):
        if not arg.is_build:
            continue
        value = state.set_args.get(name)
        error = ""
        if looks_secret(name, arg.description):
            error = "A secret cannot be answered when a set is built: what is published would hold it."
        elif value is None and arg.default is None and arg.required:
            error = "A value is needed."
        elif value is not None:
            try:
                check_value(name, arg, value)
            except DescriptorError as fault:
                error = f"{fault.what} {fault.remedy}".strip()
        found.append(Input("", name, arg, value, error))
    return tuple(found)


def build_problems(inputs: Iterable[Input]) -> tuple[Problem, ...]:
    """What is wrong with build-phase args."""
    return tuple(
        Problem(
            ProblemKind.ARG,
            (),
            each.name,
            f"The set needs a value for {words.quoted(each.name)} before its Kits can be looked up."
            if each.value is None
            else f"The set does not accept the value of {words.quoted(each.name)}.",
            each.error if each.value is not None else words.claim(each.arg.description),
            (Remedy(RemedyKind.SET_ARG, f"Fill in {each.name}", arg=each.name),),
        )
        for each in inputs
        if each.error
    )


def is_set(descriptor: Descriptor) -> bool:
    """Whether a descriptor's content is the Kits it lists (§3.4)."""
    return descriptor.kind == "set" or descriptor.kits_stated


def is_local(reference: str) -> bool:
    """Whether a reference means something on this machine only."""
    return reference.startswith(f"{LOCAL}/")
