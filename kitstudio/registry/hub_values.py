"""What Docker Hub says about a Kit, read from answers whose fields move and go missing.

Everything here is the Hub's or the publisher's word. A publisher is *verified* by the Hub's own badge and by nothing
else: no name, no organisation, no field a publisher fills in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kitstudio.registry.reference import HUB, RegistryError, parse

VERIFIED = "verified_publisher"
KIT_TYPE = "sbx_kit"
MAX_TEXT = 2000
MAX_LIST = 64


@dataclass(frozen=True, slots=True)
class HubKit:
    """One repository of the Hub. ``repository``: ``docker.io/namespace/name``; ``stated_kit``: the Hub says it holds
    Kits (where it says nothing, the manifest tells); ``logo``: an https address, may be empty."""

    repository: str
    title: str = ""
    description: str = ""
    publisher: str = ""
    verified: bool = False
    badge: str = ""
    source: str = ""
    stars: int | None = None
    pulls: int | None = None
    logo: str = ""
    categories: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    stated_kit: bool = True

    @property
    def namespace(self) -> str:
        """The namespace that publishes it: its identity."""
        return self.repository.removeprefix(f"{HUB}/").partition("/")[0]


@dataclass(frozen=True, slots=True)
class HubTag:
    """One tag as the Hub lists it; ``digest`` may be empty."""

    name: str
    digest: str = ""
    updated: str = ""
    size: int | None = None


def kit_of_search(row: Any) -> HubKit | None:
    """A row of the search; None where it names no repository."""
    if not isinstance(row, dict):
        return None
    plans = row.get("rate_plans")
    plan = plans[0] if isinstance(plans, list) and plans and isinstance(plans[0], dict) else {}
    inner = plan.get("repositories")
    repository = inner[0] if isinstance(inner, list) and inner and isinstance(inner[0], dict) else {}
    name = _joined(repository) or _joined(row) or _name(row.get("slug")) or _name(row.get("id"))
    if not name:
        return None
    publisher = row.get("publisher")
    badge = _badge(row.get("badge"))
    return HubKit(
        repository=name,
        title=text(row.get("name")),
        description=text(row.get("short_description")) or text(row.get("description")),
        publisher=text(publisher.get("name")) if isinstance(publisher, dict) else text(publisher),
        verified=badge == VERIFIED,
        badge=badge,
        source=text(row.get("source")),
        stars=number(row.get("star_count")),
        pulls=number(repository.get("pull_count")),
        logo=_logo(row.get("logo_url")) or _logo(row.get("logo")),
        categories=_names(row.get("categories")),
        architectures=_names(row.get("architectures")) or _names(plan.get("architectures")),
        systems=_names(row.get("operating_systems")) or _names(plan.get("operating_systems")),
        created=text(row.get("created_at")),
        updated=text(repository.get("last_pushed_at")) or text(row.get("updated_at")),
        stated_kit=row.get("type", KIT_TYPE) == KIT_TYPE,
    )


def kit_of_namespace(row: Any, namespace: str) -> HubKit | None:
    """A row of a namespace's list; None where it is none, or states that it holds no Kit."""
    if not isinstance(row, dict):
        return None
    kinds = row.get("content_types")
    if isinstance(kinds, list) and KIT_TYPE not in kinds:
        return None
    name = _joined({"namespace": text(row.get("namespace")) or namespace, "name": row.get("name")})
    if not name or name.removeprefix(f"{HUB}/").partition("/")[0] != namespace:
        return None
    badge = _badge(row.get("badge"))
    return HubKit(
        repository=name,
        description=text(row.get("description")) or text(row.get("short_description")),
        publisher=text(row.get("namespace")) or namespace,
        verified=badge == VERIFIED,
        badge=badge,
        stars=number(row.get("star_count")),
        pulls=number(row.get("pull_count")),
        logo=_logo(row.get("logo")) or _logo(row.get("logo_url")),
        categories=_names(row.get("categories")),
        created=text(row.get("date_registered")),
        updated=text(row.get("last_updated")),
        stated_kit=isinstance(kinds, list),
    )


def tag_of(row: Any) -> HubTag | None:
    """A row of a tag list."""
    if not isinstance(row, dict) or not (name := text(row.get("name"))):
        return None
    updated = text(row.get("tag_last_pushed")) or text(row.get("last_updated"))
    return HubTag(name, text(row.get("digest")), updated, number(row.get("full_size")))


def text(value: Any) -> str:
    """Harmless text of bounded length; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return "".join(c if c.isprintable() else " " for c in value[:MAX_TEXT]).strip()


def number(value: Any) -> int | None:
    """A whole number of zero or more."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None


def _badge(value: Any) -> str:
    return text(value.get("name")) if isinstance(value, dict) else text(value)


def _joined(row: Mapping[str, Any]) -> str:
    namespace, name = text(row.get("namespace")), text(row.get("name"))
    return _name(f"{namespace}/{name}") if namespace and name else ""


def _name(value: Any) -> str:
    """``docker.io/namespace/name`` where the value is such a name without host, else empty."""
    stated = text(value)
    if stated.count("/") != 1 or "." in stated.partition("/")[0]:
        return ""
    try:
        reference = parse(f"{HUB}/{stated}")
    except RegistryError:
        return ""
    return reference.name if reference.name == f"{HUB}/{stated}" else ""


def _logo(value: Any) -> str:
    if isinstance(value, dict):
        return _logo(value.get("small")) or _logo(value.get("large")) or _logo(value.get("small@2x"))
    stated = text(value)
    try:
        parts = urlsplit(stated)
    except ValueError:
        return ""
    return stated if parts.scheme == "https" and parts.netloc and len(stated) < MAX_TEXT else ""


def _names(value: Any) -> tuple[str, ...]:
    """Words of a list of text, or of objects with a name."""
    rows = value[:MAX_LIST] if isinstance(value, list) else []
    found = (text(row.get("name")) or text(row.get("slug")) if isinstance(row, dict) else text(row) for row in rows)
    return tuple(dict.fromkeys(word for word in found if word))
