"""The Composer page: the set as a stack, its problems and inputs, the authority that follows.

Every edit is one undoable step over ``SetState``; the page shows what the plan says and holds no rule of its own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import (
    QAction,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QGuiApplication,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QUndoStack,
)
from PySide6.QtWidgets import (
    QFileDialog,
    QLineEdit,
    QMenu,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Plan, Remedy, RemedyKind
from kitstudio.models.review import Permission
from kitstudio.runtime.backend import LaunchOptions
from kitstudio.services.app import Studio
from kitstudio.services.composition import Composition
from kitstudio.ui.approvals.desk import desk_of
from kitstudio.ui.composer.columns import InputsColumn, PermissionsColumn, StackColumn
from kitstudio.ui.composer.drop import DropVeil, drop_words
from kitstudio.ui.composer.launch_dialog import LaunchDialog
from kitstudio.ui.composer.rows import blocking
from kitstudio.ui.composer.undo import SetHistory
from kitstudio.ui.drag import references_of
from kitstudio.ui.ending import end_with_window
from kitstudio.ui.navigator import Navigator, PageName
from kitstudio.ui.page import Page
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets.basic import button, give_icon, holder, line, row
from kitstudio.ui.widgets.composite import Banner, StateView
from kitstudio.ui.widgets.text import counted, tr, visible

_SET_FILES = ("*.yaml *.yml",)


class ComposerPage(Page):
    """Tool bar, three columns, and the empty state."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self.steps = self.undo_stack = QUndoStack(self)
        self.history = SetHistory(studio.composer, self.steps)
        self._tasks = Tasks(self, self._failed)
        self._before_typing: frozenset[str] | None = None
        self._typing: tuple[str, str] | None = None
        self.setAcceptDrops(True)
        self.reference = QLineEdit()
        self.reference.setObjectName("composerReference")
        self.reference.setPlaceholderText(tr("Type a reference or drop a Kit, file or folder"))
        self.reference.setAccessibleName(tr("Add a Kit by reference or path"))
        self._plus = QAction(theme.icon("plus", 16, Token.SECONDARY), "", self.reference)
        self.reference.addAction(self._plus, QLineEdit.ActionPosition.LeadingPosition)
        self.reference.setMaximumWidth(theme.px(380))
        self.reference.returnPressed.connect(self._add_typed)
        self.open_button = button(theme, tr("Open"), "folder", "flat", name="composerOpen")
        self.open_button.clicked.connect(self._ask_open)
        self.save_button = button(theme, tr("Save"), "save", "flat", name="composerSave")
        self.save_button.clicked.connect(lambda: self.save())
        self.export_button = button(theme, tr("Export"), "export", name="composerExport")
        menu = QMenu(self.export_button)
        for name, words, pin in (("plain", tr("As it is"), False), ("pinned", tr("With digests"), True)):
            action = menu.addAction(words)
            action.setObjectName(f"export-{name}")
            action.triggered.connect(lambda _=False, pin=pin: self._ask_export(pin=pin))
        self.export_button.setMenu(menu)
        self.launch_button = button(theme, tr("Launch"), "play", "primary", name="composerLaunch")
        self.launch_button.clicked.connect(self.ask_launch)
        bar = row(spacing=8, margins=(16, 8, 16, 8))
        bar.addWidget(self.reference, 3)
        bar.addStretch(2)
        for tool in (self.open_button, self.save_button, self.export_button, self.launch_button):
            bar.addWidget(tool)
        self.banner = Banner(theme, Tone.CRITICAL)
        self.banner.acted.connect(lambda _key: self.banner.hide())
        self.note = Banner(theme, Tone.INFO)
        self.note.acted.connect(lambda _key: self.note.hide())
        self.stack = StackColumn(theme)
        self.inputs = InputsColumn(theme)
        self.permissions = PermissionsColumn(theme)
        self.splitter = QSplitter()
        self.splitter.setObjectName("composerSplitter")
        for index, column in enumerate((self.stack, _scrolled(self.inputs), self.permissions)):
            self.splitter.addWidget(column)
            self.splitter.setStretchFactor(index, (3, 4, 4)[index])
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setSizes([theme.px(372), theme.px(424), theme.px(404)])
        self.empty = StateView(
            theme,
            "composer",
            tr("An empty set"),
            tr("A set is one workload and the Kits on top of it. Add one to see what it needs and what it may do."),
            [("catalog", tr("Choose from the catalog"), "catalog"), ("open", tr("Open a set…"), "folder")],
            tr("or drop a Kit, a folder, an image layout or a .yaml file here"),
        )
        self.empty.acted.connect(self._empty_acted)
        self._stack_widget = QStackedWidget()
        self._stack_widget.addWidget(self.empty)
        self._stack_widget.addWidget(self.splitter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (holder(bar, "raised"), line(), self.banner, self.note):
            layout.addWidget(part)
        layout.addWidget(self._stack_widget, 1)
        self.veil = DropVeil(theme, self)
        self._connect()
        self._show(studio.composer.value)

    def title(self) -> str:
        """The file's name; a star while it is not saved."""
        value = self.studio.composer.value
        return f"{value.name}.yaml{' *' if value.dirty else ''}"

    def save_state(self) -> dict[str, str]:
        value = self.studio.composer.value
        sizes = ",".join(str(size) for size in self.splitter.sizes())
        return {"sizes": sizes, "path": str(value.path) if value.path is not None else ""}

    def restore_state(self, state: dict[str, str]) -> None:
        sizes = [int(part) for part in state.get("sizes", "").split(",") if part.isdigit()]
        if len(sizes) == 3 and all(sizes):
            self.splitter.setSizes(sizes)
        self._last_path = state.get("path", "")

    async def opened(self) -> None:
        """Open the set of the last time, if it is still there."""
        end_with_window(self, self._tasks)
        path = Path(self._last_path) if getattr(self, "_last_path", "") else None
        if path is not None and path.is_file() and not self.studio.composer.value.plan.members:
            await self._open(path)

    # Edits, each one step

    def add(self, reference: str) -> None:
        """Add a Kit by any spelling."""
        text = reference.strip()
        if not text:
            return
        path = Path(text)
        if path.suffix in (".yaml", ".yml") and path.is_file():
            self._tasks.start(self._add_file(path), f"add-{text}")
            return
        self._edit(tr("Add {kit}").format(kit=_short(text)), lambda: self.studio.composer.add(text))

    def remove(self, reference: str) -> None:
        """Take a Kit out."""
        self._edit(tr("Remove {kit}").format(kit=_short(reference)), lambda: self.studio.composer.remove(reference))

    def replace(self, old: str, new: str) -> None:
        """Another version or Kit in a Kit's place; where the set has a lock, what the change asks for is reviewed."""
        words = tr("Replace {old} with {new}").format(old=_short(old), new=_short(new))
        if self._edit(words, lambda: self.studio.composer.replace(old, new)):
            self._tasks.start(self._propose(), "propose")

    def apply_remedy(self, remedy: Remedy) -> None:
        """One click on a remedy is one step."""
        if remedy.kind is RemedyKind.SET_ARG and not remedy.other:
            editor = self.inputs.inputs.editor(remedy.kit, remedy.arg) or self.inputs.inputs.first_wrong()
            if editor is not None:
                editor.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return
        self._edit(remedy.label, lambda: self.studio.composer.remedy(remedy))

    def set_input(self, kit: str, name: str, value: object) -> None:
        """Take over an input's value; typing in one field is one step."""
        text = value if isinstance(value, str) else None
        if self._typing != (kit, name):
            self._typing = (kit, name)
            self._before_typing = _entries(self.studio.composer.value.plan)
        self._edit(
            tr("Set {name}").format(name=name),
            lambda: self.studio.composer.set_arg(kit, name, text),
            field=f"{kit} {name}",
        )
        added = _entries(self.studio.composer.value.plan) - (self._before_typing or frozenset())
        self.inputs.inputs.say_effect(kit, name, _effect(added))

    def choose(self, kit: str, path: str, on: bool) -> None:
        """Switch an optional request."""
        words = tr("Switch an option on") if on else tr("Switch an option off")
        self._edit(words, lambda: self.studio.composer.choose(kit, path, on))

    def _edit(self, words: str, change: object, *, field: str = "") -> bool:
        self.banner.hide()
        self.note.hide()
        if not field:
            self._typing = None
        try:
            self.history.step(words, change, field=field)  # type: ignore[arg-type]
        except KitStudioError as error:
            self._failed(error)
            return False
        return True

    # Files

    def save(self, path: Path | None = None) -> None:
        """Write the set where it is, or ask where."""
        if path is None and self.studio.composer.value.path is None:
            chosen, _ = QFileDialog.getSaveFileName(self, tr("Save the set"), "set.yaml", tr("Sets (*.yaml *.yml)"))
            if not chosen:
                return
            path = Path(chosen)
        self._tasks.start(self._save(path), "file")

    def open_set(self, path: Path) -> None:
        """Open a set file; changes that are not saved are asked about first."""
        if not self.studio.composer.value.dirty:
            self._tasks.start(self._open(path), "file")
            return
        dialog = ConfirmDialog(
            self.theme,
            tr("Open another set?"),
            tr("The changes to {name} are not saved and would be lost.").format(name=self.studio.composer.value.name),
            tr("Open without saving"),
            self,
        )
        dialog.confirmed.connect(lambda: self._tasks.start(self._open(path), "file"))
        dialog.open()

    def export(self, path: Path, *, pin: bool = False) -> None:
        """Write a ``kind: set`` file for others."""
        self._tasks.start(self._export(path, pin=pin), "file")

    async def _open(self, path: Path) -> None:
        await self.studio.composer.open(path)
        self.history.forget()
        self._show(self.studio.composer.value)

    async def _save(self, path: Path | None) -> None:
        await self.studio.composer.save(path)
        self.history.saved()

    async def _export(self, path: Path, *, pin: bool) -> None:
        written = await self.studio.composer.export(path, pin=pin)
        self.note.tell("export", tr("Exported."), str(written), ("dismiss", tr("Close"), "close"))

    async def _add_file(self, path: Path) -> None:
        """A set file opens where nothing would be lost; any other file is a Kit to add."""
        composer = self.studio.composer
        if not composer.value.plan.members and not composer.value.dirty:
            try:
                await self._open(path)
            except KitStudioError:
                self._edit(tr("Add {kit}").format(kit=path.name), lambda: composer.add(str(path)))
            return
        self._edit(tr("Add {kit}").format(kit=path.name), lambda: composer.add(str(path)))

    # Launch and update

    def ask_launch(self) -> None:
        """Ask name and folder, then go through the gate."""
        value = self.studio.composer.value
        if not value.plan.launchable:
            return
        taken = {status.name for status in self.studio.sandboxes.list()}
        skipped = [choice for choice in value.plan.choices if not choice.supported]
        note = ""
        if skipped:
            note = tr("Left out, because this version does not enforce it: {types}").format(
                types=", ".join(sorted({kind for choice in skipped for kind in choice.types}))
            )
        dialog = LaunchDialog(self.theme, value.name, taken, note, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.chosen.connect(lambda options: self._tasks.start(self.launch(options), "launch"))
        dialog.open()

    async def launch(self, options: LaunchOptions) -> None:
        """Through the gate, then to the Sandboxes page."""
        if options.workspace is not None and not options.workspace.is_dir():
            raise KitStudioError(
                "The workspace folder is not there.",
                where=str(options.workspace),
                remedy="Choose a folder that exists.",
            )
        request = self.studio.approvals.request(lock_name(self.studio.composer.value), self.studio.composer.value.plan)
        approved = await desk_of(self.studio, self.theme, self).ask(request)
        if approved is None:
            self.note.tell(
                "info",
                tr("Not launched."),
                tr("Nothing was granted. What you left undecided waits under Approvals."),
                ("dismiss", tr("Close"), "close"),
            )
            return
        settings = self.studio.settings
        stated = replace(
            options,
            memory=options.memory or settings.number("sandbox.memory"),
            cpus=options.cpus or settings.number("sandbox.cpus"),
            accel=options.accel or settings.text("sandbox.accel"),
        )
        self.studio.sandboxes.launch(approved, stated)
        self.navigator.show_sandbox.emit(options.name)

    async def _propose(self) -> None:
        """After a replacement in a set that was approved: the gate says at once whether it asks for more."""
        before = self.steps.index()
        value = await self.studio.composer.settled()
        approvals = self.studio.approvals
        name = lock_name(value)
        if not value.plan.launchable or approvals.lock(name) is None:
            return
        request = approvals.request(name, value.plan)
        dismiss = ("dismiss", tr("Close"), "close")
        if not request.review.widens:
            self.note.tell(
                "success", tr("Nothing more is asked for."), tr("It stays within what you approved."), dismiss
            )
            return
        approved = await desk_of(self.studio, self.theme, self).ask(request)
        if approved is not None:
            self.note.tell("success", tr("Approved."), tr("The next launch uses it."), dismiss)
        elif request not in approvals.waiting() and self.steps.index() == before:
            self.steps.undo()
            self.note.tell("info", tr("Kept as it was."), tr("The replacement was taken back."), dismiss)
        else:
            self.note.tell("info", tr("Not decided."), tr("It waits under Approvals; nothing was granted."), dismiss)

    async def _offer_versions(self, reference: str, place: QPoint) -> None:
        """A menu of the versions a Kit could be replaced with."""
        details = await self.studio.catalog.details(reference)
        menu = QMenu(self)
        menu.setObjectName("versionMenu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        repository, tag = _split(reference)
        for version in details.versions[:30]:
            action = menu.addAction(version.tag)
            action.setObjectName(f"version-{version.tag}")
            action.setEnabled(version.tag != tag)
            action.triggered.connect(lambda _=False, new=f"{repository}:{version.tag}": self.replace(reference, new))
        if not details.versions:
            menu.addAction(tr("No other version is known")).setEnabled(False)
        menu.popup(place)

    def kit_menu(self, reference: str, place: QPoint) -> QMenu:
        """What can be done with one Kit of the set."""
        menu = QMenu(self)
        menu.setObjectName("kitMenu")
        member = next((m for m in self.studio.composer.value.plan.members if m.reference == reference), None)
        pinned = f"{reference.partition('@')[0]}@{member.digest}" if member is not None and member.digest else reference
        for name, words, icon, act in (
            ("open", tr("Open Kit page"), "catalog", lambda: self.navigator.open_kit.emit(reference)),
            (
                "version",
                tr("Replace version…"),
                "swap",
                lambda: self._tasks.start(self._offer_versions(reference, place), "versions"),
            ),
            ("copy", tr("Copy reference and digest"), "copy", lambda: QGuiApplication.clipboard().setText(pinned)),
            ("remove", tr("Remove"), "trash", lambda: self.remove(reference)),
        ):
            action = menu.addAction(self.theme.icon(icon, 16, Token.SECONDARY), words)
            action.setObjectName(f"kit-{name}")
            action.triggered.connect(lambda _=False, act=act: act())
        return menu

    # Drops

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        items = references_of(event.mimeData())
        if items:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.veil.tell(drop_words(items))
        else:
            event.ignore()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.veil.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.veil.hide()
        items = references_of(event.mimeData())
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        for item in items:
            self.add(item)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.veil.setGeometry(self.rect())

    # What is shown

    def _connect(self) -> None:
        composer = self.studio.composer
        self.destroyed.connect(composer.changed.subscribe(self._changed))
        self.navigator.add_to_set.connect(self.add)
        self.navigator.open_set.connect(lambda path: self.open_set(Path(path)))
        self.stack.view.menu_wanted.connect(self._popup_kit_menu)
        self.stack.view.remove_wanted.connect(self.remove)
        self.stack.view.open_wanted.connect(self.navigator.open_kit)
        self.inputs.problems.chosen.connect(self.stack.model.mark)
        self.inputs.problems.remedy_wanted.connect(self.apply_remedy)
        self.inputs.inputs.changed.connect(self.set_input)
        self.permissions.list.switched.connect(self.choose)
        self.theme.changed.connect(lambda: self._plus.setIcon(self.theme.icon("plus", 16, Token.SECONDARY)))
        for keys, act in ((QKeySequence.StandardKey.Save, self.save), (QKeySequence.StandardKey.Open, self._ask_open)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(act)

    def _changed(self, composition: Composition) -> None:
        self.history.follow(composition)
        self._show(composition)

    def _show(self, composition: Composition) -> None:
        plan = composition.plan
        empty = not plan.members and not composition.text_error
        self._stack_widget.setCurrentWidget(self.empty if empty else self.splitter)
        pinned = frozenset(
            kit.ref for kit in (composition.descriptor.kits if composition.descriptor else ()) if kit.digest
        )
        self.stack.show_plan(plan, pinned)
        self.inputs.show_plan(plan)
        self.permissions.show_plan(plan)
        if composition.text_error:
            self.banner.tell("critical", tr("The set cannot be read."), visible(composition.text_error))
        self._show_launch(composition, empty)
        self.export_button.setEnabled(not empty)
        self.title_changed.emit(self.title())
        self._say_status(composition, empty)

    def _show_launch(self, composition: Composition, empty: bool) -> None:
        plan = composition.plan
        problems = blocking(plan)
        self.launch_button.setEnabled(plan.launchable and not empty)
        if empty:
            words = tr("Launch: no Kits yet")
        elif plan.loading:
            words = tr("Launch: looking at the Kits")
        elif problems:
            words = tr("Launch: {problems}").format(problems=counted(problems, "problem", "problems"))
        elif not plan.launchable:
            words = tr("Launch: the set cannot be read")
        else:
            words = tr("Launch")
        self.launch_button.setText(words)
        self.launch_button.setAccessibleName(words)
        give_icon(self.theme, self.launch_button, "play", 16, Token.ON_ACCENT if plan.launchable else Token.DISABLED)

    def _say_status(self, composition: Composition, empty: bool) -> None:
        if empty:
            self.status_changed.emit("info", tr("Nothing has been pulled"))
        elif composition.plan.loading:
            self.status_changed.emit("spinner", tr("Looking at the Kits. Nothing has been pulled"))
        else:
            saved = tr("not saved") if composition.dirty else tr("saved")
            self.status_changed.emit("success", tr("Checked. Nothing has been pulled · {saved}").format(saved=saved))

    def _popup_kit_menu(self, reference: str, place: object) -> None:
        assert isinstance(place, QPoint)
        menu = self.kit_menu(reference, place)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(place)

    def _add_typed(self) -> None:
        text = self.reference.text().strip()
        if text:
            self.add(text)
            self.reference.clear()

    def _empty_acted(self, key: str) -> None:
        if key == "catalog":
            self.navigator.go.emit(PageName.CATALOG)
        else:
            self._ask_open()

    def _ask_open(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(self, tr("Open a set"), "", tr("Sets (*.yaml *.yml)"))
        if chosen:
            self.open_set(Path(chosen))

    def _ask_export(self, *, pin: bool) -> None:
        name = f"{self.studio.composer.value.name}-export.yaml"
        chosen, _ = QFileDialog.getSaveFileName(self, tr("Export the set"), name, tr("Sets (*.yaml)"))
        if chosen:
            self.export(Path(chosen), pin=pin)

    def _failed(self, error: KitStudioError) -> None:
        words = " ".join(part for part in (error.where, error.remedy) if part)
        self.banner.tell("critical", visible(error.what), words, ("dismiss", tr("Close"), "close"))


def lock_name(composition: Composition) -> str:
    """The name locks of this set go by: the file's, with nothing in it a lock may not have."""
    allowed = "".join(
        char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in composition.name
    )
    return allowed.strip("-._")[:63] or "untitled"


def _scrolled(content: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(content)
    area.setMinimumWidth(320)
    return area


def _entries(plan: Plan) -> frozenset[str]:
    return frozenset(_entry(permission) for permission in plan.permissions if not permission.denies)


def _entry(permission: Permission) -> str:
    return permission.entry


def _effect(added: frozenset[str]) -> str:
    if not added:
        return ""
    shown = sorted(added)
    more = tr(" and {n} more").format(n=len(shown) - 2) if len(shown) > 2 else ""
    return tr("Adds {entries}").format(entries=visible(", ".join(shown[:2]))) + more


def _short(reference: str) -> str:
    return reference.partition("@")[0].rstrip("/").rpartition("/")[2] or reference


def _split(reference: str) -> tuple[str, str]:
    name = reference.partition("@")[0]
    head, slash, tail = name.rpartition("/")
    base, _, tag = tail.partition(":")
    return f"{head}{slash}{base}", tag
