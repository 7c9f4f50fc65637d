"""Undo for the composer: a step is a pair of ``SetState`` snapshots, whoever made the change."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand, QUndoStack

from kitstudio.services.composer import Composer
from kitstudio.services.composition import Composition, SetState

_TYPING = 1


class _Step(QUndoCommand):
    """Goes back and forth between two states. Steps of typing in one field merge."""

    def __init__(self, history: SetHistory, text: str, before: SetState, after: SetState, field: str) -> None:
        super().__init__(text)
        self._history = history
        self._before, self._after, self._field = before, after, field
        self._made = True

    def undo(self) -> None:
        self._history.go(self._before)

    def redo(self) -> None:
        if self._made:
            self._made = False
        else:
            self._history.go(self._after)

    def id(self) -> int:
        return _TYPING if self._field else -1

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _Step) or other._field != self._field:
            return False
        self._after = other._after
        return True


class SetHistory:
    """Watches the composition and keeps every change as one step, also those that arrive later (adopted folders)."""

    def __init__(self, composer: Composer, stack: QUndoStack) -> None:
        self._composer = composer
        self._stack = stack
        self._state = composer.value.state
        self._going = False
        self._before: SetState | None = None
        self._text = ""
        self._field = ""
        self._fallback = ""

    def step(self, text: str, change: Callable[[], object], *, field: str = "") -> None:
        """Make a change as one step called ``text``, however many compositions it publishes.

        With a ``field`` it merges with the step before.
        """
        self._text, self._field = text, field
        self._fallback = text
        before, self._before = self._state, self._state
        try:
            change()
        finally:
            self._before = None
            self._text = self._field = ""
            if self._state != before and not self._going:
                self._stack.push(_Step(self, text, before, self._state, field))

    def forget(self) -> None:
        """Another document: its history starts empty."""
        self._stack.clear()
        self._state = self._composer.value.state

    def saved(self) -> None:
        """The document was written as it is now."""
        self._stack.setClean()

    def follow(self, composition: Composition) -> None:
        """Called with every published composition."""
        if composition.state == self._state:
            return
        before, self._state = self._state, composition.state
        if not self._going and self._before is None:
            text = self._text or self._fallback
            self._stack.push(_Step(self, text, before, composition.state, self._field))

    def go(self, state: SetState) -> None:
        """Show an earlier or later state."""
        self._going = True
        try:
            self._composer.apply(state)
            self._state = self._composer.value.state
        finally:
            self._going = False
