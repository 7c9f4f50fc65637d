"""The record of egress decisions: a ring in memory for the views, JSON lines on disk with a bound."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path

from kitstudio.runtime.backend import Decision
from kitstudio.runtime.codec import from_json, to_json

KEPT = 2000
log = logging.getLogger("kitstudio.supervisor")
FILE_LIMIT = 4 << 20


class DecisionLog:
    """Decisions of one sandbox, newest last. The file turns over once, so at most twice ``FILE_LIMIT`` is kept."""

    def __init__(self, file: Path | None = None, changed: Callable[[], None] = lambda: None) -> None:
        self._ring: deque[Decision] = deque(maxlen=KEPT)
        self._file = file
        self._changed = changed
        self.refused = 0
        if file is not None and file.exists():
            self._ring.extend(read_decisions(file))
            self.refused = sum(d.verdict == "refused" for d in self._ring)

    def add(self, decision: Decision) -> None:
        """Keep one decision."""
        self._ring.append(decision)
        self.refused += decision.verdict == "refused"
        if self._file is not None:
            try:
                _append(self._file, json.dumps(to_json(decision)) + "\n")
            except OSError as error:  # a full disk takes no sandbox's network away; the ring still has it
                log.warning("a decision was not written: %s", error)
        self._changed()

    def all(self) -> tuple[Decision, ...]:
        """What is kept, oldest first."""
        return tuple(self._ring)


def _append(file: Path, line: str) -> None:
    if file.exists() and file.stat().st_size > FILE_LIMIT:
        file.replace(file.with_suffix(".old"))
    with file.open("a", encoding="utf-8") as out:
        out.write(line)


def read_decisions(file: Path) -> tuple[Decision, ...]:
    """The decisions of a log file; a line cut short by a crash is left out."""
    if not file.exists():
        return ()
    found: deque[Decision] = deque(maxlen=KEPT)
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                found.append(from_json(Decision, json.loads(line)))
            except ValueError:
                continue
    return tuple(found)
