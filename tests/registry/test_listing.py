"""Lists of a registry: pages by ``Link``, lists that are absent, empty, cut or endless."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.listing import ListingState
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.session import Clock
from kitstudio.registry.source import RateLimited
from tests.registry.servers import Answer, Double, Request


def names(*found: str) -> bytes:
    return json.dumps({"repositories": list(found)}).encode()


async def test_row_28_relative_link_is_resolved_against_the_request(double: Double, store: BlobStore) -> None:
    links = {"n=1000": "/v2/_catalog?last=x&n=50", "n=50": "_catalog?last=y&n=20"}

    def answer(request: Request) -> Answer:
        size = request.path.rpartition("n=")[2]
        more = links.get(f"n={size}")
        return Answer(200, names(f"acme/{size}"), {"Link": f'<{more}>; rel="next"'} if more else {})

    double.answer = answer
    found = await RegistrySource(double.host, store).list()
    assert found == tuple(f"{double.host}/acme/{size}" for size in ("1000", "20", "50"))
    assert [r.path for r in double.requests] == [
        "/v2/_catalog?n=1000", "/v2/_catalog?last=x&n=50", "/v2/_catalog?last=y&n=20"
    ]  # fmt: skip


async def test_row_29_opaque_cursor_is_followed_and_none_is_invented(double: Double, store: BlobStore) -> None:
    pages = {"": ("acme/a", "zz=%3D"), "zz=%3D": ("acme/b", "aa"), "aa": ("acme/c", "")}

    def answer(request: Request) -> Answer:
        name, following = pages[request.path.partition("&last=")[2]]
        more = f"/v2/_catalog?n=1000&last={following}"
        return Answer(200, names(name), {"Link": f'<{more}>; rel="next"'} if following else {})

    double.answer = answer
    assert len(await RegistrySource(double.host, store).list()) == 3
    assert len(double.requests) == 3


@pytest.mark.parametrize("status", [401, 404, 405])
async def test_row_31_registry_without_a_catalog_says_so_and_asks_for_a_name(
    double: Double, store: BlobStore, status: int
) -> None:
    double.answer = lambda request: Answer(status)
    listing = await RegistrySource(double.host, store).listing()
    assert listing.state is ListingState.UNLISTED
    assert "ame a repository" in listing.note
    scoped = await RegistrySource(double.host, store, scope="acme/kit").listing()
    assert scoped.names == (f"{double.host}/acme/kit",)


async def test_row_32_empty_catalog_is_said_to_be_empty_for_this_account(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: Answer(200, names())
    listing = await RegistrySource(double.host, store).listing()
    assert listing.names == ()
    assert listing.state is ListingState.COMPLETE
    assert "lists nothing for this account" in listing.note


async def test_catalog_that_breaks_off_shows_what_came_and_says_so(double: Double, store: BlobStore) -> None:
    def answer(request: Request) -> Answer:
        if "last" in request.path:
            return Answer(500)
        return Answer(200, names("acme/a"), {"Link": '<?last=a>; rel="next"'})

    double.answer = answer
    source = RegistrySource(double.host, store, clock=Clock(wait=lambda stop, seconds: None))
    listing = await source.listing()
    assert listing.names == (f"{double.host}/acme/a",)
    assert listing.state is ListingState.PARTIAL
    assert "broke off after 1 names" in listing.note
    with pytest.raises(RegistryError, match="in trouble"):
        await source.list()


async def test_catalog_cut_in_the_middle_of_a_page_is_no_catalog(double: Double, store: BlobStore) -> None:
    body = names(*(f"acme/{n}" for n in range(100)))
    double.answer = lambda request: Answer(200, body, {"Content-Length": str(len(body))}, cut=200)
    with pytest.raises(RegistryError):
        await RegistrySource(double.host, store, clock=Clock(wait=lambda stop, seconds: None)).listing()


async def test_list_that_never_ends_is_ended_by_its_time(double: Double, store: BlobStore) -> None:
    now = [0.0]

    def answer(request: Request) -> Answer:
        now[0] += 50
        number = len(double.requests)
        return Answer(200, names(f"acme/{number}"), {"Link": f'<?last={number}>; rel="next"'})

    double.answer = answer
    listing = await RegistrySource(double.host, store, clock=Clock(monotonic=lambda: now[0])).listing()
    assert listing.state is ListingState.PARTIAL
    assert "takes too long" in listing.note
    assert len(double.requests) < 10


async def test_list_in_a_circle_ends(double: Double, store: BlobStore) -> None:
    def answer(request: Request) -> Answer:
        following = "b" if request.path.endswith("=a") else "a"
        return Answer(200, names(f"acme/{following}"), {"Link": f'</v2/_catalog?last={following}>; rel="next"'})

    double.answer = answer
    assert len(await RegistrySource(double.host, store).list()) == 2
    assert len(double.requests) == 3


async def test_rate_limit_in_the_middle_of_a_list_is_a_rate_limit(
    doubles: Callable[..., Double], store: BlobStore
) -> None:
    double = doubles()
    double.answer = lambda request: (
        Answer(429, b"", {"Retry-After": "60"})
        if "last" in request.path
        else Answer(200, names("a/a"), {"Link": '<?last=a>; rel="next"'})
    )
    with pytest.raises(RateLimited):
        await RegistrySource(double.host, store).listing()
