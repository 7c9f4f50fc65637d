"""Which manifests are asked for: those of the rows looked at last, a few at a time, each kept one once."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

LOOKED_AT = 150
"""Milliseconds between asking for the manifests of visible cards."""
ASKED_AT_ONCE = 24


class Wanting(QObject):
    """``ask(reference)`` is called for what is wanted. Nothing is asked for before ``begin``."""

    def __init__(self, ask: Callable[[str], None], parent: QObject) -> None:
        super().__init__(parent)
        self._ask = ask
        self._begun = False
        self._wanted: dict[str, None] = {}
        self._kept_asked: set[tuple[str, float]] = set()
        self._looking = QTimer(self, singleShot=True, interval=LOOKED_AT)
        self._looking.timeout.connect(self._ask_wanted)

    @property
    def count(self) -> int:
        """How many are about to be asked for."""
        return len(self._wanted)

    def begin(self) -> None:
        """The loop runs and what is kept is shown."""
        self._begun = True
        if self._wanted:
            self._looking.start()

    def want(self, reference: str, fetched_at: float = 0.0) -> None:
        """A row is seen that is not known, or only from what was kept then; the latter is asked for once."""
        if fetched_at:
            if (reference, fetched_at) in self._kept_asked:
                return
            self._kept_asked.add((reference, fetched_at))
        self._wanted.pop(reference, None)
        self._wanted[reference] = None
        if self._begun and not self._looking.isActive():
            self._looking.start()

    def renew(self) -> None:
        """A source is read again: what was kept may be asked for once more."""
        self._kept_asked.clear()

    def _ask_wanted(self) -> None:
        """Only what was looked at last is fetched; a row scrolled past long ago asks again when it is seen."""
        wanted, self._wanted = list(self._wanted)[-ASKED_AT_ONCE:], {}
        for reference in wanted:
            self._ask(reference)
