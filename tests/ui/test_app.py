"""Start and end of the program, as processes: exit codes, time, and what is said without a display."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from kitstudio.ui.app import collect_here

START_AND_CLOSE = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from kitstudio.services.app import Options
from kitstudio.ui import app
from kitstudio.ui.main_window import MainWindow

def close():
    for widget in QApplication.topLevelWidgets():
        if isinstance(widget, MainWindow) and widget.isVisible():
            print("window", flush=True)
            {before}
            widget.close()
            return
    QTimer.singleShot(50, close)

made = app.make_application()
QTimer.singleShot(50, close)
sys.exit(app.main(Options(home=Path({home!r}))))
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_window_opens_and_closing_it_ends_with_zero(tmp_path: Path) -> None:
    done = run(START_AND_CLOSE.format(home=str(tmp_path), before=""), QT_QPA_PLATFORM="offscreen")
    assert "window" in done.stdout, done.stderr
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_quitting_with_a_dialog_open_ends_with_zero_row_122(tmp_path: Path) -> None:
    before = "widget.pages['catalog'].add_source()"
    done = run(START_AND_CLOSE.format(home=str(tmp_path), before=before), QT_QPA_PLATFORM="offscreen")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_quitting_during_a_job_that_does_not_listen_ends_in_time_row_122(tmp_path: Path) -> None:
    before = (
        "import asyncio; widget.studio.jobs.run('Waiting', lambda job: asyncio.shield(asyncio.get_running_loop()"
        ".create_task(asyncio.sleep(600))))"
    )
    done = run(START_AND_CLOSE.format(home=str(tmp_path), before=before), QT_QPA_PLATFORM="offscreen")
    assert done.returncode == 0, done.stderr


def test_quitting_while_a_thread_does_not_answer_ends_in_time(tmp_path: Path) -> None:
    before = "import asyncio, time; widget.studio.jobs.run('Asking', lambda job: asyncio.to_thread(time.sleep, 300))"
    done = run(START_AND_CLOSE.format(home=str(tmp_path), before=before), QT_QPA_PLATFORM="offscreen")
    assert done.returncode == 0, done.stderr


def test_without_a_display_it_says_so(tmp_path: Path) -> None:
    script = (
        "import sys; from kitstudio.ui import app; from kitstudio.services.app import Options;"
        f"from pathlib import Path; sys.exit(app.main(Options(home=Path({str(tmp_path)!r}))))"
    )
    done = run(script)
    assert done.returncode == 1
    assert "display" in done.stderr


def test_garbage_is_collected_in_the_thread_of_the_windows(qapp: QApplication) -> None:
    try:
        collect_here(qapp)
        assert not gc.isenabled()
        timer = qapp.findChildren(QTimer)[-1]
        held = Cycle()
        gone = weakref.ref(held)
        del held
        timer.timeout.emit()
        assert gone() is None
        timer.stop()
    finally:
        gc.enable()


class Cycle:
    """Holds itself."""

    def __init__(self) -> None:
        self.itself = self
