"""The Composer page: the set as a stack or a graph, its problems and inputs, the authority that follows.

The page shows what the plan says and holds no rule of its own: edits are in ``edits``, the file in ``files``, the
way to a sandbox in ``launching``, drops in ``drop``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QMenu, QScrollArea, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Remedy, RemedyKind
from kitstudio.runtime.backend import LaunchOptions
from kitstudio.services.app import Studio
from kitstudio.services.composition import Composition
from kitstudio.services.handing_on import ExportForm
from kitstudio.ui.composer.changing import Changing
from kitstudio.ui.composer.columns import InputsColumn, PermissionsColumn, StackColumn
from kitstudio.ui.composer.drop import DropTarget
from kitstudio.ui.composer.edits import Edits
from kitstudio.ui.composer.exporting import Exporting
from kitstudio.ui.composer.file_handle import FileHandle
from kitstudio.ui.composer.files import SetFiles
from kitstudio.ui.composer.folder_changes import FolderChanges
from kitstudio.ui.composer.graph.pane import GraphPane
from kitstudio.ui.composer.launching import Launching
from kitstudio.ui.composer.menus import KitActions, kit_menu, version_menu
from kitstudio.ui.composer.notices import Notices
from kitstudio.ui.composer.publishing import PublishFlow
from kitstudio.ui.composer.toolbar import Toolbar
from kitstudio.ui.drag import references_of, set_text_of
from kitstudio.ui.ending import end_with_window
from kitstudio.ui.navigator import Navigator, PageName
from kitstudio.ui.page import Page
from kitstudio.ui.sign_in.dialog import SignInDialog
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import line
from kitstudio.ui.widgets.composite import StateView
from kitstudio.ui.widgets.text import tr, visible


class ComposerPage(Page):
    """Tool bar, three columns or the graph, and the empty state."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, parent: QWidget | None = None) -> None:
        super().__init__(studio, theme, navigator, parent)
        self._last_path = ""
        self._typing_input = False
        self._tasks = Tasks(self, lambda error: self.notices.tell_failure(error))
        self.edits = Edits(studio.composer, self)
        self.steps = self.undo_stack = self.edits.stack
        self.files = SetFiles(studio, theme, self.edits, self._tasks, self)
        self.folder_changes = FolderChanges(studio, self.edits, self._tasks, self)
        self.launching = Launching(studio, theme, navigator, self._tasks, self)
        self.changing = Changing(studio, theme, navigator, self.files, self.edits, self._tasks, self)
        self.exporting = Exporting(studio, theme, self._tasks, self)
        self.publishing = PublishFlow(studio, theme, self._tasks, self)
        self.bar = Toolbar(theme)
        self.reference = self.bar.reference
        self.launch_button, self.export_button = self.bar.launch, self.bar.export
        self.notices = Notices(theme)
        self.banner, self.note, self.outside = self.notices.banner, self.notices.note, self.notices.outside
        self.stack = StackColumn(theme)
        self.stack.header.add(FileHandle(theme, lambda: studio.composer.value))
        self.inputs = InputsColumn(theme)
        self.permissions = PermissionsColumn(theme)
        self.graph = GraphPane(theme)
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
        self._views = QStackedWidget()
        for view in (self.empty, self.splitter, self.graph):
            self._views.addWidget(view)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self.bar, line(), self.notices):
            layout.addWidget(part)
        layout.addWidget(self._views, 1)
        self.drops = DropTarget(theme, self, self.stack, self.edits, studio, self._add_file)
        self.veil = self.drops.veil
        studio.composer.compare_files()
        self._connect()
        self._show(studio.composer.value)

    def title(self) -> str:
        """The file's name; a star while it is not saved."""
        value = self.studio.composer.value
        return f"{value.name}.yaml{' *' if value.dirty else ''}"

    def save_state(self) -> dict[str, str]:
        value = self.studio.composer.value
        sizes = ",".join(str(size) for size in self.splitter.sizes())
        path = str(value.path) if value.path is not None else ""
        return {"sizes": sizes, "path": path, "view": self.bar.view.value()}

    def restore_state(self, state: dict[str, str]) -> None:
        sizes = [int(part) for part in state.get("sizes", "").split(",") if part.isdigit()]
        if len(sizes) == 3 and all(sizes):
            self.splitter.setSizes(sizes)
        self._last_path = state.get("path", "")
        if state.get("view") == "graph":
            self.show_view("graph")

    async def opened(self) -> None:
        """Unsaved work of a run that ended early, else the set of the last time."""
        closed = getattr(self.window(), "closed", None)
        if closed is not None:
            closed.connect(self.files.flush)
        end_with_window(self, self._tasks)
        try:
            await self.files.begin(self._last_path)
        except KitStudioError as error:
            self.notices.tell_failure(error)

    async def ended(self) -> None:
        """End the page's work; the draft stays for the next start."""
        self._tasks.cancel()
        self.files.flush()
        await self.files.documents.close()

    def show_view(self, name: str) -> None:
        """``stack`` or ``graph``."""
        self.bar.view.choose(name)
        self._show(self.studio.composer.value)
        if name == "graph":
            self.graph.view.setFocus(Qt.FocusReason.OtherFocusReason)

    # Edits

    def add(self, reference: str) -> None:
        """Add a Kit by any spelling; a set file opens where nothing would be lost."""
        path = Path(reference.strip())
        if path.suffix in (".yaml", ".yml") and path.is_file():
            self._add_file(path)
            return
        self.edits.add(reference)

    def replace(self, old: str, new: str) -> None:
        """Another version or Kit in a Kit's place; where the set has a lock, what the change asks for is reviewed."""
        self.edits.replace(old, new)

    def save(self, path: Path | None = None) -> None:
        """Write the set where it is, or ask where."""
        self.files.save(path)

    def open_set(self, path: Path) -> None:
        """Open a set file; changes that are not saved are asked about first."""
        self.files.open(path)

    def export(self, path: Path, *, pin: bool = False) -> None:
        """Write a ``kind: set`` file for others."""
        self.exporting.export(path, ExportForm.BOTH if pin else ExportForm.STATED)

    async def launch(self, options: LaunchOptions) -> None:
        """Through the gate, then to the Sandboxes page."""
        await self.launching.launch(options)

    def apply_remedy(self, remedy: Remedy) -> None:
        """One click on a remedy is one step; a value to fill in leads to its field."""
        if remedy.kind is RemedyKind.SET_ARG and not remedy.other:
            editor = self.inputs.inputs.editor(remedy.kit, remedy.arg) or self.inputs.inputs.first_wrong()
            if editor is not None:
                editor.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return
        if remedy.kind is RemedyKind.SIGN_IN:
            dialog = SignInDialog(self.theme, self.studio, remedy.other, self)
            dialog.signed_in.connect(self._retry_all)
            dialog.open()
            return
        self.edits.remedy(remedy)

    def set_input(self, kit: str, name: str, value: object) -> None:
        """Take over an input's value, and say below its field what it adds."""
        self._typing_input = True
        try:
            self.edits.set_input(kit, name, value)
        finally:
            self._typing_input = False
        self.inputs.inputs.say_effect(kit, name, self.edits.effect(kit, name, value))

    def kit_menu(self, references: str | Sequence[str], place: QPoint) -> QMenu:
        """What can be done with Kits of the set."""
        chosen = (references,) if isinstance(references, str) else tuple(references)
        value = self.studio.composer.value
        actions = KitActions(self.navigator.open_kit.emit, self._offer_versions, self._copy)
        return kit_menu(self.theme, value.plan, _pinned(value), self.edits, actions, chosen, place, self)

    def paste(self) -> None:
        """Entries, references or paths from the clipboard."""
        data = QGuiApplication.clipboard().mimeData()
        text = set_text_of(data)
        if text:
            self.edits.paste(text)
            return
        found = references_of(data)
        if found:
            self.edits.add(*found)

    # What is shown

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.veil.setGeometry(self.rect())

    def _connect(self) -> None:
        composer = self.studio.composer
        self.destroyed.connect(composer.changed.subscribe(self._changed))
        self.navigator.add_to_set.connect(self.add)
        self.navigator.change_set.connect(self.changing.begin)
        self.navigator.open_set.connect(lambda path: self.open_set(Path(path)))
        self.bar.typed.connect(self.add)
        self.bar.view_chosen.connect(self.show_view)
        self.bar.save.clicked.connect(lambda: self.save())
        self.bar.launch.clicked.connect(self._ask_launch)
        self.bar.publish.clicked.connect(self.publishing.ask)
        self._file_menu = QMenu(self.bar.open)
        self._file_menu.setObjectName("fileMenu")
        self._file_menu.aboutToShow.connect(lambda: self.files.fill_menu(self._file_menu))
        self._file_menu.aboutToShow.connect(self._offer_editor)
        self.bar.open.setMenu(self._file_menu)
        self.exporting.fill_menu(self.bar.export)
        self.notices.serve(self.files)
        self.notices.serve_folders(self.folder_changes)
        self.edits.starts.connect(self.notices.quiet)
        self.edits.failed.connect(self.notices.tell_failure)
        self.edits.replaced.connect(lambda: self._tasks.start(self.launching.propose(self.steps), "propose"))
        for source in (self.files, self.launching, self.changing, self.exporting):
            source.told.connect(self.notices.tell)
        view = self.stack.view
        view.menu_wanted.connect(self._popup_kit_menu)
        view.remove_wanted.connect(lambda kits: self.edits.remove(*kits))
        view.open_wanted.connect(self.navigator.open_kit)
        view.versions_wanted.connect(self._offer_versions)
        view.copy_wanted.connect(self._copy)
        view.pin_wanted.connect(lambda kits: self.edits.pin(*kits))
        view.unpin_wanted.connect(lambda kits: self.edits.unpin(*kits))
        view.current_changed.connect(self.graph.choose)
        self.graph.chosen.connect(lambda kit: view.choose([kit] if kit else []))
        self.graph.view.menu_wanted.connect(lambda kit, place: self._popup_kit_menu((kit,), place))
        self.graph.view.remove_wanted.connect(self.edits.remove)
        self.graph.view.open_wanted.connect(self.navigator.open_kit)
        self.graph.inspector.open_wanted.connect(self.navigator.open_kit)
        self.graph.inspector.replace_wanted.connect(self._replace_from_graph)
        self.graph.export_wanted.connect(lambda suffix: self.exporting.ask_picture(self.graph.scene, suffix))
        self.inputs.problems.chosen.connect(self.stack.model.mark)
        self.inputs.problems.chosen.connect(self.graph.mark)
        self.inputs.problems.remedy_wanted.connect(self.apply_remedy)
        self.inputs.inputs.changed.connect(self.set_input)
        self.inputs.offer_wanted.connect(lambda inputs: self.edits.offer(*inputs))
        self.permissions.list.switched.connect(self.edits.choose)
        for keys, act in (
            (QKeySequence.StandardKey.Save, self.save),
            (QKeySequence.StandardKey.SaveAs, self.files.save_as),
            (QKeySequence.StandardKey.Open, self.files.ask_open),
            (QKeySequence.StandardKey.New, self.files.new),
            (QKeySequence.StandardKey.Paste, self.paste),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(act)

    def _ask_launch(self) -> None:
        if self.changing.sandbox:
            self.changing.ask()
        else:
            self.launching.ask()

    def _changed(self, composition: Composition) -> None:
        self.edits.history.follow(composition)
        if not self._typing_input:
            self.inputs.inputs.say_effect("", "", "")
        self.files.follow(composition)
        self._show(composition)

    def _show(self, composition: Composition) -> None:
        plan = composition.plan
        self.folder_changes.follow(composition)
        told = bool(composition.text_error) or any(problem.kits for problem in plan.problems)
        empty = not plan.members and not told
        graph = self.bar.view.value() == "graph" and not empty
        self._views.setCurrentWidget(self.empty if empty else self.graph if graph else self.splitter)
        self.stack.show_plan(plan, _pinned(composition))
        self.inputs.show_plan(plan)
        self.permissions.show_plan(plan)
        if graph:
            self.graph.show_plan(plan)
        if composition.text_error and not plan.inputs:
            self.banner.tell("critical", tr("The set cannot be read."), visible(composition.text_error))
        self.bar.show_composition(composition, empty)
        self.title_changed.emit(self.title())
        self._say_status(composition, empty)

    def _say_status(self, composition: Composition, empty: bool) -> None:
        if empty:
            self.status_changed.emit("info", tr("Nothing has been pulled"))
        elif composition.plan.loading:
            self.status_changed.emit("spinner", tr("Looking at the Kits. Nothing has been pulled"))
        else:
            saved = tr("not saved") if composition.dirty else tr("saved")
            self.status_changed.emit("success", tr("Checked. Nothing has been pulled · {saved}").format(saved=saved))

    def _add_file(self, path: Path) -> None:
        self._tasks.start(self._add_set_or_kit(path), f"add-{path}")

    async def _add_set_or_kit(self, path: Path) -> None:
        """A set file opens where nothing would be lost; any other file is a Kit to add."""
        composer = self.studio.composer
        if not composer.value.plan.members and not composer.value.dirty:
            try:
                await self.files.open_now(path)
            except KitStudioError:
                self.edits.add(str(path))
            return
        self.edits.add(str(path))

    def _offer_editor(self) -> None:
        self._file_menu.addSeparator()
        action = self._file_menu.addAction(tr("Edit a Kit’s descriptor…"))
        action.setObjectName("file-edit-kit")
        action.triggered.connect(lambda _=False: self.navigator.edit_kit.emit(""))

    def _popup_kit_menu(self, references: Sequence[str], place: QPoint) -> None:
        menu = self.kit_menu(references, place)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(place)

    def _offer_versions(self, reference: str, place: QPoint) -> None:
        async def offer() -> None:
            menu = await version_menu(self.studio.catalog, reference, self.edits.replace, self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(place)

        self._tasks.start(offer(), "versions")

    def _replace_from_graph(self, reference: str) -> None:
        inspector = self.graph.inspector
        self._offer_versions(reference, inspector.mapToGlobal(inspector.rect().center()))

    def _copy(self, references: Sequence[str]) -> None:
        QGuiApplication.clipboard().setText(self.studio.composer.copied(*references))

    def _retry_all(self, place: str) -> None:
        """After a sign-in: everything that wanted one at that registry is tried again."""
        host = place.partition("/")[0]
        for problem in self.studio.composer.value.plan.problems:
            if any(each.kind is RemedyKind.SIGN_IN and each.other == host for each in problem.remedies):
                for kit in problem.kits:
                    self.studio.composer.retry(kit)

    def _empty_acted(self, key: str) -> None:
        if key == "catalog":
            self.navigator.go.emit(PageName.CATALOG)
        else:
            self.files.ask_open()


def _pinned(composition: Composition) -> frozenset[str]:
    kits = composition.descriptor.kits if composition.descriptor else ()
    return frozenset(kit.ref for kit in kits if kit.digest)


def _scrolled(content: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(content)
    area.setMinimumWidth(320)
    return area
