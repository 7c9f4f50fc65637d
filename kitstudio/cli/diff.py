"""``diff OLD NEW``: what NEW asks for beyond OLD, in the order and words of the approval dialog."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.cli.compose import compose, read_value, set_path
from kitstudio.cli.gate import tell_review
from kitstudio.cli.output import DONE, REFUSED
from kitstudio.models import lock as locks
from kitstudio.models import words
from kitstudio.models.args import check_value
from kitstudio.models.changes import KitSide, Side, judge, kit_side
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import Lock, LockedKit
from kitstudio.models.notes import Note
from kitstudio.models.plan import Plan
from kitstudio.models.review import Permission, Review, Uncounted
from kitstudio.registry.folder import read_folder
from kitstudio.registry.reference import FolderLocation, parse_location
from kitstudio.services import cards
from kitstudio.services.approvals import read_lock
from kitstudio.services.findings import permission_json, uncounted_json, widening_json

if TYPE_CHECKING:
    from kitstudio.cli.main import Run


@dataclass(frozen=True, slots=True)
class _Given:
    """One argument: its side, whether it is one Kit by itself (and of this machine), and the plan of a set."""

    side: Side
    single: bool = False
    plan: Plan | None = None
    local: bool = False


async def diff(run: Run) -> int:
    """Exit 2 if NEW asks for more, 0 if not."""
    old, new = await _side(run, run.args.old), await _side(run, run.args.new)
    before = old.side
    apart = old.single and new.single and not _related(old, new)
    if old.single and new.single:
        # Two Kits are compared as versions of one, whatever they are called.
        before = _renamed(before, new.side.kits[0].reference)
    if new.plan is not None:
        review = locks.review(Path(run.args.new).stem, _lock(before), new.plan)
    else:
        review = judge(run.args.new, before, new.side)
    if apart:
        review = _beside(review, _name(old, run.args.old), old.side, new.side)
    run.output.document(
        {
            "widenings": [widening_json(f, w) for f in review.findings for w in f.widenings],
            "narrowings": [permission_json(permission) for permission in review.narrowed],
            "uncounted": [uncounted_json(change) for change in review.uncounted],
        }
    )
    # Nothing need have been approved here: the title names the two that were compared.
    more = "more" if review.widens else "no more"
    title = f"{_name(new, run.args.new)} asks for {more} than {_name(old, run.args.old)}"
    if apart:
        title += "; they are different Kits, and neither is a version of the other"
    tell_review(run.output, replace(review, title=title))
    for permission in review.narrowed:
        run.output.say(f"  {'Not here' if apart else 'Narrowed'}. {permission.sentence}")
    return REFUSED if review.widens else DONE


def _name(given: _Given, text: str) -> str:
    return words.kit_name(given.side.kits[0].reference) if given.single else Path(text).name


async def _side(run: Run, text: str) -> _Given:
    if text.endswith(".json"):
        return _Given(_lock_side(read_lock(Path(text))))
    if await set_path(text) is not None:
        plan = (await compose(run, [text])).value.plan
        if plan.effective is None:
            problem = plan.problems[0].message if plan.problems else "It is not coherent."
            raise KitStudioError(f"The set cannot be compared: {problem}", where=text, remedy="See kitstudio resolve.")
        return _Given(_lock_side(locks.from_plan(text, plan)), plan=plan)
    location = parse_location(text, Path.cwd())
    if isinstance(location, FolderLocation):
        kit = await read_folder(location.path)
        document = decode(kit.text, name=str(kit.path))
        descriptor = _answered(run, text, document.descriptor)
        return _Given(kit_side(text, descriptor, lines=document.lines()), single=True, local=True)
    studio = await run.studio()
    artifact = await studio.catalog.artifact(text)
    reading = cards.read(artifact)
    if reading.document is None:
        raise reading.problems[0]
    side = kit_side(
        str(artifact.reference),
        _answered(run, text, reading.document.descriptor),
        digest=artifact.digest,
        lines=reading.document.lines(),
    )
    return _Given(side, single=True)


def _answered(run: Run, text: str, descriptor: Descriptor) -> Descriptor:
    """One Kit with the inputs of ``--arg`` where it declares them, the others at their defaults."""
    values: dict[str, str] = {}
    for given in (read_value(each) for each in run.args.arg):
        if given.kit and given.kit not in (text, words.repository(text).rpartition("/")[2]):
            continue
        if given.name in descriptor.args and not descriptor.args[given.name].is_build:
            check_value(given.name, descriptor.args[given.name], given.value)
            values[given.name] = given.value
    if not values:
        return cards.as_installed(descriptor)
    stated = {
        name: replace(arg, default=values[name], required=False) if name in values else arg
        for name, arg in descriptor.args.items()
    }
    return cards.as_installed(replace(descriptor, args=stated))


def _related(old: _Given, new: _Given) -> bool:
    """Whether two Kits can be versions of one: the same repository, or a folder of this machine."""
    names = [words.repository(given.side.kits[0].reference) for given in (old, new)]
    return old.local or new.local or names[0] == names[1]


def _beside(review: Review, name: str, old: Side, new: Side) -> Review:
    """Two unrelated Kits side by side: nothing was changed, added or taken away from one to the other."""
    known = {(note.key, note.text) for note in old.kits[0].notes}
    kit = new.kits[0]
    stated = tuple(
        Uncounted(note.sentence, note.weight, kit.reference, note.path, note.text)
        for note in kit.notes
        if (note.key, note.text) not in known
    )
    return replace(
        review,
        findings=tuple(replace(f, permission=_only(f.permission, name)) for f in review.findings),
        narrowed=tuple(_only(permission, name) for permission in review.narrowed),
        uncounted=stated,
    )


def _only(permission: Permission, name: str) -> Permission:
    return replace(permission, sentence=re.sub("^No longer ", f"Only {name} ", permission.sentence))


def _renamed(side: Side, reference: str) -> Side:
    if words.repository(side.kits[0].reference) == words.repository(reference):
        return side
    return replace(side, kits=(replace(side.kits[0], reference=reference),))


def _lock_side(lock: Lock) -> Side:
    kits = tuple(
        KitSide(kit.reference, kit.digest, kit.surface, tuple(Note(key, text) for key, text in kit.notes.items()))
        for kit in lock.kits
    )
    return Side(kits, lock.surface)


def _lock(side: Side) -> Lock:
    kits = tuple(
        LockedKit(kit.reference, kit.digest, "", surface=kit.surface, notes={n.key: n.text for n in kit.notes})
        for kit in side.kits
    )
    return Lock("", kits, side.surface, "")
