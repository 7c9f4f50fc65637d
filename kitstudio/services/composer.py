"""The composition: one ``kind: set`` document, its members as they arrive, and the plan that follows from both.

Every change yields a new immutable ``Composition`` and publishes it. Undo is going back to an earlier
``SetState``: ``apply(state)`` accepts any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.plan import Plan, Remedy
from kitstudio.services.topic import Topic


@dataclass(frozen=True, slots=True)
class SetState:
    """What a person edits: the document's text, and what is never written into it.

    ``secrets``: (kit reference, arg) → value, kept out of text, logs and history. ``choices``: ``KIT#PATH`` of
    optional items → in or out. ``set_args``: values for the set's own args on this machine.
    """

    text: str
    secrets: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    choices: Mapping[str, bool] = field(default_factory=dict)
    set_args: Mapping[str, str] = field(default_factory=dict)


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
    plan: Plan = field(default_factory=Plan)


class Composer:
    """State of the composer. Mutators return the new composition and publish it; fetches continue behind it."""

    def __init__(self) -> None:
        self.changed: Topic[Composition] = Topic()

    @property
    def value(self) -> Composition:
        raise NotImplementedError

    def new(self) -> Composition:
        raise NotImplementedError

    async def open(self, path: Path) -> Composition:
        """Read a set file; raises ``DescriptorError`` with file:line:column where it is not one."""
        raise NotImplementedError

    async def save(self, path: Path | None = None) -> Composition:
        """Write atomically; comments and order of an opened file survive."""
        raise NotImplementedError

    async def export(self, path: Path, *, pin: bool = False, display_name: str = "", version: str = "") -> Path:
        """Write a ``kind: set`` file, re-read it and compare members; refuses ``local.invalid`` members by name."""
        raise NotImplementedError

    def apply(self, state: SetState) -> Composition:
        """Take over an earlier or edited state (undo, redo, text edit)."""
        raise NotImplementedError

    def add(self, reference: str) -> Composition:
        """Add a Kit (any spelling of ``cli.md``); adding one already there changes nothing."""
        raise NotImplementedError

    def remove(self, reference: str) -> Composition:
        raise NotImplementedError

    def replace(self, old: str, new: str) -> Composition:
        """Put ``new`` in ``old``'s place, keeping arg values the new version still declares."""
        raise NotImplementedError

    def set_arg(self, kit: str, name: str, value: str | None) -> Composition:
        """Set or clear one input. Secret-looking values go to ``SetState.secrets``."""
        raise NotImplementedError

    def choose(self, kit: str, path: str, selected: bool) -> Composition:
        """Switch an optional request or group."""
        raise NotImplementedError

    def remedy(self, remedy: Remedy) -> Composition:
        """Apply a problem's remedy as one step."""
        raise NotImplementedError

    async def settled(self) -> Composition:
        """Wait until no member is loading."""
        raise NotImplementedError
