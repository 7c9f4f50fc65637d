"""What a tab of a sandbox shows, asked of the studio when the tab is looked at."""

from __future__ import annotations

import asyncio

from kitstudio.runtime.backend import SandboxStatus
from kitstudio.services.app import Studio
from kitstudio.services.credential_uses import uses_in
from kitstudio.ui.sandboxes.detail import (
    CREDENTIALS,
    DETAILS,
    LIFECYCLE,
    LOG,
    NETWORK,
    PORTS,
    STORAGE,
    TERMINAL,
    SandboxDetail,
)


async def load_tab(studio: Studio, detail: SandboxDetail, status: SandboxStatus, tab: int) -> None:
    """Fill one tab with what is so now."""
    if tab in (TERMINAL, NETWORK):
        detail.show_decisions(await studio.sandboxes.decisions(status.name))
    elif tab == LIFECYCLE:
        detail.lifecycle.show_hooks(await studio.sandboxes.hooks(status.name))
    elif tab == PORTS:
        detail.ports.show_ports(await studio.sandboxes.ports(status.name))
    elif tab == STORAGE:
        shared = [each for each in await studio.sandboxes.mounts() if status.name in each.sandboxes]
        detail.storage.show_storage(await studio.sandboxes.storage(status.name), shared)
    elif tab == CREDENTIALS:
        details = await studio.sandboxes.details(status.name)
        uses = await asyncio.to_thread(uses_in, details.get("effective", ""))
        bound = [each.service for each in await studio.credentials.list()]
        detail.credentials.show_credentials(uses, bound, status.skipped)
    elif tab == LOG:
        detail.log.show_log(await studio.sandboxes.log(status.name))
    elif tab == DETAILS:
        detail.details.show_details(status, await studio.sandboxes.details(status.name))
