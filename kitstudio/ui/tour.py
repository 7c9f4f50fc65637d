"""The tour: the main job through the real window, from the catalog to a running sandbox and back.

``run_tour`` drives it offscreen or on a display and writes one picture a step; ``take_tour`` shows it inside the app,
on a home of its own, so that nothing of the person's is touched.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import qasync
from PySide6.QtCore import QCoreApplication, QMimeData, Qt
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QLineEdit, QPushButton

from kitstudio.models.plan import ProblemKind, RemedyKind
from kitstudio.runtime.backend import State
from kitstudio.services.app import Options, Studio
from kitstudio.services.catalog import CardKind
from kitstudio.ui.app import make_application, page_factories
from kitstudio.ui.approvals.desk import open_dialog
from kitstudio.ui.approvals.dialog import ApprovalDialog
from kitstudio.ui.catalog.drag_handle import DragMonogram
from kitstudio.ui.catalog.page import CatalogPage
from kitstudio.ui.composer.page import ComposerPage
from kitstudio.ui.main_window import MainWindow
from kitstudio.ui.navigator import PageName
from kitstudio.ui.sandboxes.page import SandboxesPage
from kitstudio.ui.theme import Mode, Theme
from kitstudio.ui.tour_guide import Guide, TourError

SIZE = (1280, 800)
WORKLOAD = "demo.invalid/hello"
GREETER = "demo.invalid/greeter"
NOTES = "demo.invalid/notes"
RIVAL = "demo.invalid/rival-notes"
APPROVED_VERSION = "1.1.0"
WIDER_VERSION = "2.0.0"
LAUNCH_SECONDS = 180.0
SET_NAME = "tour"
SANDBOX = "tour"
PACE = 1.0
"""Seconds between steps when a person watches."""


def run_tour(out: Path, options: Options) -> dict[str, object]:
    """Drive the whole tour; the summary of ``kitstudio tour --json``. Pictures go to ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    if not any(os.environ.get(name) for name in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY")):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = make_application()
    loop = qasync.QEventLoop(application)
    asyncio.set_event_loop(loop)
    theme = Theme(Mode.LIGHT)
    theme.install()
    with loop:
        made: dict[str, object] = loop.run_until_complete(_fresh(theme, options, out))
    return made


async def take_tour(theme: Theme, options: Options, out: Path) -> dict[str, object]:
    """The tour in a second window, while the person's own stays open."""
    out.mkdir(parents=True, exist_ok=True)
    return await _fresh(theme, options, out, PACE)


async def _fresh(theme: Theme, options: Options, out: Path, pace: float = 0.0) -> dict[str, object]:
    """A home that is made for the tour and goes with it; a sandbox of the tour is removed, too."""
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs)
    with tempfile.TemporaryDirectory(prefix="kitstudio-tour-") as folder:
        studio = await Studio.open(replace(options, home=Path(folder), offline=True))
        window = MainWindow(studio, theme, page_factories())
        window.resize(*SIZE)
        window.show()
        guide = Guide(window, out, pace)
        try:
            await Tour(guide, studio).run()
        finally:
            await _tidy(studio)
            window.close()
            window.deleteLater()
            await studio.close()
        return guide.summary()


async def _tidy(studio: Studio) -> None:
    for status in await studio.sandboxes.refresh():
        await studio.sandboxes.remove(status.name).wait()


