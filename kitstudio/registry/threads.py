"""The one bounded executor behind which every blocking call of this layer runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Concatenate, ParamSpec, TypeVar

WORKERS = 6

P = ParamSpec("P")
T = TypeVar("T")


class Cancelled(Exception):
    """Raised inside a worker whose caller has gone; never seen outside this layer."""


class Stop:
    """A flag a worker asks between steps, so that a cancelled task does not keep a thread busy."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raise ``Cancelled`` once the caller has gone."""
        if self._event.is_set():
            raise Cancelled

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than the caller wants the answer."""
        if self._event.wait(seconds):
            raise Cancelled


async def in_thread(work: Callable[Concatenate[Stop, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``work(stop, …)`` in the executor. Cancelling the task sets ``stop``."""
    stop = Stop()
    future = asyncio.get_running_loop().run_in_executor(_executor(), lambda: work(stop, *args, **kwargs))
    try:
        return await future
    except asyncio.CancelledError:
        stop.set()
        raise


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WORKERS, thread_name_prefix="registry")
