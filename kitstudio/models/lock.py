"""The lock: what was approved, for one set and one installation (§7.4).

Owner module of ``Lock``, its canonical JSON, ``gate`` and ``verify_recreate``. No time and no user in it: those
are in the approval record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from kitstudio.models import surface as surfaces
from kitstudio.models.canonical import encode as encode_descriptor
from kitstudio.models.canonical import encode_value
from kitstudio.models.changes import KitSide, Side, judge
from kitstudio.models.descriptor import Descriptor, JsonValue
from kitstudio.models.errors import DescriptorError
from kitstudio.models.lock_json import LockReader
from kitstudio.models.notes import Note, filled, notes
from kitstudio.models.plan import Plan
from kitstudio.models.resolve import Resolution, Unit
from kitstudio.models.review import Review
from kitstudio.models.selection import Selection, members_of
from kitstudio.models.surface import CATEGORIES, Surface, Widening, project

FORMAT = "kitstudio lock"
VERSION = 1
ANSWERS = ("approved", "declined")


@dataclass(frozen=True, slots=True)
class LockedKit:
    """One Kit in composition order. ``args``: values as used, secrets as ``None`` (``{"secret": true}`` in JSON).

    ``notes``: what §7.4 leaves out and an update is compared by.
    """

    reference: str
    digest: str
    kind: str
    args: Mapping[str, str | None] = field(default_factory=dict)
    surface: Surface = field(default_factory=Surface)
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """One finding and what the person said: ``approved`` or ``declined`` (only optional ones can be declined)."""

    key: str
    answer: str


@dataclass(frozen=True, slots=True)
class Lock:
    """See module docstring. ``effective_digest``: SHA-256 of the canonical JSON of the effective descriptor, secret
    values left out of it.

    ``selection``: ``KIT#PATH`` of each optional item → in or out.
    """

    name: str
    kits: tuple[LockedKit, ...]
    surface: Surface
    effective_digest: str
    answers: tuple[Answer, ...] = ()
    selection: Mapping[str, bool] = field(default_factory=dict)
    set_args: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApprovedLock:
    """A lock whose SHA-256 stands in this home's approval records, with the descriptor it approves.

    Only ``services.approvals`` makes one; ``runtime`` accepts nothing else. ``effective``: the enforced
    descriptor; ``selected``: per reference, the Kit's own selected part (hooks keep their Kit this way);
    ``lines``: per reference, dotted path → 1-based line, for "which descriptor line decided". ``secrets``: values of
    secret inputs, so that whoever writes something down can leave them out. ``records``: per reference, what was
    selected and skipped, and why (§7.1.1).
    """

    lock: Lock
    sha256: str
    effective: Descriptor
    selected: Mapping[str, Descriptor]
    lines: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    records: Mapping[str, Selection] = field(default_factory=dict, repr=False)


def from_plan(name: str, plan: Plan) -> Lock:
    """The lock that approving a coherent plan would write. Raises ``DescriptorError`` if the plan is not coherent."""
    if plan.effective is None:
        raise DescriptorError("A set that is not coherent cannot be locked.", where=name, remedy="Solve its problems.")
    secret = {(item.kit, item.name) for item in plan.inputs if item.secret}
    members = {member.reference: member for member in plan.members}
    kits = []
    for reference in plan.ordered:
        member = members[reference]
        kits.append(
            LockedKit(
                reference,
                member.digest,
                member.descriptor.kind if member.descriptor is not None else "",
                _args(plan, reference, secret),
                plan.kit_surfaces.get(reference, Surface()),
                {note.key: note.text for note in _notes(plan, reference)},
            )
        )
    return Lock(
        name,
        tuple(kits),
        plan.surface,
        _effective_digest(plan, secret),
        selection={f"{choice.kit}#{choice.path}": choice.selected for choice in plan.choices},
        set_args=_args(plan, "", secret),
    )


def review(name: str, granted: Lock | None, plan: Plan) -> Review:
    """A plan against the lock in force."""
    kits = tuple(
        KitSide(
            reference,
            next((member.digest for member in plan.members if member.reference == reference), ""),
            plan.kit_surfaces.get(reference, Surface()),
            _notes(plan, reference),
        )
        for reference in plan.ordered
    )
    return judge(name, _side(granted) if granted is not None else None, Side(kits, plan.surface, plan.permissions))


def gate(granted: Lock | None, plan: Plan) -> tuple[Widening, ...]:
    """Everything a plan asks for beyond the lock, Kit by Kit and as a whole; empty: it may apply silently."""
    found = [w for finding in review("", granted, plan).findings for w in finding.widenings]
    return tuple(dict.fromkeys(found))


def verify_recreate(lock: Lock, plan: Plan) -> tuple[str, ...]:
    """Why a plan is not the set that was locked; empty when a sandbox may be created again from it."""
    return differences(lock, from_plan(lock.name, plan))


def differences(approved: Lock, candidate: Lock) -> tuple[str, ...]:
    """In words, everything two locks differ in but the answers; empty when one approval covers both."""
    found = []
    ours = [kit.reference for kit in approved.kits]
    theirs = [kit.reference for kit in candidate.kits]
    if ours != theirs:
        found.append(f"it lists {', '.join(ours) or 'no Kits'}, this set has {', '.join(theirs) or 'none'}")
    else:
        for kit, other in zip(approved.kits, candidate.kits, strict=True):
            found += _kit_differences(kit, other)
    if dict(approved.set_args) != dict(candidate.set_args):
        found.append("the set's own inputs differ")
    if dict(approved.selection) != dict(candidate.selection):
        found.append("other optional parts are switched on")
    if approved.surface != candidate.surface:
        found.append("the permissions of the whole set differ")
    if approved.effective_digest != candidate.effective_digest and not found:
        found.append("what would be enforced differs")
    return tuple(found)


def encode(lock: Lock) -> str:
    """Readable JSON, the same bytes for the same lock."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "name": lock.name,
        "kits": [_written(kit) for kit in lock.kits],
        "setArgs": _written_args(lock.set_args),
        "selection": dict(sorted(lock.selection.items())),
        "surface": surfaces.to_json(lock.surface),
        "effectiveDigest": lock.effective_digest,
        "answers": [{"key": answer.key, "answer": answer.answer} for answer in lock.answers],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def decode(text: str) -> Lock:
    """Read a lock. Raises ``DescriptorError`` for anything that is not one, unknown fields included."""
    reader = LockReader.parse(text, FORMAT, VERSION)
    kits = []
    for kit in reader.objects("kits"):
        kits.append(
            LockedKit(
                kit.text("reference"),
                kit.text("digest"),
                kit.text("kind"),
                kit.args("args"),
                kit.surface("surface"),
                kit.texts("notes"),
            )
        )
        kit.close()
    answers = []
    for answer in reader.objects("answers"):
        given = Answer(answer.text("key"), answer.text("answer"))
        if given.answer not in ANSWERS or given.key.partition(":")[0] not in CATEGORIES.values():
            raise answer.fault("answers nothing that a person is asked")
        answers.append(given)
        answer.close()
    lock = Lock(
        reader.text("name"),
        tuple(kits),
        reader.surface("surface"),
        reader.text("effectiveDigest"),
        tuple(answers),
        reader.booleans("selection"),
        reader.args("setArgs"),
    )
    reader.close()
    return lock


