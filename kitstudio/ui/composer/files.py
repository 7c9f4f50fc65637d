"""The set's file: open, save, recent ones, drafts of unsaved work, and what another program does to it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Studio
from kitstudio.services.composition import EMPTY_SET, Composition, SetState
from kitstudio.services.set_documents import ChangedOnDisk, Draft, SetDocuments
from kitstudio.ui.composer.edits import Edits
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import moment_text, tr, visible

DRAFT_REST_MS = 400
"""How long edits rest before unsaved work is written to the draft."""
_FILTER = "*.yaml *.yml"


class SetFiles(QObject):
    """One document. ``told``: what went well; ``changed_outside(text, name, dirty)``: its file holds something else."""

    told = Signal(str, str, str)
    changed_outside = Signal(str, str, bool)
    recovered = Signal(object)
    another = Signal()
    """Another document takes this one's place."""

    def __init__(self, studio: Studio, theme: Theme, edits: Edits, tasks: Tasks, owner: QWidget) -> None:
        super().__init__(owner)
        self.documents = SetDocuments(studio.home)
        self._composer, self._theme, self._edits = studio.composer, theme, edits
        self._tasks, self._owner = tasks, owner
        self._kept: object = None
        self._recent: tuple[Path, ...] = ()
        self._remembering = asyncio.Lock()
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(lambda _path: self.look())
        self._watcher.directoryChanged.connect(lambda _path: self.look())
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(DRAFT_REST_MS)
        self._rest.timeout.connect(lambda: self._tasks.start(self._keep(), "draft"))

    def follow(self, composition: Composition) -> None:
        """After every change: the draft follows when edits rest; the watcher looks at the set's own file."""
        state = composition.state
        if (state.text, state.choices, state.set_args) != self._kept:
            self._kept = (state.text, state.choices, state.set_args)
            self._rest.start()
        paths = [] if composition.path is None else [str(composition.path), str(composition.path.parent)]
        watched = [*self._watcher.files(), *self._watcher.directories()]
        gone = [path for path in watched if path not in paths]
        if gone:
            self._watcher.removePaths(gone)
        new = [path for path in paths if path not in watched and Path(path).exists()]
        if new:
            self._watcher.addPaths(new)

    def flush(self) -> None:
        """The window closes: what was edited a moment ago is in the draft as well."""
        self._rest.stop()
        self.documents.follow_now(self._composer.value, self._composer.saved)

    def look(self) -> None:
        """See whether another program changed the file."""
        self._tasks.start(self._look(), "look")

    async def begin(self, last: str) -> None:
        """At the start: unsaved work of a run that ended without saving, else the set of the last time."""
        self._recent = await self.documents.recent()
        draft = await self.documents.recover()
        if draft is not None and not self._composer.value.plan.members:
            self._composer.restore(draft.state, draft.saved, draft.name, draft.path)
            self._edits.forget()
            self.recovered.emit(draft)
            self.look()
            return
        path = Path(last) if last else None
        there = path is not None and await asyncio.to_thread(path.is_file)
        if path is not None and there and not self._composer.value.plan.members:
            await self.open_now(path)

    def new(self) -> None:
        """An empty set in this one's place."""
        self._unless_lost(tr("Start a new set?"), tr("Start without saving"), self._new)

    def open(self, path: Path) -> None:
        """Open a set file; changes that are not saved are asked about first."""
        question, button = tr("Open another set?"), tr("Open without saving")
        self._unless_lost(question, button, lambda: self._tasks.start(self.open_now(path), "file"))

    def take(self, state: SetState, name: str, then: Callable[[], object]) -> None:
        """A set that lies in no file, in this one's place; changes that are not saved are asked about first."""

        def act() -> None:
            self.another.emit()
            self._composer.restore(state, "", name, None)
            self._edits.forget()
            then()

        self._unless_lost(tr("Open the set of {name}?").format(name=name), tr("Open without saving"), act)

    def ask_open(self) -> None:
        """Ask which file."""
        chosen, _ = QFileDialog.getOpenFileName(self._owner, tr("Open a set"), "", tr("Sets") + f" ({_FILTER})")
        if chosen:
            self.open(Path(chosen))

    def save(self, path: Path | None = None) -> None:
        """Write the set where it is, or ask where."""
        if path is None and self._composer.value.path is None:
            self.save_as()
            return
        self._tasks.start(self._save(path), "file")

    def save_as(self) -> None:
        """Ask where, and write there."""
        value = self._composer.value
        start = str(value.path or "set.yaml")
        chosen, _ = QFileDialog.getSaveFileName(self._owner, tr("Save the set"), start, tr("Sets") + f" ({_FILTER})")
        if chosen:
            self._tasks.start(self._save(Path(chosen), overwrite=True), "file")

    def reload(self, text: str) -> None:
        """What the file holds comes in as one undoable step."""
        self._edits.history.step(tr("Reload from the file"), lambda: self._composer.reload(text))
        if not self._composer.value.dirty:
            self._edits.history.saved()

    def keep_mine(self, text: str) -> None:
        """Saving replaces what the other program wrote."""
        self._composer.keep_mine(text)

    def discard(self, draft: Draft) -> None:
        """Not go on with recovered work: back to the file, or to an empty set. One can still undo."""
        state = replace(self._composer.value.state, text=draft.saved or EMPTY_SET)
        self._edits.history.step(tr("Discard unsaved changes"), lambda: self._composer.apply(state))

    def fill_menu(self, menu: QMenu) -> None:
        """New, open, save as, recent files."""
        menu.clear()
        paths = self._recent
        for name, words, act in (
            ("new", tr("New set"), self.new),
            ("open", tr("Open…"), self.ask_open),
            ("saveAs", tr("Save as…"), self.save_as),
        ):
            action = menu.addAction(words)
            action.setObjectName(f"file-{name}")
            action.triggered.connect(lambda _=False, act=act: act())
        menu.addSeparator()
        heading = menu.addAction(tr("Recent") if paths else tr("No recent sets"))
        heading.setEnabled(False)
        for number, path in enumerate(paths):
            action = menu.addAction(f"{visible(path.name)}  –  {visible(str(path.parent))}")
            action.setObjectName(f"recent-{number}")
            action.triggered.connect(lambda _=False, path=path: self.open(path))
        if paths:
            forget = menu.addAction(tr("Forget recent sets"))
            forget.setObjectName("file-forget")
            forget.triggered.connect(lambda _=False: self._tasks.start(self._forget_recent()))

    async def open_now(self, path: Path) -> None:
        """Read and show a set file."""
        self.another.emit()
        decided = await self.documents.decided(path)
        async with self._remembering:  # what is forgotten while a set opens stays forgotten
            value = await self._composer.open(path, decided)
            self._edits.forget()
            await self._remember(path, value.state)
        await self.documents.drop_draft()

    async def _forget_recent(self) -> None:
        async with self._remembering:
            await self.documents.forget_recent()
            self._recent = ()

    async def _remember(self, path: Path, state: SetState) -> None:
        await self.documents.remember(path, state)
        self._recent = await self.documents.recent()

    async def _save(self, path: Path | None, *, overwrite: bool = False) -> None:
        try:
            value = await self._composer.save(path, overwrite=overwrite)
        except ChangedOnDisk:
            text = await self._composer.disk_text()
            if text is None:
                raise
            self._tell_outside(text)
            return
        self._edits.history.saved()
        assert value.path is not None
        await self.documents.follow_draft(lambda: (self._composer.value, self._composer.saved))
        await self._remember(value.path, value.state)

    async def _look(self) -> None:
        try:
            text = await self._composer.disk_text()
        except KitStudioError as error:
            raise KitStudioError(
                "The set’s file was changed and is no set any more.",
                where=error.where,
                remedy="What is shown here is kept; saving puts it back.",
            ) from error
        self.follow(self._composer.value)
        if text is not None:
            self._tell_outside(text)

    async def _keep(self) -> None:
        value = self._composer.value
        await self.documents.follow_draft(lambda: (self._composer.value, self._composer.saved))
        if value.path is not None:
            await self._remember(value.path, value.state)

    def _tell_outside(self, text: str) -> None:
        value = self._composer.value
        name = value.path.name if value.path is not None else value.name
        self.changed_outside.emit(text, name, value.dirty)

    def _new(self) -> None:
        self.another.emit()
        self._composer.new()
        self._edits.forget()
        self._tasks.start(self.documents.drop_draft(), "draft")

    def _unless_lost(self, question: str, button: str, act: Callable[[], object]) -> None:
        value = self._composer.value
        if not value.dirty:
            act()
            return
        words = tr("The changes to {name} are not saved and would be lost.").format(name=visible(value.name))
        dialog = ConfirmDialog(self._theme, question, words, button, self._owner)
        dialog.confirmed.connect(act)
        dialog.open()


def recovered_words(draft: Draft) -> str:
    """What is told of recovered work."""
    name = visible(draft.path.name if draft.path is not None else tr("a set without a file"))
    return tr("{name}, as it was {when}. Secrets are not kept in drafts.").format(
        name=name, when=moment_text(draft.when)
    )
