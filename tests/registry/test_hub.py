"""Docker Hub's catalogs, against a double with the shapes its answers had when they were looked at."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.registry.blob_store import BlobStore, digest_of
from kitstudio.registry.hub import SEARCH_PATH, HubCatalog, HubSource
from kitstudio.registry.hub_values import kit_of_namespace, kit_of_search, tag_of
from kitstudio.registry.manifest import V2_ARTIFACT
from kitstudio.registry.reference import RegistryError, parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.session import Clock
from kitstudio.registry.source import ArtifactKind, Offline, RateLimited
from kitstudio.registry.writer import build_image
from tests.builders import ImageConfig, descriptor, kit_image, layer
from tests.registry.servers import Answer, Double, Request


def found(number: int, *, badge: object = "verified_publisher", **more: object) -> dict[str, object]:
    """A row of the search as recorded."""
    return {
        "id": f"acme/kit-{number}",
        "name": f"Kit {number}",
        "slug": f"acme/kit-{number}",
        "type": "sbx_kit",
        "source": "verified_publisher",
        "badge": badge,
        "publisher": {"id": "acme", "name": "Acme, Inc."},
        "short_description": "Does one thing.",
        "star_count": 3,
        "logo_url": {"small": "https://img.example/s.png", "large": "https://img.example/l.png"},
        "categories": [{"name": "Developer tools", "slug": "developer-tools"}],
        "architectures": [{"name": "amd64"}, {"name": "arm64"}],
        "operating_systems": [{"name": "linux"}],
        "created_at": "2026-05-01T00:00:00Z",
        "updated_at": "2026-11-01T00:00:00Z",
        "rate_plans": [
            {
                "repositories": [
                    {
                        "namespace": "acme",
                        "name": f"kit-{number}",
                        "pull_count": 1234,
                        "last_pushed_at": "2026-11-02T00:00:00Z",
                        "is_official": False,
                    }
                ]
            }
        ],
        **more,
    }


def hub(server: Double, **options: object) -> HubCatalog:
    base = f"http://{server.host}"
    options.setdefault("clock", Clock(wait=lambda stop, seconds: None))
    return HubCatalog(search_base=base + SEARCH_PATH, api_base=base, **options)  # type: ignore[arg-type]


def body(document: object) -> Answer:
    return Answer(200, json.dumps(document).encode(), {"Content-Type": "application/json"})


def query(request: Request) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlsplit(request.path).query).items()}


async def test_search_reads_what_the_hub_says_and_asks_as_its_site_does(double: Double) -> None:
    double.answer = lambda request: body({"total": 1, "results": [found(1)]})
    listing = await hub(double).search("kit", verified=True)
    [kit] = listing.kits
    assert (kit.repository, kit.title, kit.publisher, kit.namespace) == (
        "docker.io/acme/kit-1", "Kit 1", "Acme, Inc.", "acme"
    )  # fmt: skip
    assert kit.verified
    assert (kit.stars, kit.pulls, kit.logo) == (3, 1234, "https://img.example/s.png")
    assert (kit.categories, kit.architectures, kit.systems) == (("Developer tools",), ("amd64", "arm64"), ("linux",))
    assert kit.updated == "2026-11-02T00:00:00Z"
    [request] = double.requests
    assert request.headers["Search-Version"] == "v3"
    assert query(request) == {
        "query": "kit", "type": "sbx_kit", "badges": "verified_publisher", "from": "0", "size": "100"
    }  # fmt: skip
    assert "Cookie" not in request.headers
    assert "Referer" not in request.headers


@pytest.mark.parametrize("badge", ["open_source", "", None, "none", 7, {"name": "open_source"}])
async def test_only_the_hubs_own_badge_makes_a_publisher_verified(double: Double, badge: object) -> None:
    row = found(1, badge=badge, publisher={"name": "verified_publisher"}, name="Verified Publisher")
    double.answer = lambda request: body({"total": 1, "results": [row]})
    assert [kit.verified for kit in (await hub(double).search()).kits] == [False]
    assert (await hub(double).search(verified=True)).kits == ()


async def test_search_goes_on_by_what_came_and_says_where_the_hub_stops(double: Double) -> None:
    def answer(request: Request) -> Answer:
        start = int(query(request)["from"])
        if start >= 60:
            return Answer(400, b'{"message": "cannot page further"}')
        return body({"total": 500, "results": [found(n) for n in range(start, start + 25)]})

    double.answer = answer
    listing = await hub(double).search()
    assert [query(r)["from"] for r in double.requests] == ["0", "25", "50", "75"]
    assert len(listing.kits) == 75
    assert not listing.complete
    assert "shows 75 of 500" in listing.note


async def test_search_whose_total_is_missing_ends_at_an_empty_page(double: Double) -> None:
    double.answer = lambda request: body({"results": [found(1)] if query(request)["from"] == "0" else []})
    listing = await hub(double).search()
    assert (len(listing.kits), listing.total, listing.complete) == (1, None, True)


async def test_search_that_repeats_itself_for_ever_is_ended(double: Double) -> None:
    double.answer = lambda request: body({"total": 10**9, "results": [found(1)]})
    listing = await hub(double).search()
    assert len(listing.kits) == 1
    assert not listing.complete
    assert len(double.requests) <= 60


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"slug": "acme/x"}, "docker.io/acme/x"),
        ({"id": "acme/x", "rate_plans": []}, "docker.io/acme/x"),
        ({"namespace": "acme", "name": "x"}, "docker.io/acme/x"),
        ({"slug": "acme/x", "rate_plans": [{"repositories": [{"namespace": "acme", "name": "y"}]}]},
         "docker.io/acme/y"),
        ({"slug": "../x"}, None), ({"slug": "acme/x/y"}, None), ({"slug": "evil.example/x"}, None),
        ({"slug": "acme/x:1"}, None), ({}, None), ("x", None), (None, None),
    ],
)  # fmt: skip
def test_fields_that_move_are_found_and_strange_names_are_none(row: object, name: str | None) -> None:
    kit = kit_of_search(row)
    assert (kit.repository if kit else None) == name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["slug", "name", "namespace", "badge", "publisher", "logo_url", "small", "rate_plans",
                         "repositories", "categories", "content_types", "type", "digest"]), inner, max_size=6),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_any_row_is_a_kit_or_none(row: object) -> None:
    kit_of_search(row)
    kit_of_namespace(row, "acme")
    tag_of(row)


async def test_row_34_namespace_follows_next_and_never_computes_pages(double: Double) -> None:
    base = "/v2/repositories/acme/"

    def answer(request: Request) -> Answer:
        page = int(query(request).get("page", "1"))
        rows = [
            {"namespace": "acme", "name": f"kit-{page}-{n}", "content_types": ["image", "sbx_kit"], "pull_count": 5,
             "logo": "https://img.example/x.png"}
            for n in range(25)
        ]  # fmt: skip
        rows.append({"namespace": "acme", "name": f"image-{page}", "content_types": ["image"]})
        following = f"http://{double.host}{base}?page={page + 1}&page_size=1" if page < 3 else None
        return body({"count": 3, "next": following, "results": rows})

    double.answer = answer
    listing = await hub(double).namespace("acme")
    assert len(listing.kits) == 75
    assert listing.complete
    assert double.requests[0].path == f"{base}?page_size=100"
    assert not listing.kits[0].verified


async def test_namespace_without_content_types_leaves_it_to_the_manifest_and_says_so(double: Double) -> None:
    double.answer = lambda request: body({"results": [{"name": "x"}, {"name": "y", "content_types": ["sbx_kit"]}]})
    listing = await hub(double).namespace("acme")
    assert [(kit.repository, kit.stated_kit) for kit in listing.kits] == [
        ("docker.io/acme/x", False), ("docker.io/acme/y", True)
    ]  # fmt: skip
    assert "does not say of 1" in listing.note
    double.answer = lambda request: body({"results": []})
    assert "no Kits of acme" in (await hub(double).namespace("acme")).note


async def test_next_on_another_host_is_not_followed_and_what_came_is_shown(
    double: Double, doubles: Callable[..., Double]
) -> None:
    stranger = doubles()
    double.answer = lambda request: body(
        {"next": f"http://{stranger.host}/v2/x", "results": [{"name": "x", "content_types": ["sbx_kit"]}]}
    )
    listing = await hub(double).namespace("acme")
    assert len(listing.kits) == 1
    assert not listing.complete
    assert "another host" in listing.note
    assert stranger.requests == []
    double.answer = lambda request: Answer(302, b"", {"Location": f"http://{stranger.host}/"})
    with pytest.raises(RegistryError, match="another host"):
        await hub(double).namespace("acme")
    assert stranger.requests == []


async def test_list_in_a_circle_ends(double: Double) -> None:
    double.answer = lambda request: body({"next": request.path, "results": [{"name": "x", "content_types": []}]})
    assert (await hub(double).namespace("acme")).kits == ()
    assert len(double.requests) == 1


async def test_limits_outages_and_nonsense_are_sentences(double: Double) -> None:
    double.answer = lambda request: Answer(429, b"slow down", {"Retry-After": "30"})
    with pytest.raises(RateLimited) as limit:
        await hub(double).search()
    assert limit.value.retry_after == 30
    double.answer = lambda request: Answer(503)
    double.requests.clear()
    with pytest.raises(RegistryError, match="in trouble"):
        await hub(double).search()
    assert len(double.requests) == 3
    for strange in (b"<html>", b"[]", b"3"):
        double.answer = lambda request, strange=strange: Answer(200, strange)
        with pytest.raises(RegistryError):
            await hub(double).namespace("acme")
    for name in ("../x", "A", "", "a b"):
        with pytest.raises(RegistryError, match="no namespace"):
            await hub(double).namespace(name)


async def test_offline_sends_nothing(double: Double) -> None:
    with pytest.raises(Offline):
        await hub(double, offline=True).search()
    assert double.requests == []


async def test_unencrypted_address_elsewhere_than_here_is_not_asked(double: Double) -> None:
    catalog = HubCatalog(api_base="http://hub.example")
    with pytest.raises(RegistryError, match="encrypted"):
        await catalog.namespace("acme")


async def test_hub_source_lists_by_the_catalog_and_reads_by_the_registry(
    double: Double, doubles: Callable[..., Double], store: BlobStore
) -> None:
    from tests.registry.test_client import IMAGE, serve

    registry = doubles()
    registry.answer = serve
    tags = [{"name": "1.0", "digest": "sha256:" + "1" * 64}, {"name": "sha256-x y"}, {"name": "2.0"}, {}]

    def answer(request: Request) -> Answer:
        if "/tags" in request.path:
            return body({"results": tags})
        if SEARCH_PATH in request.path:
            return body({"total": 1, "results": [found(1)]})
        return body({"results": [{"name": "x", "content_types": ["sbx_kit"]}]})

    double.answer = answer
    source = HubSource(hub(double), RegistrySource(registry.host, store))
    assert await source.list() == ("docker.io/acme/kit-1",)
    assert (about := source.about("docker.io/acme/kit-1")) is not None
    assert about.verified
    assert await source.tags("docker.io/acme/kit-1") == ("1.0", "2.0")
    assert (await source.artifact(parse(f"{registry.host}/acme/kit-1:1.0"))).digest == IMAGE.digest
    assert await HubSource(hub(double), RegistrySource(registry.host, store), "acme").list() == ("docker.io/acme/x",)
    double.answer = lambda request: Answer(404)
    registry.answer = lambda request: body({"tags": ["3.0"]})
    assert await source.tags("docker.io/acme/kit-1") == ("3.0",)


async def test_both_kit_lines_of_the_hub_are_told_apart_by_the_manifest_not_by_the_organisation(
    double: Double, doubles: Callable[..., Double], store: BlobStore
) -> None:
    v3 = kit_image(descriptor(display_name="Three"))
    v2 = build_image([layer()], ImageConfig(), artifact_type=f"{V2_ARTIFACT}+json")
    by_name = {"sbx/droid": v3, "docker/old": v2, "sbx/shell": v2, "docker/new": v3}
    blobs = {digest_of(blob): blob for image in (v2, v3) for blob in image.blobs}
    registry = doubles()

    def answer(request: Request) -> Answer:
        name = next(name for name in by_name if name in request.path)
        if "/blobs/" in request.path:
            return Answer(200, blobs[request.path.rpartition("/")[2]])
        return Answer(200, by_name[name].raw, {"Content-Type": by_name[name].media_type})

    registry.answer = answer
    source = HubSource(hub(double), RegistrySource(registry.host, store))
    kinds = {name: (await source.artifact(parse(f"{registry.host}/{name}:1"))).kind for name in by_name}
    assert kinds == {
        "sbx/droid": ArtifactKind.KIT, "docker/old": ArtifactKind.V2_KIT,
        "sbx/shell": ArtifactKind.V2_KIT, "docker/new": ArtifactKind.KIT,
    }  # fmt: skip
