"""What a subject of the settings page is, and the list of them.

A subject is a ``SettingsSection`` built from a ``SettingsContext``; it starts no task while it is built. Others add
theirs with ``register``: key, icon, title, place in the order, and the class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QUndoCommand, QUndoStack
from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.app import Studio
from kitstudio.services.settings import Settings
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.settings.rows import Section
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.text import tr


@dataclass(frozen=True, slots=True)
class SettingsContext:
    """What every subject works with. ``tasks`` end with the page; ``fail`` tells a failure in the footer."""

    studio: Studio
    theme: Theme
    navigator: Navigator
    tasks: Tasks
    undo: QUndoStack
    fail: Callable[[KitStudioError], None]

    @property
    def settings(self) -> Settings:
        return self.studio.settings

    def set(self, key: str, value: object, words: str) -> bool:
        """Change one setting as one undoable step; False, and told, where it is refused."""
        try:
            fresh = self.settings.check(key, value)
            before = self.settings.get(key)
            if fresh == before:
                return True
            self.settings.set(key, fresh)
        except KitStudioError as error:
            self.fail(error)
            return False
        self.undo.push(_Change(self, key, before, fresh, words))
        return True


class SettingsSection(Section):
    """One subject. ``look`` is called whenever the page comes into sight, ``changed`` after each change of a setting,
    by whatever caused it."""

    key = ""

    def __init__(self, context: SettingsContext, title: str, about: str = "", parent: QWidget | None = None) -> None:
        super().__init__(context.theme, title, about, parent)
        self.context = context
        self.studio = context.studio
        self.destroyed.connect(context.settings.changed.subscribe(self.changed))

    def look(self) -> None:
        """The page is looked at: start what is measured or asked."""

    def changed(self, key: str) -> None:
        """A setting changed."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One entry of the list at the left. ``order``: sorted by it."""

    key: str
    icon: str
    order: int
    build: Callable[[SettingsContext], SettingsSection]


def register(key: str, icon: str, order: int, build: Callable[[SettingsContext], SettingsSection]) -> None:
    """Add a subject to the page; one of the same key takes its place."""
    _SUBJECTS[key] = Subject(key, icon, order, build)


def subjects() -> tuple[Subject, ...]:
    """Every subject, in order."""
    return tuple(sorted(_SUBJECTS.values(), key=lambda subject: (subject.order, subject.key)))


_SUBJECTS: dict[str, Subject] = {}


class _Change(QUndoCommand):
    def __init__(self, context: SettingsContext, key: str, before: object, after: object, words: str) -> None:
        super().__init__(words or tr("Change a setting"))
        self._context, self._key, self._before, self._after = context, key, before, after
        self._fresh = True

    def undo(self) -> None:
        self._apply(self._before)

    def redo(self) -> None:
        if not self._fresh:
            self._apply(self._after)
        self._fresh = False

    def _apply(self, value: object) -> None:
        try:
            self._context.settings.set(self._key, value)
        except KitStudioError as error:
            self._context.fail(error)
