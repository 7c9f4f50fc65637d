"""How fast the window opens, next to a bare PySide6 window, in one run: ``python -m benchmarks.start``.

Each round starts one fresh process of each kind and counts, from its start to the first painted window, wall-clock
seconds and the processor's, which other work on the machine disturbs less; figures are medians. The home is a temporary
one; the catalog is the embedded demo.
"""

from __future__ import annotations

import compileall
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import kitstudio

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
from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication
import os, sys
from kitstudio.cli.main import main

class Painted(QObject):
    def eventFilter(self, watched, event):
        if isinstance(event, QPaintEvent) and watched.objectName() == "main-window":
            QTimer.singleShot(0, lambda: os._exit(0))
        return False

seen = Painted()
make = QApplication.__init__
def watched(self, *arguments):
    make(self, *arguments)
    self.installEventFilter(seen)
QApplication.__init__ = watched
main(["--home", sys.argv[1]])
"""


def main() -> None:
    """Print the medians in seconds and their ratios."""
    rounds: list[tuple[float, float, float, float]] = []
    with tempfile.TemporaryDirectory() as home:
        compileall.compile_dir(kitstudio.__path__[0], quiet=1)  # as an installation has it
        _seconds(OURS, home)
        for _ in range(ROUNDS):
            rounds.append((*_seconds(BARE), *_seconds(OURS, home)))
    bare, bare_cpu, ours, ours_cpu = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"bare window {bare:.2f} s, Kit Studio {ours:.2f} s: {ours / bare:.1f} times (aim: at most 4)")
    print(f"of the processor {bare_cpu:.2f} s and {ours_cpu:.2f} s: {ours_cpu / bare_cpu:.1f} times")


def _seconds(program: str, *arguments: str) -> tuple[float, float]:
    """Wall-clock and processor time of one process."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", program, *arguments], env=environment, timeout=60, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
