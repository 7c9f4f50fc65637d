"""Starting and ending the window: one loop for asyncio and Qt, errors at start told, an end within three seconds."""

from __future__ import annotations

import asyncio
import gc
import importlib
import itertools
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import qasync
from PySide6.QtCore import QCoreApplication, QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QDialog

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Options, Studio
from kitstudio.ui.footer import ErrorDialog
from kitstudio.ui.main_window import MainWindow, PageFactory
from kitstudio.ui.navigator import PageName
from kitstudio.ui.tasks import Tasks, fault
from kitstudio.ui.theme import Mode, Theme
from kitstudio.ui.tour_dialog import TourDialog

PAGES = {
    PageName.CATALOG: ("kitstudio.ui.catalog.page", "CatalogPage"),
    PageName.COMPOSER: ("kitstudio.ui.composer.page", "ComposerPage"),
    PageName.APPROVALS: ("kitstudio.ui.approvals.page", "ApprovalsPage"),
    PageName.SANDBOXES: ("kitstudio.ui.sandboxes.page", "SandboxesPage"),
    PageName.SETTINGS: ("kitstudio.ui.settings.page", "SettingsPage"),
}
CLOSING = 3.0
COLLECT = 5000
"""Milliseconds between two collections of young garbage; every ``OLD_EVERY``-th takes the old along."""
OLD_EVERY = 12


def main(options: Options, set_file: Path | None = None) -> int:
    """Open the window and run until it is closed. Without a display: a message, and 1."""
    if not has_display():
        print(
            "There is no display. The main job runs offscreen with pictures: kitstudio tour --out DIR",
            file=sys.stderr,
        )
        return 1
    application = make_application()
    collect_here(application)
    loop = qasync.QEventLoop(application)
    asyncio.set_event_loop(loop)
    with loop:
        return int(loop.run_until_complete(_run(options, set_file)))


def has_display() -> bool:
    """True where a window can be shown: not Linux, a chosen platform plugin, or a display server."""
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY"))


def make_application() -> QApplication:
    """The one application object, named."""
    qInstallMessageHandler(_told_by_qt)
    existing = QApplication.instance()
    application = existing if isinstance(existing, QApplication) else QApplication(sys.argv[:1])
    QCoreApplication.setApplicationName("kitstudio")
    application.setApplicationDisplayName("Kit Studio")
    application.setDesktopFileName("kitstudio")
    application.setQuitOnLastWindowClosed(False)
    return application


def collect_here(application: QApplication) -> None:
    """Collect cyclic garbage in the thread of the windows only: what holds Qt objects must not be deleted elsewhere,
    and the registry's and the disk's threads would do just that."""
    gc.disable()
    turns = itertools.count(1)
    timer = QTimer(application)
    timer.setInterval(COLLECT)
    timer.timeout.connect(lambda: gc.collect(2 if next(turns) % OLD_EVERY == 0 else 1))
    timer.start()


def page_factories() -> dict[PageName, PageFactory]:
    """Every page, imported when it is built."""
    return {name: _factory(*place) for name, place in PAGES.items()}


def theme_of(studio: Studio) -> Theme:
    """The theme the settings ask for, not yet on the application."""
    return Theme(Mode(studio.settings.text("ui.theme")), float(str(studio.settings.get("ui.text_scale"))))


async def open_window(options: Options) -> tuple[Studio, MainWindow]:
    """A studio and its window, shown. Raises what a person must be told."""
    studio = await Studio.open(options)
    theme = theme_of(studio)
    window = MainWindow(studio, theme, page_factories())
    theme.install()  # last: dressed once, not again for every layout that is filled
    window.show()
    return studio, window


async def _run(options: Options, set_file: Path | None) -> int:
    while True:
        try:
            studio, window = await open_window(options)
            break
        except KitStudioError as error:
            if not await _ask_again(error):
                return 1
        except Exception as error:  # noqa: BLE001 - the last place that can tell a person
            if not await _ask_again(fault(error)):
                return 1
    closed = asyncio.Event()
    window.closed.connect(closed.set)
    tours = Tasks(window, window.tell_error)
    window.tour_wanted.connect(lambda: tours.start(_tour(window), "tour"))
    await window.painted()
    tours.start(studio.start(), "start")
    await window.open_pages()
    if set_file is not None:
        window.navigator.open_set.emit(str(set_file))
    await closed.wait()
    _leave_after(CLOSING)
    await studio.close()
    await _end_tasks()
    return 0


async def _end_tasks() -> None:
    """Cancel what pages and dialogs still have under way, so that nothing of it meets a loop that has ended."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=CLOSING / 3)


def _leave_after(seconds: float) -> None:
    """Whatever still holds a thread then (a request that does not answer) does not hold the program."""
    sys.stdout.flush()
    leave = threading.Timer(seconds, os._exit, (0,))
    leave.daemon = True
    leave.start()


async def _ask_again(error: KitStudioError) -> bool:
    """Tell why the start failed; True to try again."""
    theme = Theme()
    theme.install()
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    dialog = ErrorDialog(theme, error, retry=True)
    dialog.finished.connect(answer.set_result)
    dialog.open()
    return await answer == QDialog.DialogCode.Accepted


async def _tour(window: MainWindow) -> None:
    """The tour in a window and a home of its own, then what came of it."""
    from kitstudio.ui.tour import take_tour

    out = window.studio.home.data / "tour"
    summary = await take_tour(window.theme, window.studio.options, out)
    TourDialog(window.theme, summary, out, window).open()


def _told_by_qt(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """Qt's messages on standard error, without what the offscreen platform says it cannot do."""
    if kind is not QtMsgType.QtDebugMsg and not text.startswith("This plugin does not support"):
        print(text, file=sys.stderr)


def _factory(module: str, name: str) -> PageFactory:
    def build(*arguments: object) -> object:
        made: Callable[..., object] = getattr(importlib.import_module(module), name)
        return made(*arguments)

    return build  # type: ignore[return-value]
