"""Where blocking calls of this layer run: two bounded pools, so that a silent registry never holds up the disk.

The threads are daemons: a program that ends does not wait for a socket, and the blob store survives being cut off.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

DISK_WORKERS = 4
NETWORK_WORKERS = 8
PER_HOST = 4
"""Requests in flight to one host; the others wait without a thread, so that a slow host never takes them all."""

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
    """Run ``work(stop, …)`` among the disk's workers. Cancelling the task sets ``stop``."""
    stop = Stop()
    return await _finished(stop, _disk().submit(lambda: work(stop, *args, **kwargs)))


async def on_network(work: Callable[Concatenate[Stop, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``work(stop, …)`` among the network's workers. Cancelling the task sets ``stop``."""
    stop = Stop()
    return await _finished(stop, _network().submit(lambda: work(stop, *args, **kwargs)))


async def on_host(host: str, work: Callable[Concatenate[Stop, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``on_network``, with at most ``PER_HOST`` jobs of one host at once."""
    hosts = _hosts.setdefault(asyncio.get_running_loop(), {})
    gate = hosts.setdefault(host, asyncio.Semaphore(PER_HOST))
    async with gate:
        return await on_network(work, *args, **kwargs)


async def _finished(stop: Stop, future: Future[T]) -> T:
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        stop.set()
        raise


_hosts: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]] = WeakKeyDictionary()


class _Pool:
    """At most ``workers`` daemon threads over one queue, started as they are needed."""

    def __init__(self, name: str, workers: int) -> None:
        self._name = name
        self._limit = workers
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._open = 0

    def submit(self, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001 - handed to whoever waits, whatever it is
                    future.set_exception(error)

        with self._lock:
            self._queue.put(run)
            self._open += 1
            if self._threads < min(self._open, self._limit):
                self._threads += 1
                threading.Thread(target=self._serve, name=f"{self._name}-{self._threads}", daemon=True).start()
        return future

    def _serve(self) -> None:
        while True:
            job = self._queue.get()
            job()
            del job
            with self._lock:
                self._open -= 1


@cache
def _disk() -> _Pool:
    return _Pool("registry-disk", DISK_WORKERS)


@cache
def _network() -> _Pool:
    return _Pool("registry-network", NETWORK_WORKERS)
