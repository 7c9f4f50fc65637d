"""The composition: one ``kind: set`` document, its members as they arrive, and the plan that follows from both.

Every change yields a new immutable ``Composition`` and publishes it. Undo is going back to an earlier
``SetState``: ``apply(state)`` accepts any of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path

from kitstudio.models import set_file
from kitstudio.models.args import looks_secret
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, JsonValue, ListedKit
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.plan import Member, Plan, Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.services import set_edits
from kitstudio.services.composition import (
    EMPTY_SET,
    Composition,
    Ground,
    SetState,
    build_inputs,
    build_problems,
    expanded_set,
    is_local,
)
from kitstudio.services.handing_on import (
    ExportForm,
    digest_of,
    exported_text,
    refuse_difference,
    write_export,
)
from kitstudio.services.members import failure, loading_member
from kitstudio.services.set_documents import Decided, changed_text, read_set, write_set
from kitstudio.services.shared_files import Comparison
from kitstudio.services.topic import Topic

__all__ = ["Composer", "Composition", "Ground", "SetState"]

_QUICK = 0.004
"""Seconds of judging that nobody notices."""


class Composer:
    """State of the composer. Mutators return the new composition and publish it; fetches continue behind it.

    ``ground``: what the composer stands on (fetching, importing, judging); see ``Ground``.
    """

    def __init__(self, ground: Ground) -> None:
        self.changed: Topic[Composition] = Topic()
        self._ground = ground
        self._members: dict[tuple[str, str], Member] = {}
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self._failed: dict[str, Problem] = {}
        self._pending: dict[str, Member] = {}
        self._prune: set[str] = set()
        self._comparison = Comparison(ground.clashes, lambda: self._take(self._value))
        self._due: asyncio.TimerHandle | None = None
        self._cost = 0.0
        self._saved = EMPTY_SET
        self._value = Composition(SetState(EMPTY_SET))
        self._value = self._judged(self._value)

    @property
    def value(self) -> Composition:
        """The composition as it is now."""
        return self._value

    def compare_files(self) -> None:
        """From now on, look behind for files that two Kits ship, in layers that are here already."""
        self._comparison.begin()

    def new(self) -> Composition:
        """Start an empty set."""
        self._forget()
        self._saved = EMPTY_SET
        return self._take(Composition(SetState(EMPTY_SET)))

    async def open(self, path: Path, decided: Decided | None = None) -> Composition:
        """Read a set file, with what was decided about it before.

        Raises ``DescriptorError`` with file:line:column where it is not one.
        """
        text = await asyncio.to_thread(read_set, path)
        known = decided or Decided()
        return self.restore(
            SetState(text, choices=known.choices, set_args=known.set_args), text, path.stem, path.absolute()
        )

    def restore(self, state: SetState, saved: str, name: str, path: Path | None) -> Composition:
        """Go on with a document as it was left. ``saved``: what its file held then; empty for one without a file."""
        self._forget()
        self._saved = saved or EMPTY_SET
        return self._take(Composition(state, name, path))

    async def save(self, path: Path | None = None, *, overwrite: bool = False) -> Composition:
        """Write atomically; comments and order of an opened file survive.

        Raises ``ChangedOnDisk`` where the file holds what was never seen here, unless ``overwrite``.
        """
        target = path or self._value.path
        if target is None:
            raise KitStudioError("The set has no file yet.", remedy="Choose where to save it.")
        target = target.absolute()
        text = self._value.state.text
        expected = self._saved if target == self._value.path and not overwrite else None
        await asyncio.to_thread(write_set, target, text, expected)
        self._saved = text
        return self._take(replace(self._value, name=target.stem, path=target))

    async def disk_text(self) -> str | None:
        """What the set's file holds now if that is not what was last read or written; None where it is, or is gone.

        Raises ``DescriptorError`` where the file is no set any more.
        """
        path, saved = self._value.path, self._saved
        if path is None:
            return None
        found = await asyncio.to_thread(changed_text, path, saved)
        return None if found == self._value.state.text else found

    def reload(self, text: str) -> Composition:
        """Take over what the file holds now; undo leads back to what was here."""
        self._saved = text
        return self._take(replace(self._value, state=replace(self._value.state, text=text)))

    def keep_mine(self, text: str) -> Composition:
        """Stay with what is here although the file holds ``text``: saving then replaces it."""
        self._saved = text
        return self._take(self._value)

    @property
    def saved(self) -> str:
        """What the file held when it was last read or written."""
        return self._saved

    async def export(
        self,
        path: Path,
        *,
        pin: bool = False,
        form: ExportForm | None = None,
        display_name: str = "",
        version: str = "",
    ) -> Path:
        """Write a ``kind: set`` file, read it again and compare; refuses ``local.invalid`` members by name.

        Refused as well is a form in which the set would not be the same: another order, another surface.
        """
        text = self.exported(pin=pin, form=form, display_name=display_name, version=version)
        refuse_difference(self._value, text, self._ground.judge)
        return await write_export(path, text)

    def exported(
        self, *, pin: bool = False, form: ExportForm | None = None, display_name: str = "", version: str = ""
    ) -> str:
        """The text ``export`` writes. ``pin``: with tags and digests."""
        chosen = form or (ExportForm.BOTH if pin else ExportForm.STATED)
        return exported_text(self._value, form=chosen, display_name=display_name, version=version)

    def apply(self, state: SetState) -> Composition:
        """Take over an earlier or edited state (undo, redo, text edit)."""
        return self._take(replace(self._value, state=state))

    def add(self, reference: str) -> Composition:
        """Add a Kit (any spelling of ``cli.md``); adding one already there changes nothing.

        What is not yet a reference with a version (a folder, a layout, a bare repository) is brought in behind:
        the composition is ``loading`` until then.
        """
        text = reference.strip()
        exact = self._ground.exact(text)
        if exact is not None:
            if is_local(exact.name) and exact.tag:
                return self._list(str(exact.with_tag(exact.tag)), exact.digest)
            return self._list(str(exact))
        self._failed.pop(text, None)
        self._pending[text] = loading_member(text)
        self._start(("adopt", text), self._adopt(text))
        return self._take(self._value)

    def remove(self, *references: str) -> Composition:
        """Take Kits out, with what was said about them."""
        listed = [reference for reference in references if self._failed.pop(reference, None) is None]
        return self.apply(set_edits.removed(self._value.state, listed))

    def replace(self, old: str, new: str) -> Composition:
        """Put ``new`` in ``old``'s place, keeping arg values the new version still declares."""
        exact = self._ground.exact(new)
        if exact is None:
            raise KitStudioError("A replacement needs a version.", where=new, remedy="Write NAME:VERSION.")
        target = str(exact)
        if target == old:
            return self._take(self._value)
        self._prune.add(target)
        return self.apply(set_edits.replaced(self._value.state, old, target))

    def pin(self, *references: str) -> Composition:
        """State the digests these Kits have now; raises where one is not known yet."""
        stated = {kit.ref: kit for kit in self._stated()}
        digests = {ref: digest_of(self._value.plan, stated[ref]) for ref in references if ref in stated}
        for ref, digest in digests.items():
            known = self._members.get((ref, ""))
            if known is not None and known.digest == digest:
                self._members[(ref, digest)] = known
        return self.apply(set_edits.pinned(self._value.state, digests))

    def unpin(self, *references: str) -> Composition:
        """Let these Kits follow their tags again; a local Kit is known by its digest alone and keeps it."""
        digests = {}
        for kit in self._stated():
            if kit.ref in references and kit.digest:
                if is_local(kit.ref):
                    raise KitStudioError(
                        "A Kit of this machine has nothing but its digest to be known by.",
                        where=kit.ref,
                        remedy="Publish it to a registry to follow a tag.",
                    )
                digests[kit.ref] = ""
        return self.apply(set_edits.pinned(self._value.state, digests))

    def copied(self, *references: str) -> str:
        """These entries as the text of a set: for a clipboard, another set, another machine."""
        return set_edits.listed_text(kit for kit in self._stated() if kit.ref in references)

    def paste(self, text: str) -> Composition:
        """Add the Kits another set lists, in one step."""
        return self.apply(set_edits.pasted(self._value.state, text, [kit.ref for kit in self._stated()]))

    def offer(self, *inputs: tuple[str, str]) -> Composition:
        """Hand inputs on to the users of the set (§9.5), all in one step."""
        state = self._value.state
        known = {(each.kit, each.name): each for each in self._value.plan.inputs}
        for key in inputs:
            if key not in known or not key[0]:
                raise KitStudioError("There is no such input to offer.", where=key[1])
            state = set_edits.offered(state, decode(state.text).descriptor, known[key])
        return self.apply(state)

    def set_arg(self, kit: str, name: str, value: str | None) -> Composition:
        """Set or clear one input. Secret-looking values go to ``SetState.secrets``; kit "" is the set itself."""
        state = self._value.state
        secrets = {key: kept for key, kept in state.secrets.items() if key != (kit, name)}
        if self._is_secret(kit, name):
            if value is not None:
                secrets[(kit, name)] = value
            stated = bool(kit) and any(k.ref == kit and name in k.args for k in self._stated())
            return self._edit(lambda text: set_file.set_kit_arg(text, kit, name, None) if stated else text, secrets)
        if not kit:
            values = {key: kept for key, kept in state.set_args.items() if key != name}
            return self.apply(replace(state, set_args=values if value is None else {**values, name: value}))
        return self._edit(lambda document: set_file.set_kit_arg(document, kit, name, value), secrets)

    def set_secret(self, kit: str, name: str, value: str) -> Composition:
        """Give an input a value that is a secret whatever its name looks like."""
        state = self._value.state
        return self.apply(replace(state, secrets={**state.secrets, (kit, name): value}))

    def choose(self, kit: str, path: str, selected: bool) -> Composition:
        """Switch an optional request or group."""
        state = self._value.state
        return self.apply(replace(state, choices={**state.choices, f"{kit}#{path}": selected}))

    def remedy(self, remedy: Remedy) -> Composition:
        """Apply a problem's remedy as one step."""
        match remedy.kind:
            case RemedyKind.ADD:
                return self.add(remedy.other)
            case RemedyKind.REMOVE:
                return self.remove(remedy.kit)
            case RemedyKind.REPLACE:
                return self.replace(remedy.kit, remedy.other)
            case RemedyKind.SET_ARG:
                return self.set_arg(remedy.kit, remedy.arg, remedy.other or None)
            case RemedyKind.RETRY | RemedyKind.SIGN_IN:
                return self.retry(remedy.kit)

    def ask(self, type_: str, config: Mapping[str, JsonValue]) -> Composition:
        """Ask for one capability more in the set's own name; nothing is granted by that."""
        return self._edit(lambda text: set_file.add_capability(text, type_, config))

    def retry(self, reference: str) -> Composition:
        """Fetch a member again."""
        if reference in self._failed:
            return self.add(reference)
        for key in [key for key in self._members if key[0] == reference]:
            del self._members[key]
        return self._take(self._value)

    async def settled(self) -> Composition:
        """Wait until no member is loading."""
        while self._tasks or self._due is not None:
            if self._tasks:
                await asyncio.wait(tuple(self._tasks.values()))
            else:
                self._take(self._value)
        return self._value

    async def close(self) -> None:
        """End the fetches."""
        tasks = (*self._tasks.values(), *self._comparison.end())
        self._forget()
        if tasks:
            await asyncio.wait(tasks, timeout=3.0)

    def _list(self, reference: str, digest: str = "") -> Composition:
        """List a Kit; one already there changes nothing but, for a local Kit, the digest it was imported with."""
        known = next((kit for kit in self._stated() if kit.ref == reference), None)
        if known is None:
            return self._edit(lambda document: set_file.add_kit(document, reference, digest))
        if digest and known.digest != digest:
            return self._edit(lambda document: set_file.replace_kit(document, reference, reference, digest))
        return self._take(self._value)

    def _edit(self, change: Callable[[str], str], secrets: Mapping[tuple[str, str], str] | None = None) -> Composition:
        state = self._value.state
        kept = state.secrets if secrets is None else secrets
        return self.apply(replace(state, text=change(state.text), secrets=kept))

    def _take(self, composition: Composition) -> Composition:
        self._undo_due()
        begun = time.perf_counter()
        self._value = self._judged(composition)
        self._cost = time.perf_counter() - begun
        self.changed.publish(self._value)
        return self._value

    def _judged(self, composition: Composition) -> Composition:
        """Fill in what follows from the text; starts the fetches that are missing."""
        state = composition.state
        dirty = state.text != self._saved
        try:
            document = decode(state.text, name=f"{composition.name}.yaml")
            own = build_inputs(document, state)
            if any(each.error for each in own):
                plan = Plan(inputs=own, problems=build_problems(own))
                error = str(DescriptorError(plan.problems[0].message, where=f"{composition.name}.yaml"))
                return replace(composition, dirty=dirty, descriptor=document.descriptor, text_error=error, plan=plan)
            expanded = expanded_set(document, state)
        except DescriptorError as error:
            return replace(composition, dirty=dirty, descriptor=None, text_error=str(error), plan=Plan())
        members = tuple(self._member(kit) for kit in expanded.kits)
        plan = self._ground.judge(expanded, (*members, *self._pending.values()), state)
        problems = [p for p in plan.problems if not (self._failed and p.kind is ProblemKind.EMPTY_SET)]
        problems += [*self._failed.values(), *self._comparison.of(members)]
        plan = replace(plan, problems=tuple(problems), inputs=(*own, *plan.inputs))
        return replace(composition, dirty=dirty, descriptor=document.descriptor, text_error="", plan=plan)

    def _member(self, kit: ListedKit) -> Member:
        key = (kit.ref, kit.digest)
        if key not in self._members:
            self._members[key] = loading_member(*key)
            self._start(key, self._fetch(*key))
        return replace(self._members[key], args=dict(kit.args))

    async def _fetch(self, reference: str, digest: str) -> None:
        member = await self._ground.member(reference, digest)
        self._members[(reference, digest)] = member
        if reference in self._prune and member.descriptor is not None:
            self._prune.discard(reference)
            self._drop_undeclared(reference, member.descriptor)
        else:
            self._arrived()

    def _arrived(self) -> None:
        """Judge with what came: together with what comes meanwhile, so that a long set is not judged once for each of
        its Kits. The pause is as long as judging takes, and nothing where that is quick."""
        if self._due is None:
            pause = 2 * self._cost if self._cost > _QUICK else 0.0
            self._due = asyncio.get_running_loop().call_later(pause, lambda: self._take(self._value))

    def _undo_due(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    async def _adopt(self, text: str) -> None:
        try:
            reference, digest = await self._ground.adopt(text)
        except KitStudioError as error:
            self._pending.pop(text, None)
            self._failed[text] = failure(text, error)
            self._take(self._value)
            return
        self._pending.pop(text, None)
        self._list(str(reference), digest)

    def _drop_undeclared(self, reference: str, descriptor: Descriptor) -> None:
        """After a replacement: values of args the new version does not declare leave the text."""
        gone = [
            name for kit in self._stated() if kit.ref == reference for name in kit.args if name not in descriptor.args
        ]
        self.apply(set_edits.without_args(self._value.state, reference, gone, lambda name: name in descriptor.args))

    def _stated(self) -> tuple[ListedKit, ...]:
        return self._value.descriptor.kits if self._value.descriptor else ()

    def _is_secret(self, kit: str, name: str) -> bool:
        for known in self._value.plan.inputs:
            if (known.kit, known.name) == (kit, name):
                return known.secret
        return looks_secret(name, "")

    def _start(self, key: object, work: Coroutine[object, object, None]) -> None:
        """Run a fetch behind; a fault of ours in it is told like a failed fetch, and settles."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[key] = task

        def ended(done: asyncio.Task[None]) -> None:
            if self._tasks.get(key) is done:
                del self._tasks[key]
            if not done.cancelled() and (error := done.exception()) is not None:
                asyncio.get_running_loop().call_exception_handler({"message": f"fetch of {key}", "exception": error})

        task.add_done_callback(ended)

    def _forget(self) -> None:
        self._undo_due()
        for task in tuple(self._tasks.values()):
            task.cancel()
        self._tasks.clear()
        self._members.clear()
        self._failed.clear()
        self._pending.clear()
        self._prune.clear()
