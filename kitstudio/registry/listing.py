"""Long lists of a registry: what repositories it has, what tags, page by page.

``_catalog`` is no part of the standard: absent, cut and slow ones are states with a sentence, never a blank page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kitstudio.registry.client import Client
from kitstudio.registry.manifest import MAX_METADATA, read_json
from kitstudio.registry.source import NotFound, RateLimited, RegistryError, SignInRequired

MAX_PAGES = 1000
MAX_NAMES = 100_000
MAX_SECONDS = 180.0


class ListingState(StrEnum):
    """How much a list says."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    UNLISTED = "unlisted"


@dataclass(frozen=True, slots=True)
class Listing:
    """Names (without tag), sorted. ``note``: the sentence a person should see beside them, may be empty; ``error``:
    what cut a partial list short."""

    names: tuple[str, ...]
    state: ListingState = ListingState.COMPLETE
    note: str = ""
    error: RegistryError | None = None


def list_repositories(client: Client, registry: str, scope: str) -> Listing:
    """The repositories of a registry, or of one namespace of it. Raises only where not even a first page came."""
    found: list[str] = []
    cut: RegistryError | None = None
    try:
        for name in pages(client, client.root("_catalog?n=1000"), "repositories"):
            found.append(name)
    except (NotFound, SignInRequired) as error:
        if not found:
            return _unlisted(registry, scope, error)
        cut = error
    except RegistryError as error:
        if not found or isinstance(error, RateLimited):
            raise
        cut = error
    inside = {name for name in found if not scope or name == scope or name.startswith(f"{scope}/")}
    names = tuple(sorted(f"{registry}/{name}" for name in inside))
    if cut is not None:
        return Listing(names, ListingState.PARTIAL, f"The list broke off after {len(found):,} names: {cut.what}", cut)
    if not names and scope:
        note = f"{registry} does not list {scope}; it is asked for directly."
        return Listing((f"{registry}/{scope}",), ListingState.UNLISTED, note)
    if not names:
        return Listing((), note=f"{registry} lists nothing for this account. A repository can still be named.")
    return Listing(names)


def pages(client: Client, url: str, key: str) -> Iterator[str]:
    """Every name under ``key``, following ``Link`` as the server gives it. Ends on loops; bounded in pages, names and
    time."""
    seen: set[str] = set()
    count = 0
    clock = client.known.clock.monotonic
    deadline = clock() + MAX_SECONDS
    while url and url not in seen:
        seen.add(url)
        response = client.get(url)
        rows = rows_of(client.read(response, MAX_METADATA), key, url)
        for name in rows:
            count += 1
            yield name
        if len(seen) >= MAX_PAGES or count >= MAX_NAMES:
            raise RegistryError(f"The list does not end after {count:,} names.", where=client.known.registry)
        if clock() > deadline:
            raise RegistryError(f"The list takes too long; {count:,} names came.", where=client.known.registry)
        url = client.next_page(response)


def rows_of(body: bytes, key: str, where: str) -> list[str]:
    """The names under ``key``; none where it is absent or null, as some registries answer for an empty list."""
    document = read_json(body, where)
    rows = document.get(key) if isinstance(document, dict) else document
    if rows is None:
        return []
    if not isinstance(document, dict) or not isinstance(rows, list):
        raise RegistryError(
            f"The registry answers with something else than a list of {key}.",
            where=where,
            remedy="Check that this address is a registry, and that nothing in between answers for it.",
        )
    return [row for row in rows if isinstance(row, str)]


def _unlisted(registry: str, scope: str, error: RegistryError) -> Listing:
    if scope:
        return Listing((f"{registry}/{scope}",), ListingState.UNLISTED)
    advice = "Sign in, or name a repository." if isinstance(error, SignInRequired) else "Name a repository."
    return Listing((), ListingState.UNLISTED, f"{registry} does not list its repositories. {advice}", error)
