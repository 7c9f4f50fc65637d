"""From settings and flags to the way out of this machine (``registry.transport.Network``).

Values are checked where they are set; a certificate file is read when the first connection is made, and one that is
missing then stops every encrypted request with its name: a connection is never made with less trust than was asked for.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.services.settings import Settings

if TYPE_CHECKING:
    from kitstudio.registry.transport import Network

NETWORK_KEYS = (
    "registry.plain_http",
    "registry.ca_files",
    "registry.proxies",
    "registry.no_proxy",
    "registry.mirrors",
    "hub.search_base",
    "hub.api_base",
)
"""Settings that change how requests leave this machine."""


def network_of(settings: Settings, plain_http: Collection[str] = ()) -> Network:
    """The way out as the settings say; ``plain_http``: hosts named for this run only."""
    from kitstudio.registry.transport import Network

    mirrors: dict[str, tuple[str, ...]] = {}
    for item in settings.texts("registry.mirrors"):
        host, _, mirror = item.partition("=")
        mirrors[host] = (*mirrors.get(host, ()), mirror)
    return Network(
        plain_http=frozenset((*plain_http, *settings.texts("registry.plain_http"))),
        ca_files=tuple(Path(text).expanduser() for text in settings.texts("registry.ca_files")),
        proxies=dict(_pair(item) for item in settings.texts("registry.proxies")),
        no_proxy=settings.texts("registry.no_proxy"),
        mirrors=mirrors,
    )


def _pair(item: str) -> tuple[str, str]:
    scheme, _, url = item.partition("=")
    return scheme, url
