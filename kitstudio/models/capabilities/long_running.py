"""``long-running@1``: the sandbox keeps running when the last session ends."""

from __future__ import annotations

from kitstudio.models.capabilities.flags import Flag


class LongRunning(Flag):
    name = "com.docker.sandbox/long-running@1"
    title = "keeps running"
    silent = True


TYPE = LongRunning()
