"""The catalog's figures: ``python -m benchmarks.catalog``.

Times are this thread's own (what the window is held up where nothing else keeps the processor), with the wall clock
beside them.

Window: ten thousand synthetic Kits in the real page, offscreen. A keystroke is the work from changed words to painted
rows; scrolling is the painting of one viewport of rows that were not painted before; memory is the resident size of a
process that holds the page. Registry: ``benchmarks.preflight``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Taken: TypeAlias = tuple[float, float]
"""Seconds of this thread, and of the wall clock."""
KITS = 10_000
TYPED = ("agent", "forge a", "publisher-3", "ledger log")
SCROLLS = 60
WINDOW = (1280, 800)


def main() -> None:
    """Print every figure with its aim; the window's in a process of its own, so that memory is its own."""
    if "--window" in sys.argv:
        window()
        return
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    subprocess.run([sys.executable, "-m", "benchmarks.catalog", "--window"], env=environment, timeout=600, check=True)
    if "--no-registry" not in sys.argv:
        from benchmarks import preflight

        preflight.main()


def window() -> None:
    """Filter, scroll and memory of the page."""
    from PySide6.QtWidgets import QApplication

    from kitstudio.ui.catalog.page import CatalogPage
    from kitstudio.ui.navigator import Navigator
    from kitstudio.ui.theme import Mode, Theme
    from tests.ui.catalog.stock import Stock, many, studio_on

    application = QApplication.instance() or QApplication([])
    theme = Theme(Mode.LIGHT)
    theme.install()
    stock = Stock()
    page = CatalogPage(studio_on(stock), theme, Navigator())  # type: ignore[arg-type]
    page.resize(*WINDOW)
    page.show()
    for _ in range(20):
        application.processEvents()
    stock.put(*many(KITS))
    turns = []
    while page.listing.pending or len(page.model.cards) < KITS:
        turns.append(_seconds(application.processEvents))
    application.processEvents()
    longest, wall = max(turns)
    print(f"longest turn of the loop while the Kits come in: {longest * 1000:.1f} ms (wall clock {wall * 1000:.1f} ms)")
    _tell_all("filter, one keystroke", _keystrokes(page), 16)
    page.type_now("")
    application.processEvents()
    _tell_all("scroll, one viewport painted", _scrolls(page), 8)
    print(f"memory with {KITS:,} Kits: {_resident():.0f} MB (aim: below 250)")


def _keystrokes(page: object) -> list[Taken]:
    taken = []
    for words in TYPED:
        for end in (*range(1, len(words) + 1), *range(len(words) - 1, -1, -1)):
            taken.append(_seconds(lambda text=words[:end]: _typed(page, text)))  # type: ignore[misc]
    return taken


def _typed(page: object, text: str) -> None:
    page.type_now(text)  # type: ignore[attr-defined]
    page.cards.viewport().repaint()  # type: ignore[attr-defined]


def _scrolls(page: object) -> list[Taken]:
    bar = page.cards.verticalScrollBar()  # type: ignore[attr-defined]
    height = page.cards.viewport().height()  # type: ignore[attr-defined]
    taken = []
    for step in range(SCROLLS):
        bar.setValue(bar.value() + height * (1 + step % 5))
        taken.append(_seconds(page.cards.viewport().repaint))  # type: ignore[attr-defined]
    return taken


def _seconds(work: Callable[[], object]) -> Taken:
    began, wall = time.thread_time(), time.perf_counter()
    work()
    return time.thread_time() - began, time.perf_counter() - wall


def _tell_all(name: str, taken: list[Taken], aim: float) -> None:
    own = [seconds * 1000 for seconds, _ in taken]
    wall = statistics.median(seconds * 1000 for _, seconds in taken)
    slow = statistics.quantiles(own, n=20)[-1]
    print(
        f"{name}: median {statistics.median(own):.1f} ms, 19 of 20 within {slow:.1f} ms (aim: {aim} ms; "
        f"wall clock {wall:.1f} ms)"
    )


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
