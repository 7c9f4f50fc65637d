"""Docker Hub's catalogs as sources, against its double; what is kept of them, and working without the network."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kitstudio.registry.credentials import Account
from kitstudio.registry.secret_store import SESSION
from kitstudio.registry.source import ImageConfig
from kitstudio.registry.writer import Image, build_image
from kitstudio.services.app import Studio
from kitstudio.services.catalog import CardKind, KitCard, SourceInfo, SourceKind, SourceState
from tests.builders import AMD64, descriptor, kit_image, kit_index, layer, network
from tests.registry.servers import Answer, Request
from tests.services.fakes import V2, FakeBackend
from tests.services.hub_double import HubDouble, run_hub

TOOL = "docker.io/acme/tool"


def images() -> dict[str, Image]:
    about = descriptor(display_name="Tool", version="2.0", capabilities=(network(["a.example"]),))
    return {
        "acme/tool:1.0": kit_index(replace(about, version="1.0")),
        "acme/tool:2.0": kit_index(about),
        "acme/tool:latest": kit_index(about),
        "acme/bare:1.0": kit_image(descriptor(display_name="Bare")),
        "acme/unpromoted:1.0": kit_index(descriptor(display_name="Unpromoted"), promoted=False),
        "sbx/old:1.0": build_image([layer()], ImageConfig(platform=AMD64), artifact_type=V2),
        "sbx/new:1.0": kit_index(descriptor("workload", display_name="New")),
    }


@pytest.fixture
def hub() -> Iterator[HubDouble]:
    with run_hub(images()) as running:
        yield running


@pytest.fixture
async def opened(studio: Studio, hub: HubDouble) -> AsyncIterator[Studio]:
    """A studio whose Docker Hub is the double."""
    hub.settings(studio.settings)
    yield studio


def source(studio: Studio, name: str = "hub") -> SourceInfo:
    return next(info for info in studio.catalog.sources() if info.id == name)


def cards(studio: Studio, name: str = "hub") -> dict[str, KitCard]:
    return {card.repository: card for card in studio.catalog.cards() if card.source == name}


async def again(studio: Studio, *, offline: bool = False) -> Studio:
    """The next run on the same home."""
    options = replace(studio.options, offline=offline)
    return await Studio.open(options, FakeBackend())


async def test_the_hub_is_a_source_from_the_start_and_nothing_is_sent_before_it_is_opened(
    opened: Studio, hub: HubDouble
) -> None:
    await opened.catalog.start()
    await opened.catalog.refresh()
    info = source(opened)
    assert (info.title, info.kind) == ("Docker Hub – Verified Publishers", SourceKind.HUB)
    assert (info.network, info.opened, info.detail, info.registry) == (True, False, "not opened yet", "docker.io")
    await opened.catalog.want(TOOL)
    assert hub.paths == []


async def test_cards_come_from_the_hubs_words_and_manifests_when_they_are_looked_at(
    opened: Studio, hub: HubDouble
) -> None:
    hub.rows["sbx/new"] = {"badge": "none"}
    await opened.catalog.refresh("hub")
    assert len(hub.paths) == 1
    assert "docker.io/sbx/new" not in cards(opened)
    card = cards(opened)[TOOL]
    assert card.kind is CardKind.LOADING
    assert (card.display_name, card.publisher, card.verified) == ("The tool", "acme", True)
    assert (card.pulls, card.stars, card.icon_url) == (1234, 3, "https://img.example/tool.png")
    assert card.platforms == ("linux/amd64", "linux/arm64")
    assert card.categories == ("Developer tools",)
    await opened.catalog.want(TOOL)
    card = cards(opened)[TOOL]
    assert (card.kind, card.version, card.reference) == (CardKind.MIXIN, "2.0", f"{TOOL}:2.0")
    assert (card.verified, card.pulls, card.icon_url) == (True, 1234, "https://img.example/tool.png")
    assert [chip.text for chip in card.chips] == ["1 host"]


async def test_a_card_costs_one_tag_list_and_one_manifest_never_a_config_or_a_layer(
    opened: Studio, hub: HubDouble
) -> None:
    await opened.catalog.refresh("hub")
    for name, manifests in (("tool", 1), ("bare", 1), ("unpromoted", 2)):
        hub.server.requests.clear()
        await opened.catalog.want(f"docker.io/acme/{name}")
        assert cards(opened)[f"docker.io/acme/{name}"].kind is CardKind.MIXIN
        assert sum("/manifests/" in path for path in hub.paths) == manifests
        assert not any("/blobs/" in path for path in hub.paths)
        assert len(hub.paths) == manifests + 1
        await opened.catalog.want(f"docker.io/acme/{name}")
        assert len(hub.paths) == manifests + 1


async def test_the_manifest_tells_a_v2_kit_from_a_v3_one_whatever_the_namespace(opened: Studio, hub: HubDouble) -> None:
    await opened.catalog.refresh("hub")
    await opened.catalog.want("docker.io/sbx/old")
    await opened.catalog.want("docker.io/sbx/new")
    kinds = {name: card.kind for name, card in cards(opened).items()}
    assert kinds["docker.io/sbx/old"] is CardKind.V2
    assert kinds["docker.io/sbx/new"] is CardKind.WORKLOAD


async def test_a_namespace_of_the_hub_is_a_source_and_vouches_for_nobody(opened: Studio, hub: HubDouble) -> None:
    info = await opened.catalog.add_source("docker.io/acme")
    assert (info.id, info.title, info.kind, info.count) == ("docker.io/acme", "acme", SourceKind.HUB, 3)
    assert not cards(opened, "docker.io/acme")[TOOL].verified
    assert hub.paths == ["/v2/repositories/acme/"]
    assert opened.settings.get("catalog.sources") == ("docker.io/acme",)


async def test_one_repository_of_the_hub_is_a_source_without_asking_for_a_list(opened: Studio, hub: HubDouble) -> None:
    info = await opened.catalog.add_source(TOOL)
    assert (info.kind, info.count) == (SourceKind.REGISTRY, 1)
    assert hub.paths == []
    await opened.catalog.want(TOOL)
    assert cards(opened, TOOL)[TOOL].version == "2.0"


async def test_a_private_kit_says_so_on_its_card_and_fills_after_the_sign_in_row_2(
    opened: Studio, hub: HubDouble
) -> None:
    hub.private.add("acme/tool")
    await opened.catalog.refresh("hub")
    await opened.catalog.want(TOOL)
    card = cards(opened)[TOOL]
    assert card.kind is CardKind.ERROR
    assert card.error is not None and "docker.io" in str(card.error)
    assert (card.display_name, card.pulls) == ("The tool", 1234)
    accounts = opened.places.sign_ins().accounts
    accounts.add(Account("docker.io", "ada", SESSION), "secret")
    await opened.catalog.retry("docker.io")
    assert cards(opened)[TOOL].kind is CardKind.MIXIN
    assert source(opened).account == "ada"


async def test_a_limit_is_a_state_with_the_time_it_ends_row_37(opened: Studio, hub: HubDouble) -> None:
    hub.limited = "60"
    await opened.catalog.refresh("hub")
    info = source(opened)
    assert info.state is SourceState.LIMITED
    assert info.retry_at > 0
    assert info.error is not None and "JSON" not in str(info.error)
    hub.limited = ""
    await opened.catalog.refresh("hub")
    info = source(opened)
    assert (info.state, info.retry_at, info.count) == (SourceState.READY, 0.0, 5)


async def test_what_the_list_leaves_out_is_said_and_the_hubs_own_search_reaches_it(
    opened: Studio, hub: HubDouble
) -> None:
    everything = dict(hub.images)
    hub.images = {"acme/bare:1.0": everything["acme/bare:1.0"]}
    hub.total = 3000
    await opened.catalog.refresh("hub")
    assert "1 of 3,000" in source(opened).note
    hub.images, hub.total = everything, None
    found = await opened.catalog.find("hub", "tool")
    assert [card.repository for card in found] == [TOOL]
    assert set(cards(opened)) == {"docker.io/acme/bare", TOOL}
    await opened.catalog.refresh("demo")
    assert TOOL in cards(opened)


async def test_the_next_run_shows_what_was_kept_with_its_age_and_asks_only_when_opened(
    opened: Studio, hub: HubDouble
) -> None:
    await opened.catalog.refresh("hub")
    await opened.catalog.want(TOOL)
    hub.server.requests.clear()
    later = await again(opened)
    await later.catalog.refresh()
    card = cards(later)[TOOL]
    assert card.fetched_at > 0 and source(later).fetched_at > 0
    assert replace(card, fetched_at=0.0) == cards(opened)[TOOL]
    assert cards(later)["docker.io/acme/bare"].kind is CardKind.LOADING
    await later.catalog.want(TOOL)
    assert hub.paths == []
    await later.catalog.refresh("hub")
    await later.catalog.want(TOOL)
    assert cards(later)[TOOL].fetched_at == 0
    assert "/v2/acme/tool/manifests/2.0" in hub.paths
    await later.close()


async def test_what_was_kept_stays_while_its_registry_is_away_and_is_asked_for_once(
    opened: Studio, hub: HubDouble
) -> None:
    await opened.catalog.refresh("hub")
    await opened.catalog.want(TOOL)
    later = await again(opened)
    await later.catalog.refresh("hub")
    hub.limited = "60"
    await later.catalog.want(TOOL)
    asked = len(hub.paths)
    assert cards(later)[TOOL].kind is CardKind.MIXIN and cards(later)[TOOL].fetched_at > 0
    await later.catalog.want(TOOL)
    assert len(hub.paths) == asked
    await later.close()


async def test_a_list_that_is_cancelled_is_no_longer_being_read(opened: Studio, hub: HubDouble) -> None:
    release = threading.Event()
    answer = hub.server.answer

    def stall(request: Request) -> Answer:
        release.wait(20)
        return answer(request)

    hub.server.answer = stall
    reading = asyncio.ensure_future(opened.catalog.refresh("hub"))
    told = asyncio.Event()
    opened.catalog.changed.subscribe(lambda _: told.set())
    while source(opened).state is not SourceState.LOADING:
        await told.wait()
        told.clear()
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading
    release.set()
    assert source(opened).state is SourceState.READY
    assert "not read to its end" in source(opened).detail


async def test_the_page_of_an_older_version_leaves_the_card_alone(opened: Studio, hub: HubDouble) -> None:
    await opened.catalog.refresh("hub")
    await opened.catalog.details(f"{TOOL}:1.0")
    assert cards(opened)[TOOL].kind is CardKind.LOADING
    await opened.catalog.details(TOOL)
    assert cards(opened)[TOOL].version == "2.0"


async def test_a_private_kit_no_list_names_is_reached_by_its_reference(opened: Studio, hub: HubDouble) -> None:
    everything = dict(hub.images)
    hub.private.add("acme/tool")
    await opened.catalog.refresh("hub")
    opened.places.sign_ins().accounts.add(Account("docker.io", "ada", SESSION), "secret")
    hub.images = everything
    details = await opened.catalog.details(f"{TOOL}:2.0")
    assert details.descriptor is not None and details.descriptor.display_name == "Tool"


async def test_offline_shows_what_was_kept_and_sends_nothing(opened: Studio, hub: HubDouble) -> None:
    await opened.catalog.refresh("hub")
    await opened.catalog.want(TOOL)
    hub.server.requests.clear()
    later = await again(opened, offline=True)
    await later.catalog.refresh("hub")
    info = source(later)
    assert info.state is SourceState.OFFLINE
    assert info.fetched_at > 0 and info.count == 5
    await later.catalog.want(TOOL)
    assert cards(later)[TOOL].kind is CardKind.MIXIN
    details = await later.catalog.details(TOOL)
    assert details.descriptor is not None and details.card.version == "2.0"
    assert [row.version for row in details.versions] == ["2.0", "1.0", ""]
    assert "could not be asked for" in details.notes[0]
    assert [card.repository for card in await later.catalog.search_all("tool acme")] == [TOOL]
    assert hub.paths == []
    await later.close()


async def test_a_search_of_everything_finds_what_was_only_looked_at_by_its_reference(
    opened: Studio, hub: HubDouble
) -> None:
    details = await opened.catalog.details(f"{TOOL}:1.0")
    assert details.card.version == "1.0"
    later = await again(opened, offline=True)
    [card, *_] = await later.catalog.search_all("acme tool")
    assert card.reference == f"{TOOL}:1.0"
    assert card.fetched_at > 0
    await later.close()


async def test_two_programs_on_one_home_keep_what_both_saw(opened: Studio, hub: HubDouble) -> None:
    other = await again(opened)
    await opened.catalog.refresh("hub")
    await other.catalog.add_source("docker.io/sbx")
    await opened.catalog.want(TOOL)
    await other.catalog.want("docker.io/sbx/new")
    third = await again(opened, offline=True)
    await third.catalog.refresh()
    assert cards(third)[TOOL].kind is CardKind.MIXIN
    assert cards(third, "docker.io/sbx")["docker.io/sbx/new"].kind is CardKind.WORKLOAD
    await other.close()
    await third.close()


async def test_a_removed_source_is_forgotten_with_what_was_kept_and_its_trust(opened: Studio, hub: HubDouble) -> None:
    await opened.catalog.add_source("docker.io/acme")
    opened.catalog.trust("docker.io/acme", True)
    assert source(opened, "docker.io/acme").trusted
    assert opened.settings.get("catalog.trusted") == ("docker.io/acme",)
    await opened.catalog.remove_source("docker.io/acme")
    assert opened.settings.get("catalog.trusted") == ()
    assert await opened.catalog.search_all("tool", "docker.io/acme") == ()


async def test_a_damaged_index_is_said_and_the_catalog_goes_on(opened: Studio, hub: HubDouble, tmp_path: Path) -> None:
    (tmp_path / "home" / "cache" / "kits.db").write_bytes(b"this is no database, whatever its name says" * 200)
    await opened.catalog.refresh("hub")
    assert source(opened).count == 5
    assert (tmp_path / "home" / "cache" / "kits.db.damaged").exists()


async def test_another_way_out_takes_effect_at_once(opened: Studio, hub: HubDouble) -> None:
    with run_hub({"zoo/cat:1.0": kit_image()}) as elsewhere:
        await opened.catalog.refresh("hub")
        elsewhere.settings(opened.settings)
        await opened.catalog.refresh("hub")
        assert set(cards(opened)) == {"docker.io/zoo/cat"}
        await opened.catalog.want("docker.io/zoo/cat")
        assert cards(opened)["docker.io/zoo/cat"].kind is CardKind.MIXIN


async def test_the_page_of_a_listed_kit_keeps_what_the_hub_says_of_it(opened: Studio, hub: HubDouble) -> None:
    await opened.catalog.refresh("hub")
    details = await opened.catalog.details(f"{TOOL}:2.0")
    assert details.card.verified and details.card.pulls == 1234
    assert details.card.platforms == ("linux/amd64", "linux/arm64")
    assert cards(opened)[TOOL].kind is CardKind.MIXIN
    assert cards(opened)[TOOL].source == "hub"
