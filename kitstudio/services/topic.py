"""A value that changes, and those who want to know. Callbacks run on the caller's (the loop's) thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Topic(Generic[T]):
    """Publish/subscribe for one kind of value."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[T], None]] = []

    def subscribe(self, callback: Callable[[T], None]) -> Callable[[], None]:
        """Call ``callback`` with each published value; the returned function ends it."""
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

        return unsubscribe

    def publish(self, value: T) -> None:
        """Hand ``value`` to every subscriber, in order of subscription."""
        for callback in tuple(self._subscribers):
            callback(value)
