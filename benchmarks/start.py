"""How fast the window opens, next to a bare PySide6 window, in one run: ``python -m benchmarks.start``.

Each round starts a fresh process and counts wall-clock seconds from its start to the first painted window; figures
are medians. The home is a temporary one; the catalog is the embedded demo.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
BARE = """
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication([])
window = QMainWindow()
window.resize(1280, 800)
window.show()
QTimer.singleShot(0, app.quit)
app.exec()
"""
OURS = """
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication
from pathlib import Path
import os, sys
from kitstudio.services.app import Options
from kitstudio.ui import app as program
from kitstudio.ui.main_window import MainWindow

class Painted(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint and isinstance(watched, MainWindow):
            QTimer.singleShot(0, lambda: os._exit(0))
        return False

seen = Painted()
make = QApplication.__init__
def watched(self, *arguments):
    make(self, *arguments)
    self.installEventFilter(seen)
QApplication.__init__ = watched
program.main(Options(home=Path(sys.argv[1])))
"""


def main() -> None:
    """Print both medians in seconds and their ratio."""
    bare = statistics.median(_seconds(BARE) for _ in range(ROUNDS))
    with tempfile.TemporaryDirectory() as home:
        ours = statistics.median(_seconds(OURS, home) for _ in range(ROUNDS))
    print(f"bare window {bare:.2f} s, Kit Studio {ours:.2f} s: {ours / bare:.1f} times (aim: at most 4)")


def _seconds(program: str, *arguments: str) -> float:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, *arguments], env=environment, timeout=60, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
