"""What is known about talking to one registry, shared by all its clients: tokens, a running limit, its clock.

``Clock`` is what time is read from and waited with, so that a test owns it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kitstudio.registry.credentials import Credential, Credentials
from kitstudio.registry.reference import HUB
from kitstudio.registry.source import RateLimited
from kitstudio.registry.threads import Stop
from kitstudio.registry.transport import DIRECT, Network

HUB_API = "registry-1.docker.io"
MAX_HOLD = 900.0
"""Longest time a stated limit keeps further requests here; after it the registry is asked again."""
MAX_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall time, monotonic time, and a pause that ends when the caller goes."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    wait: Callable[[Stop, float], None] = Stop.wait


@dataclass(slots=True)
class Session:
    """One registry (a host) with the way to it and the sign-ins for it."""

    registry: str
    credentials: Credentials
    network: Network = DIRECT
    clock: Clock = field(default_factory=Clock)
    skew: float = 0.0
    asked: bool = False
    """Whether the registry has asked who we are."""
    typed: bool = False
    """Whether the sign-in was typed just now and is being tried."""
    _tokens: dict[tuple[str, bool], tuple[str, float]] = field(default_factory=dict, repr=False)
    _limit: RateLimited | None = None
    _limited_until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def host(self) -> str:
        """The host that is really asked; Docker Hub's API lives elsewhere than its name."""
        return HUB_API if self.registry == HUB else self.registry

    @property
    def plain(self) -> bool:
        """Plain HTTP: loopback always, others only when named."""
        return self.network.plain(self.registry)

    def credential(self, repository: str) -> Credential | None:
        """The sign-in for a repository."""
        return self.credentials.lookup(self.registry, repository)

    def authorization(self, repository: str, push: bool) -> str:
        """The ``Authorization`` to begin with; empty where none is known or it has run out."""
        with self._lock:
            value, until = self._tokens.get((repository, push), ("", 0.0))
            return value if until > self.clock.monotonic() else ""

    def remember(self, repository: str, push: bool, value: str, seconds: float) -> None:
        """Keep an ``Authorization`` for a while."""
        with self._lock:
            if len(self._tokens) >= MAX_TOKENS:
                self._tokens.clear()
            self._tokens[(repository, push)] = (value, self.clock.monotonic() + seconds)

    def forget(self, repository: str, push: bool, value: str) -> None:
        """Drop an ``Authorization`` that was refused, unless another thread has a newer one already."""
        with self._lock:
            if self._tokens.get((repository, push), ("", 0.0))[0] == value:
                self._tokens.pop((repository, push), None)

    def renew(self) -> None:
        """Begin anew, as somebody else: tokens and a running limit belong to who asked before."""
        with self._lock:
            self._tokens.clear()
            self._limit, self._limited_until = None, 0.0

    def hold(self, limit: RateLimited) -> RateLimited:
        """Note a stated limit: until it has passed nothing more is sent."""
        if limit.retry_after:
            with self._lock:
                self._limit = limit
                self._limited_until = self.clock.monotonic() + min(limit.retry_after, MAX_HOLD)
        return limit

    def check_limit(self, where: str) -> None:
        """Raise while a stated limit still runs."""
        with self._lock:
            left = self._limited_until - self.clock.monotonic()
            if self._limit is None or left <= 0:
                return
            what = self._limit.what
        raise RateLimited(
            what,
            where=where,
            remedy=f"Try again in {round(left) or 1} s. Signing in may raise the limit.",
            retry_after=left,
        )