def sha256(lock: Lock) -> str:
    """The identity of a lock: SHA-256 of its JSON."""
    return hashlib.sha256(encode(lock).encode()).hexdigest()


def reference_lock(resolution: Resolution) -> dict[str, object]:
    """The lock of the specification's reference: version 1, Kits in composition order, each with its surface."""
    return {"version": 1, "kits": [_reference_kit(resolution.units[i]) for i in resolution.ordered]}


def _side(lock: Lock) -> Side:
    kits = tuple(
        KitSide(kit.reference, kit.digest, kit.surface, tuple(Note(key, text) for key, text in kit.notes.items()))
        for kit in lock.kits
    )
    return Side(kits, lock.surface)


def _notes(plan: Plan, reference: str) -> tuple[Note, ...]:
    """Notes of the selected requests, with every input filled in that is no secret."""
    member = next((member for member in plan.members if member.reference == reference), None)
    record = plan.records.get(reference)
    if member is None or member.descriptor is None or record is None:
        return ()
    chosen = {item.path for item in record.entries}
    secret = {item.name for item in plan.inputs if item.kit == reference and item.secret}
    values = {name: value for name, value in plan.values.get(reference, {}).items() if name not in secret}
    entries = [
        (part.path, filled(part.entry, values))
        for index, item in enumerate(member.descriptor.capabilities)
        for part in members_of(item, f"capabilities[{index}]")
        if part.path in chosen
    ]
    return notes(entries)


def _args(plan: Plan, kit: str, secret: set[tuple[str, str]]) -> dict[str, str | None]:
    values = plan.values.get(kit, {})
    return {name: None if (kit, name) in secret else values[name] for name in sorted(values)}


def _effective_digest(plan: Plan, secret: set[tuple[str, str]]) -> str:
    """A digest that can confirm no guess at a secret: its value is replaced by its name first."""
    if plan.effective is None:
        return ""
    text = encode_descriptor(plan.effective)
    hidden = {(kit, name): plan.values.get(kit, {}).get(name, "") for kit, name in secret}
    for (kit, name), value in sorted(hidden.items(), key=lambda item: (-len(item[1]), item[0])):
        if value:
            text = text.replace(encode_value(value)[1:-1], f"<secret {kit}:{name}>")
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _kit_differences(kit: LockedKit, other: LockedKit) -> list[str]:
    found = []
    if kit.digest != other.digest:
        found.append(f"{kit.reference} has another digest, {other.digest[:19]}… instead of {kit.digest[:19]}…")
    if dict(kit.args) != dict(other.args):
        names = sorted(n for n in {*kit.args, *other.args} if kit.args.get(n, "") != other.args.get(n, ""))
        found.append(f"{kit.reference} has other inputs: {', '.join(names)}")
    if kit.surface != other.surface:
        found.append(f"{kit.reference} asks for other permissions")
    if kit.kind != other.kind or dict(kit.notes) != dict(other.notes):
        found.append(f"{kit.reference} declares something else")
    return found


def _written(kit: LockedKit) -> dict[str, object]:
    return {
        "reference": kit.reference,
        "digest": kit.digest,
        "kind": kit.kind,
        "args": _written_args(kit.args),
        "surface": surfaces.to_json(kit.surface),
        "notes": dict(sorted(kit.notes.items())),
    }


def _written_args(args: Mapping[str, str | None]) -> dict[str, JsonValue]:
    return {name: {"secret": True} if args[name] is None else args[name] for name in sorted(args)}


def _reference_kit(unit: Unit) -> dict[str, object]:
    written: dict[str, object] = {"reference": unit.reference, "digest": unit.digest}
    written["kind"] = unit.descriptor.kind if unit.descriptor is not None else ""
    if unit.args:
        written["args"] = dict(sorted(unit.args.items()))
    surface = project(unit.descriptor) if unit.descriptor is not None else Surface()
    written["permissions"] = surfaces.to_json(surface)
    return written
