"""A set as it is handed on to others: nothing of this machine in it, with digests where they are wanted, read again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from kitstudio.models import set_file
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, ListedKit
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.plan import Member, Plan
from kitstudio.models.words import repository
from kitstudio.services.composition import Composition, SetState, expanded_set, is_local
from kitstudio.services.home import write_atomic
from kitstudio.services.set_documents import read_set


class ExportForm(StrEnum):
    """What stands for each Kit: what the set states, its tag alone, its digest alone, or both."""

    STATED = "stated"
    TAGS = "tags"
    DIGESTS = "digests"
    BOTH = "both"


def exported_text(value: Composition, *, form: ExportForm, display_name: str, version: str) -> str:
    """The text of a set for others. Refuses Kits of this machine by name."""
    descriptor = value.descriptor
    if descriptor is None:
        raise DescriptorError(value.text_error, where=value.name, remedy="Correct the set first.")
    expanded = _known_kits(value, descriptor)
    for kit in expanded:
        if is_local(kit.ref):
            raise KitStudioError(
                f"{kit.ref} exists on this machine only; a set must be resolvable from its references (§3.4).",
                where=kit.ref,
                remedy="Publish that Kit to a registry and use its reference, or leave it out.",
            )
    text = value.state.text
    if display_name:
        text = set_file.set_field(text, "displayName", display_name)
    if version:
        text = set_file.set_field(text, "version", version)
    if form is not ExportForm.STATED:
        for stated, known in zip(descriptor.kits, expanded, strict=True):
            text = _named(text, stated, known, value.plan, form)
    return text


def _known_kits(value: Composition, descriptor: Descriptor) -> tuple[ListedKit, ...]:
    """The listed Kits with the set's build inputs answered, as far as they are: one in want of an input is handed on
    as it is written."""
    try:
        return expanded_set(decode(value.state.text), value.state).kits
    except DescriptorError:
        return descriptor.kits


def _named(text: str, stated: ListedKit, known: ListedKit, plan: Plan, form: ExportForm) -> str:
    """The text with one Kit named in another form. ``known``: its reference with the set's build inputs answered."""
    name, _, pinned = stated.ref.partition("@")
    bare = repository(name)
    if form is ExportForm.TAGS:
        if name == bare:
            raise KitStudioError(
                "This Kit has no tag to be known by.", where=known.ref, remedy="Export it with its digest."
            )
        return set_file.replace_kit(text, stated.ref, name)
    digest = pinned or digest_of(plan, known)
    if form is ExportForm.DIGESTS:
        return set_file.replace_kit(text, stated.ref, f"{bare}@{digest}", digest)
    return set_file.replace_kit(text, stated.ref, name, digest)


def refuse_difference(
    value: Composition, text: str, judge: Callable[[Descriptor, tuple[Member, ...], SetState], Plan]
) -> None:
    """Raise where a form of the set would not be the set: a Kit is known by the version its tag states (§4).

    ``text``: what would be written, judged as whoever reads it would, with the Kits that are here.
    """
    plan = value.plan
    if value.descriptor is None or value.descriptor.kits == decode(text).descriptor.kits:
        return
    before = _known_kits(value, value.descriptor)
    after = expanded_set(decode(text), value.state)
    names = {old.ref: new.ref for old, new in zip(before, after.kits, strict=True)}
    members = tuple(replace(m, reference=names.get(m.reference, m.reference)) for m in plan.members)
    parts = [(*key.partition("#"), on) for key, on in value.state.choices.items()]
    choices = {f"{names.get(kit, kit)}{mark}{path}": on for kit, mark, path, on in parts}
    secrets = {(names.get(kit, kit), name): secret for (kit, name), secret in value.state.secrets.items()}
    other = judge(after, members, replace(value.state, choices=choices, secrets=secrets))
    order = tuple(names.get(reference, reference) for reference in plan.ordered)
    if order == other.ordered and other.surface == plan.surface and len(other.problems) <= len(plan.problems):
        return
    raise KitStudioError(
        "In this form the set would not be the same.",
        where=", ".join(problem.message for problem in other.problems[:1]),
        remedy="Export it with tags and digests: a Kit is known by the version its tag states.",
    )


def digest_of(plan: Plan, kit: ListedKit) -> str:
    """The digest a Kit is pinned to or has now."""
    digest = kit.digest or next((m.digest for m in plan.members if m.reference == kit.ref), "")
    if not digest:
        raise KitStudioError(
            "The digest is not known yet.", where=kit.ref, remedy="Wait until the Kit has been fetched."
        )
    return digest


async def write_export(path: Path, text: str) -> Path:
    """Write a set file, read it again and compare: what is there must be what was meant."""
    await asyncio.to_thread(write_atomic, path.absolute(), text.encode(), mode=0o644)
    found = decode(await asyncio.to_thread(read_set, path), name=str(path)).descriptor
    if found != decode(text).descriptor:
        raise KitStudioError("The file reads back differently from what was written.", where=str(path))
    return path