class Tour:
    """The steps, in order. The first one that fails ends the tour; its picture shows where."""

    def __init__(self, guide: Guide, studio: Studio) -> None:
        self.guide = guide
        self.studio = studio
        self.window = guide.window

    async def run(self) -> None:
        steps: tuple[tuple[str, Callable[[], Awaitable[None]]], ...] = (
            ("start", self.start),
            ("search", self.search),
            ("kit page", self.kit_page),
            ("drag into a set", self.drag_into_a_set),
            ("conflict", self.conflict),
            ("remedy", self.remedy),
            ("input", self.set_input),
            ("first grant", self.first_grant),
            ("launch", self.launch),
            ("ready", self.ready),
            ("terminal", self.terminal),
            ("propose the update", self.propose_update),
            ("widening", self.widening),
            ("refuse", self.refuse),
            ("stop", self.stop),
            ("export", self.export),
        )
        for name, work in steps:
            if not await self.guide.step(name, work):
                return

    # pages, by what they are

    @property
    def catalog(self) -> CatalogPage:
        page = self.window.pages[PageName.CATALOG]
        assert isinstance(page, CatalogPage)
        return page

    @property
    def composer(self) -> ComposerPage:
        page = self.window.pages[PageName.COMPOSER]
        assert isinstance(page, ComposerPage)
        return page

    @property
    def sandboxes(self) -> SandboxesPage:
        page = self.window.pages[PageName.SANDBOXES]
        assert isinstance(page, SandboxesPage)
        return page

    # steps

    async def start(self) -> None:
        await self.window.open_pages()
        model = self.catalog.model
        await self.guide.until(
            lambda: len(model.cards) >= 10 and all(card.kind is not CardKind.LOADING for card in model.cards),
            "the demo catalog lists its Kits",
        )

    async def search(self) -> None:
        field = self.window.header.search
        await self.guide.press(self.window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        await self.guide.type(field, "hello")
        await self.guide.until(
            lambda: bool(self.catalog.model.cards) and self.catalog.model.cards[0].display_name == "Hello",
            "Hello is the best match",
        )

    async def kit_page(self) -> None:
        model = self.catalog.model
        await self.guide.click_row(self.catalog.cards, model.index(0, 0))
        await self.guide.until(lambda: self._shown().startswith(WORKLOAD), "the page of hello is shown")
        self.catalog.kit.page.choose_tab("permissions")

    async def drag_into_a_set(self) -> None:
        await self._carry_card(WORKLOAD)
        await self._open_kit(f"{GREETER}")
        await self._choose_version(APPROVED_VERSION)
        handle = self.guide.find(DragMonogram, "kit-handle")
        data = handle.mime()
        if data is None:
            raise TourError("The greeter cannot be dragged.", where=GREETER)
        await self._over_the_rail(data)
        await self.guide.drag(data, self.composer)
        await self._carry_card(NOTES)
        await self._settled()
        members = [member.reference.partition("@")[0] for member in self.studio.composer.value.plan.members]
        wanted = (WORKLOAD, f"{GREETER}:{APPROVED_VERSION}", NOTES)
        if not all(any(reference.startswith(name) for reference in members) for name in wanted):
            raise TourError(f"The set holds {', '.join(members) or 'nothing'}.", where="composer")

    async def conflict(self) -> None:
        await self._carry_card(RIVAL)
        await self._settled()
        await self.guide.until(lambda: ProblemKind.CONFLICT in self._kinds(), "the conflict is named")

    async def remedy(self) -> None:
        problem = next(p for p in self.studio.composer.value.plan.problems if p.kind is ProblemKind.CONFLICT)
        remedy = next((r for r in problem.remedies if r.kind is RemedyKind.REMOVE and r.kit.startswith(RIVAL)), None)
        if remedy is None:
            raise TourError("The conflict offers no way out.", where=problem.message)
        await self.guide.click(self._button(remedy.label))
        await self._settled()
        await self.guide.until(lambda: ProblemKind.CONFLICT not in self._kinds(), "the conflict is gone")

    async def set_input(self) -> None:
        field = self.guide.find(QLineEdit, "input-name")
        await self.guide.type(field, "Ada", enter=True)
        await self._settled()
        await self.guide.until(lambda: self.studio.composer.value.plan.launchable, "the set may be launched")

    async def first_grant(self) -> None:
        await self.guide.click(self.composer.launch_button)
        name = self.guide.find(QLineEdit, "launchName")
        name.selectAll()
        await self.guide.type(name, SANDBOX)
        await self.guide.click(self.guide.find(QPushButton, "launchGo"))
        await self.guide.until(lambda: open_dialog() is not None, "the approval dialog appears")

    async def launch(self) -> None:
        dialog = self._dialog()
        for tick in dialog.ticks():
            await self.guide.click(tick)
        await self.guide.click(dialog.approve)
        await self.guide.until(lambda: self.window.page is PageName.SANDBOXES, "the launch is shown")
        await self.guide.until(
            lambda: any(self.studio.sandboxes.launching(s) is not None for s in self._names()) or self._running(),
            "the launch makes progress",
        )

    async def ready(self) -> None:
        await self.guide.until(lambda: self._running() or bool(self.window.tells), "it runs", LAUNCH_SECONDS)
        if self.window.tells:
            raise self.window.tells[-1]
        await self.guide.until(lambda: "Hello" in self._screen(), "the workload greets in the terminal", 60)

    async def terminal(self) -> None:
        panel = self.sandboxes.panel(self._name())
        if panel is None:
            raise TourError("The terminal is not there.")
        await self.guide.type(panel.view, "echo tour-$((6*7))", enter=True)
        await self.guide.until(lambda: "tour-42" in self._screen(), "the command answers tour-42", 60)

    async def propose_update(self) -> None:
        self.window.rail.buttons[PageName.COMPOSER].click()
        stack = self.composer.stack
        at = next((n for n, row in enumerate(stack.model.rows()) if row.reference.startswith(GREETER)), -1)
        if at < 0:
            raise TourError("The greeter is not in the set.", where="composer")
        await self.guide.click(stack.view.viewport(), stack.view.more_rect(at).center())
        await self.guide.choose("kitMenu", "kit-version")
        await self.guide.until(lambda: self.guide.menu("versionMenu") is not None, "the versions are offered")

    async def widening(self) -> None:
        await self.guide.choose("versionMenu", f"version-{WIDER_VERSION}")
        await self.guide.until(lambda: open_dialog() is not None, "the approval dialog appears")
        if self._dialog().approve.isEnabled() and self._dialog().ticks():
            raise TourError("Approving is possible before the critical changes are ticked.")

    async def refuse(self) -> None:
        lock = await self._lock()
        await self.guide.click(self._dialog().keep)
        await self.guide.until(lambda: open_dialog() is None, "the dialog is answered")
        if await self._lock() != lock:
            raise TourError("Refusing changed the lock that is in force.")

    async def stop(self) -> None:
        self.window.rail.buttons[PageName.SANDBOXES].click()
        name = self._name()
        await self.guide.click(self.guide.find(QPushButton, "sandboxSwitch"))
        await self.guide.until(lambda: self._state(name) is State.STOPPED, "it is stopped", 60)

    async def export(self) -> None:
        self.window.rail.buttons[PageName.COMPOSER].click()
        target = self.guide.out.absolute() / f"{SET_NAME}.yaml"
        target.unlink(missing_ok=True)
        await self.guide.click(self.composer.export_button)
        await self.guide.choose("", "export-plain")
        await self.guide.until(lambda: self._file_dialog() is not None, "a place for the file is asked for")
        dialog = self._file_dialog()
        assert dialog is not None
        field = dialog.findChild(QLineEdit, "fileNameEdit")
        if field is None:
            raise TourError("The file dialog has no name field.")
        field.selectAll()
        await self.guide.type(field, str(target), enter=True)
        await self.guide.until(target.exists, "the set file is written")

    # parts of steps

    def _shown(self) -> str:
        details = self.catalog.kit.details
        return details.card.reference if details is not None else ""

    async def _open_kit(self, name: str) -> None:
        self.window.rail.buttons[PageName.CATALOG].click()
        field = self.window.header.search
        field.selectAll()
        await self.guide.type(field, name.rpartition("/")[2])
        await self._row_of(name)
        at = self.catalog.model.row_of(name)
        await self.guide.click_row(self.catalog.cards, self.catalog.model.index(at, 0))
        await self.guide.until(lambda: self._shown().startswith(name), f"the page of {name} is shown")

    async def _choose_version(self, tag: str) -> None:
        combo = self.guide.find(QComboBox, "kit-version")
        combo.setFocus()
        for _ in range(combo.count()):
            if combo.currentData() == tag:
                break
            await self.guide.press(combo, Qt.Key.Key_Down)
        await self.guide.until(lambda: self._shown().endswith(f":{tag}"), f"version {tag} is shown")

    async def _row_of(self, name: str) -> None:
        await self.guide.until(lambda: self.catalog.model.row_of(name) >= 0, f"{name} is listed")

    async def _carry_card(self, name: str) -> None:
        """From its card over the rail onto the stack."""
        self.window.rail.buttons[PageName.CATALOG].click()
        field = self.window.header.search
        field.setFocus()
        field.selectAll()
        await self.guide.type(field, name.rpartition("/")[2])
        await self._row_of(name)
        model = self.catalog.model
        data = model.mimeData([model.index(model.row_of(name), 0)])
        await self._over_the_rail(data)
        await self.guide.drag(data, self.composer)

    async def _over_the_rail(self, data: QMimeData) -> None:
        """The drag rests on the composer's button until its page opens."""
        button = self.window.rail.buttons[PageName.COMPOSER]
        await self.guide.rest(
            data, button, lambda: self.window.page is PageName.COMPOSER, "the composer opens under the drag"
        )

    async def _settled(self) -> None:
        async with asyncio.timeout(60):
            await self.studio.composer.settled()
        await self.guide.settle()

    def _kinds(self) -> set[ProblemKind]:
        return {problem.kind for problem in self.studio.composer.value.plan.problems}

    def _button(self, label: str) -> QPushButton:
        buttons: list[QPushButton] = self.composer.findChildren(QPushButton)
        for candidate in buttons:
            if candidate.text() == label and candidate.isVisible():
                return candidate
        raise TourError(f"There is no button “{label}”.", where="composer")

    def _dialog(self) -> ApprovalDialog:
        dialog = open_dialog()
        if dialog is None:
            raise TourError("The approval dialog is not there.")
        return dialog

    def _names(self) -> list[str]:
        running = [job.view.title.partition(" ")[2] for job in self.studio.jobs.running()]
        return [*running, *(status.name for status in self.studio.sandboxes.list())]

    def _name(self) -> str:
        found = self.studio.sandboxes.list()
        if not found:
            raise TourError("There is no sandbox.")
        return found[0].name

    def _state(self, name: str) -> State | None:
        return next((s.state for s in self.studio.sandboxes.list() if s.name == name), None)

    def _running(self) -> bool:
        return any(status.state in (State.RUNNING, State.WAITING) for status in self.studio.sandboxes.list())

    def _screen(self) -> str:
        """What the terminal shows and has scrolled away."""
        panel = self.sandboxes.panel(self._name())
        return "\n".join(row.text for row in panel.view.vt.rows()) if panel is not None else ""

    def _file_dialog(self) -> QFileDialog | None:
        found = (w for w in QApplication.topLevelWidgets() if isinstance(w, QFileDialog) and w.isVisible())
        return next(found, None)

    async def _lock(self) -> object:
        names = await self.studio.approvals.names()
        return await self.studio.approvals.lock(names[0]) if names else None
