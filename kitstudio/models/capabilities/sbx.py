"""``sbx@1``: the workload targets the sandbox agent platform: two shells and a user of its own (§12)."""

from __future__ import annotations

from kitstudio.models.capabilities.flags import Flag


class Sbx(Flag):
    name = "com.docker.sandbox/sbx@1"
    title = "sandbox agent platform"
    workload_only = True
    silent = True


TYPE = Sbx()
