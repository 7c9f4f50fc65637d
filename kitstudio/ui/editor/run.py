"""Editing without the main window: ``kitstudio edit PATH``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import qasync

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Options, Studio
from kitstudio.ui.app import make_application, theme_of
from kitstudio.ui.editor.editors import Editors
from kitstudio.ui.footer import ErrorDialog


def main(options: Options, paths: Sequence[Path]) -> int:
    """Open an editor for each path and run until the last one is closed. 1 where none could be opened."""
    application = make_application()
    loop = qasync.QEventLoop(application)
    asyncio.set_event_loop(loop)
    with loop:
        return int(loop.run_until_complete(_run(options, paths)))


async def _run(options: Options, paths: Sequence[Path]) -> int:
    studio = await Studio.open(options)
    theme = theme_of(studio)
    theme.install()
    editors = Editors(theme)
    done = asyncio.Event()
    waiting = len(set(paths))
    shown = 0
    failed = 0
    telling: list[ErrorDialog] = []

    def settle() -> None:
        if shown + failed >= waiting and not editors.windows and not telling:
            done.set()

    def opened() -> None:
        nonlocal shown
        shown += 1

    def tell(error: KitStudioError) -> None:
        nonlocal failed
        failed += 1
        dialog = ErrorDialog(theme, error)
        telling.append(dialog)
        dialog.finished.connect(lambda _: told(dialog))
        dialog.open()

    def told(dialog: ErrorDialog) -> None:
        telling.remove(dialog)
        settle()

    editors.failed.connect(tell)
    editors.opened.connect(lambda _: opened())
    editors.empty.connect(settle)
    for path in set(paths):
        editors.open(path)
    await done.wait()
    await studio.close()
    return 0 if shown else 1
