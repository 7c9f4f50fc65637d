"""A bound on how many names a wildcard lets a sandbox look up: each label of a name carries bytes to whoever serves the
domain, before any connection is made (network-policy@1 with ``*`` or ``**``)."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from kitstudio.runtime.hosts import read_address
from kitstudio.runtime.policy import Ruling

AT_ONCE = 128
"""Names that may be new at once."""
EACH_SECOND = 1.0
"""Names that may be new in a second from then on."""
_KNOWN = 4096


class WildcardNames:
    """Which names wildcards have let through. A name seen before costs nothing."""

    def __init__(
        self, at_once: int = AT_ONCE, each_second: float = EACH_SECOND, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_once = at_once
        self._each_second = each_second
        self._clock = clock
        self._left = float(at_once)
        self._counted = clock()
        self._known: OrderedDict[str, None] = OrderedDict()

    def admit(self, ruling: Ruling) -> Ruling:
        """``ruling``, refused where it would look up one new name too many. Literal entries and addresses pass."""
        rule = ruling.rule
        if not ruling.allowed or rule is None or rule.pattern.literal or read_address(ruling.host) is not None:
            return ruling
        if ruling.host in self._known:
            self._known.move_to_end(ruling.host)
            return ruling
        now = self._clock()
        self._left = min(float(self._at_once), self._left + (now - self._counted) * self._each_second)
        self._counted = now
        if self._left < 1:
            reason = f"too many different names under {rule.pattern.text}; name this host in an entry of its own"
            return replace(ruling, allowed=False, reason=reason)
        self._left -= 1
        self._known[ruling.host] = None
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        return ruling
