"""long-running@1: whether a sandbox may be stopped because nobody is connected. Pure.

A session is a terminal, a command or a connection to a published port.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kitstudio.models.descriptor import Descriptor
from kitstudio.runtime.capabilities import LONG_RUNNING

IDLE_SECONDS = 30 * 60


def idle_limit(effective: Descriptor, stated: float) -> float:
    """Seconds without a session after which the sandbox is stopped; 0 never (duty 2). ``stated``: the person's."""
    if any(entry.type == LONG_RUNNING for entry in effective.entries()):
        return 0.0
    return max(0.0, stated)


@dataclass(slots=True)
class Sessions:
    """Counts sessions and knows since when there is none. ``clock`` must not count a suspended computer's sleep."""

    limit: float
    clock: Callable[[], float]
    open: int = 0
    since: float | None = None

    def ready(self) -> None:
        """The sandbox is ready: from now on it may be idle."""
        if not self.open:
            self.since = self.clock()

    def begin(self) -> None:
        self.open += 1
        self.since = None

    def end(self) -> None:
        self.open -= 1
        if not self.open:
            self.since = self.clock()

    def left(self) -> float | None:
        """Seconds until it is idle for too long; None while there is a session, no limit, or it is not ready."""
        if not self.limit or self.since is None:
            return None
        return max(0.0, self.limit - (self.clock() - self.since))
