"""Edits of the set, each one undoable step; what goes wrong is told, and nothing is changed then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Plan, Remedy
from kitstudio.services.composer import Composer
from kitstudio.services.local_folders import ChangedFolder
from kitstudio.services.set_changes import Proposal
from kitstudio.ui.composer.undo import SetHistory
from kitstudio.ui.widgets.text import counted, tr, visible


class Edits(QObject):
    """Steps over one composer. ``starts`` before every edit, ``failed(error)`` where one is refused."""

    starts = Signal()
    failed = Signal(object)
    replaced = Signal()

    def __init__(self, composer: Composer, parent: QObject) -> None:
        super().__init__(parent)
        self._composer = composer
        self.stack = QUndoStack(self)
        self.history = SetHistory(composer, self.stack)
        self._typing: tuple[str, str] | None = None
        self._before: Plan | None = None

    def add(self, *references: str) -> bool:
        """Add Kits by any spelling, all of them in one step."""
        wanted = tuple(text.strip() for text in references if text.strip())
        if not wanted:
            return False
        what = short(wanted[0]) if len(wanted) == 1 else counted(len(wanted), "Kit", "Kits")
        return self._step(tr("Add {kit}").format(kit=what), lambda: [self._composer.add(text) for text in wanted])

    def ask(self, proposal: Proposal) -> bool:
        """Ask for one network entry more in the set's own name."""
        words = tr("Propose {entry}").format(entry=visible(proposal.text))
        return self._step(words, lambda: self._composer.ask(proposal.type, proposal.config))

    def remove(self, *references: str) -> bool:
        """Take Kits out."""
        words = tr("Remove {kit}").format(kit=_named(references))
        return self._step(words, lambda: self._composer.remove(*references))

    def replace(self, old: str, new: str) -> bool:
        """Another version or Kit in a Kit's place."""
        words = tr("Replace {old} with {new}").format(old=short(old), new=short(new))
        done = self._step(words, lambda: self._composer.replace(old, new))
        if done:
            self.replaced.emit()
        return done

    def use_folder(self, change: ChangedFolder) -> bool:
        """What a member's folder makes now, in the member's place."""

        def use() -> None:
            if change.made != change.reference:
                self._composer.replace(change.reference, change.made)
            self._composer.add(f"{change.made}@{change.digest}")

        done = self._step(tr("Use the changed folder of {kit}").format(kit=short(change.reference)), use)
        if done:
            self.replaced.emit()
        return done

    def pin(self, *references: str) -> bool:
        """State the digests Kits have now."""
        words = tr("Pin {kit}").format(kit=_named(references))
        return self._step(words, lambda: self._composer.pin(*references))

    def unpin(self, *references: str) -> bool:
        """Follow the tags again."""
        words = tr("Unpin {kit}").format(kit=_named(references))
        return self._step(words, lambda: self._composer.unpin(*references))

    def paste(self, text: str) -> bool:
        """Add the entries of a set in text form, with their digests and values."""
        return self._step(tr("Paste Kits"), lambda: self._composer.paste(text))

    def remedy(self, remedy: Remedy) -> bool:
        """One click on a remedy is one step."""
        return self._step(remedy.label, lambda: self._composer.remedy(remedy))

    def choose(self, kit: str, path: str, on: bool) -> bool:
        """Switch an optional request."""
        words = tr("Switch an option on") if on else tr("Switch an option off")
        return self._step(words, lambda: self._composer.choose(kit, path, on))

    def offer(self, *inputs: tuple[str, str]) -> bool:
        """Hand inputs on to the users of this set (§9.5)."""
        words = tr("Offer {name} to users of this set").format(
            name=inputs[0][1] if len(inputs) == 1 else counted(len(inputs), "input", "inputs")
        )
        return self._step(words, lambda: self._composer.offer(*inputs))

    def set_input(self, kit: str, name: str, value: object) -> bool:
        """Take over an input's value; typing in one field is one step."""
        text = value if isinstance(value, str) else None
        if self._typing != (kit, name):
            self._typing = (kit, name)
            self._before = self._composer.value.plan
        words = tr("Set {name}").format(name=visible(name))
        return self._step(words, lambda: self._composer.set_arg(kit, name, text), field=f"{kit} {name}")

    def effect(self, kit: str, name: str, value: object) -> str:
        """What the value that is being typed adds to the surface: entries of its own Kit only."""
        if self._typing != (kit, name) or self._before is None:
            return ""
        text = value if isinstance(value, str) else ""
        return effect_words(self._before, self._composer.value.plan, kit, text)

    def forget(self) -> None:
        """Another document."""
        self._typing = self._before = None
        self.history.forget()

    def _step(self, words: str, change: Callable[[], object], *, field: str = "") -> bool:
        self.starts.emit()
        if not field:
            self._typing = self._before = None
        try:
            self.history.step(words, change, field=field)
        except KitStudioError as error:
            self.failed.emit(error)
            return False
        return True


def effect_words(before: Plan, now: Plan, kit: str, value: str) -> str:
    """``Adds HOST``: what an input's new value adds, empty where nothing is added.

    Where the Kit was not counted before (the value was missing), only entries that show the value are its effect.
    """
    had = frozenset(row.entry for row in before.permissions if not row.denies)
    known = not kit or kit in before.kit_surfaces
    added = sorted(
        {
            row.entry
            for row in now.permissions
            if not row.denies
            and row.entry not in had
            and (not kit or any(asker.kit == kit for asker in row.askers))
            and (known or (value and value in row.entry))
        }
    )
    if not added:
        return ""
    more = tr(" and {n} more").format(n=len(added) - 2) if len(added) > 2 else ""
    return tr("Adds {entries}").format(entries=visible(", ".join(added[:2]))) + more


def short(reference: str) -> str:
    """The last segment of a reference, with its tag."""
    return reference.partition("@")[0].rstrip("/").rpartition("/")[2] or reference


def _named(references: Sequence[str]) -> str:
    return short(references[0]) if len(references) == 1 else counted(len(references), "Kit", "Kits")
