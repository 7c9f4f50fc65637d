"""How requests leave this machine: certificates, proxies, mirrors, and which hosts are spoken to in plain HTTP.

``Network`` is a value: settings make one, sources take it. Sessions made here carry no cookies, no netrc, and no
authorization beyond the host it was meant for.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies

from kitstudio.registry.reference import RegistryError

MAX_REDIRECTS = 5
POOL = 4


@dataclass(frozen=True, slots=True)
class Network:
    """The way out. ``plain_http``: hosts without TLS, beside loopback; ``tls``: hosts on loopback that have it all the
    same. ``ca_files``: PEM files trusted beside the system's. ``proxies``: by scheme (``http``, ``https``); empty means
    the environment's. ``mirrors``: hosts asked before a registry for manifests and blobs."""

    plain_http: frozenset[str] = frozenset()
    tls: frozenset[str] = frozenset()
    ca_files: tuple[Path, ...] = ()
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    no_proxy: tuple[str, ...] = ()
    mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def plain(self, host: str) -> bool:
        """Whether ``host`` is spoken to over plain HTTP."""
        return host not in self.tls and is_plain(host, self.plain_http)

    def proxies_for(self, url: str) -> dict[str, str]:
        """The proxies for an address, stated ones or else the environment's; none for loopback and for what
        ``no_proxy`` names."""
        if _is_loopback(urlsplit(url).hostname or ""):
            return {}
        if not self.proxies:
            return dict(get_environ_proxies(url))
        return {} if _excepted(url, self.no_proxy) else dict(self.proxies)


DIRECT = Network()
"""Nothing set: the system's certificates, the environment's proxies."""


class HttpSession(requests.Session):
    """One thread's connections, kept alive."""

    def __init__(self, network: Network = DIRECT) -> None:
        super().__init__()
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.max_redirects = MAX_REDIRECTS
        self.auth = _unchanged
        self.network = network
        if network.ca_files:
            self.mount("https://", _TrustingAdapter(trust(network.ca_files)))
        if network.proxies:
            # requests lets the environment beat the session, so the environment is left out altogether.
            self.trust_env = False

    def rebuild_proxies(self, prepared_request: requests.PreparedRequest, proxies: Any) -> Any:
        super().rebuild_proxies(prepared_request, proxies)
        return self.network.proxies_for(prepared_request.url or "")

    def merge_environment_settings(self, url: str, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        loopback = _is_loopback(_host_name(urlsplit(url).netloc))
        if loopback and url.startswith("http://"):
            # Neither proxies nor certificates concern it, and looking for them in the environment takes a while.
            return {"verify": True, "proxies": {}, "stream": bool(stream or self.stream), "cert": None}
        settings = super().merge_environment_settings(url, proxies, stream, verify, cert)
        if self.network.proxies or loopback:
            settings["proxies"] = self.network.proxies_for(url)
        return settings

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        old, new = response.request.url or "", prepared_request.url or ""
        if urlsplit(old).scheme == "https" and urlsplit(new).scheme != "https":
            raise requests.exceptions.InvalidSchema("redirected to an unencrypted address")
        if origin(old) != origin(new):
            prepared_request.headers.pop("Authorization", None)


def trust(ca_files: Collection[Path]) -> ssl.SSLContext:
    """The system's certificates and these beside them."""
    context = ssl.create_default_context()
    for path in ca_files:
        try:
            context.load_verify_locations(cafile=str(path))
        except (OSError, ssl.SSLError) as error:
            raise RegistryError(
                "This file holds no certificate authority.",
                where=str(path),
                remedy="Choose a PEM file with certificates, or take it out of the settings.",
            ) from error
    return context


def is_plain(host: str, named: Collection[str]) -> bool:
    """Whether a host is spoken to over plain HTTP: loopback on its own, others only when named."""
    name = _host_name(host)
    return host in named or name in named or _is_loopback(name)


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what two addresses share when they are of one server."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", url, None
    return parts.scheme, parts.hostname or "", port or {"https": 443, "http": 80}.get(parts.scheme)


class _TrustingAdapter(HTTPAdapter):
    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__(pool_connections=POOL, pool_maxsize=POOL)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs, ssl_context=self._context)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        return super().proxy_manager_for(proxy, **kwargs, ssl_context=self._context)


def _excepted(url: str, no_proxy: Collection[str]) -> bool:
    """Whether a host, its domain or its network is named (``*``, ``example.org``, ``host:port``, ``10.0.0.0/8``).

    Not by ``requests``' own function: it writes the environment to ask, which threads must not.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".").lower()
    for entry in no_proxy:
        name = entry.strip().lower().removeprefix("*").lstrip(".")
        if entry.strip() == "*" or host == name or host.endswith(f".{name}") or parts.netloc.lower() == name:
            return True
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(name, strict=False):
                return True
        except ValueError:
            continue
    return False


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
