from __future__ import annotations

from pathlib import Path

import pytest

from kitstudio.models import review
from kitstudio.models.annotations import DESCRIPTOR
from kitstudio.models.descriptor import Arg
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.listing import Listing
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.source import RegistryError
from kitstudio.services.app import Options, Studio
from kitstudio.services.cards import as_installed, is_signature, version_rows
from kitstudio.services.catalog import CardKind, SourceKind, SourceState
from tests.builders import descriptor, kit_image, layout, network
from tests.services.fakes import FakeBackend


async def test_demo_is_first_and_its_cards_show_the_newest_version(studio: Studio) -> None:
    await studio.catalog.refresh()
    assert studio.catalog.sources()[0].kind is SourceKind.DEMO
    cards = {card.repository: card for card in studio.catalog.cards()}
    assert cards["demo.invalid/base"].reference == "demo.invalid/base:1.1.0"
    assert cards["demo.invalid/base"].kind is CardKind.WORKLOAD
    assert cards["demo.invalid/tool"].version == "2.0.0"
    assert [chip.text for chip in cards["demo.invalid/tool"].chips] == ["2 hosts"]


async def test_v2_artifacts_and_images_are_shown_as_what_they_are(studio: Studio) -> None:
    await studio.catalog.refresh()
    kinds = {card.repository: card.kind for card in studio.catalog.cards()}
    assert kinds["demo.invalid/old"] is CardKind.V2
    assert kinds["demo.invalid/plain"] is CardKind.IMAGE


async def test_a_broken_descriptor_is_one_failed_card(studio: Studio, tmp_path: Path) -> None:
    notes = {DESCRIPTOR: '{"schemaVersion":"3","kind":"mixin","colour":"red"}'}
    broken = kit_image(annotations=notes)
    place = layout(tmp_path / "mine", {"1.0": broken})
    await studio.catalog.add_source(f"oci:{place}")
    cards = [card for card in studio.catalog.cards() if card.source == f"oci:{place}"]
    assert cards[0].kind is CardKind.ERROR
    assert cards[0].error is not None and "colour" in cards[0].error.what


async def test_the_kit_page_has_permissions_lines_and_versions(studio: Studio) -> None:
    details = await studio.catalog.details("demo/tool")
    assert details.card.reference == "demo.invalid/tool:2.0.0"
    assert [row.version for row in details.versions] == ["2.0.0", "1.0.0", "0.9.0"]
    assert {p.entry for p in details.permissions} == {"a.example", "b.example"}
    lines = details.descriptor_text.splitlines()
    for permission in details.permissions:
        assert permission.entry in lines[permission.askers[0].line - 1]


async def test_a_page_of_something_that_is_no_kit_says_so(studio: Studio) -> None:
    details = await studio.catalog.details("demo/plain:1.0.0")
    assert details.descriptor is None
    assert details.card.kind is CardKind.IMAGE


async def test_a_missing_kit_is_one_clear_error(studio: Studio) -> None:
    with pytest.raises(RegistryError) as caught:
        await studio.catalog.details("demo/nothing")
    assert "demo.invalid/nothing" in caught.value.what


async def test_no_network_source_is_asked_before_it_is_opened(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def listing(source: RegistrySource) -> Listing:
        asked.append(source.registry)
        return Listing(())

    monkeypatch.setattr(RegistrySource, "listing", listing)
    studio.settings.set("catalog.sources", ["registry.example"])
    again = await Studio.open(studio.options, FakeBackend())
    await again.catalog.refresh()
    assert asked == []
    info = again.catalog.sources()[-1]
    assert info.detail == "not opened yet"
    await again.catalog.refresh(info.id)
    assert asked == ["registry.example"]
    await again.catalog.refresh()
    assert asked == ["registry.example"] * 2
    await again.close()


async def test_a_layout_is_added_remembered_and_removed(studio: Studio, tmp_path: Path) -> None:
    place = layout(tmp_path / "mine", {"1.0": kit_image(descriptor(display_name="Mine"))})
    info = await studio.catalog.add_source(f"oci:{place}")
    assert info.count == 1 and info.state is SourceState.READY
    again = await Studio.open(studio.options, FakeBackend())
    assert [s.id for s in again.catalog.sources()] == ["demo", "hub", info.id]
    await again.catalog.remove_source(info.id)
    assert [s.id for s in again.catalog.sources()] == ["demo", "hub"]
    assert again.settings.get("catalog.sources") == ()
    await again.close()


async def test_a_card_of_a_layout_leads_back_to_that_layout(studio: Studio, tmp_path: Path) -> None:
    place = layout(tmp_path / "mine", {"demo.invalid/tool:7.0.0": kit_image(descriptor(version="7.0.0"))})
    await studio.catalog.add_source(f"oci:{place}")
    card = next(card for card in studio.catalog.cards() if card.source == f"oci:{place}")
    details = await studio.catalog.details(card.reference)
    assert details.artifact.digest == card.digest


def _folder(root: Path, name: str, text: str = 'schemaVersion: "3"\nkind: mixin\nversion: 1.0.0\n') -> Path:
    (root / name).mkdir(parents=True)
    (root / name / "kit.yaml").write_text(text)
    return root / name


async def test_a_folder_of_kit_folders_is_a_source(studio: Studio, tmp_path: Path) -> None:
    _folder(tmp_path / "kits", "One Kit")
    _folder(tmp_path / "kits", "two")
    (_folder(tmp_path / "kits", "built") / "Dockerfile").write_text("FROM scratch\nRUN true\n")
    (tmp_path / "kits" / "empty").mkdir()
    info = await studio.catalog.add_source(str(tmp_path / "kits"))
    assert (info.kind, info.count) == (SourceKind.FOLDER, 3)
    cards = {card.repository: card for card in studio.catalog.cards() if card.source == info.id}
    assert cards["local.invalid/one-kit"].kind is CardKind.MIXIN
    built = cards["local.invalid/built"]
    assert built.kind is CardKind.ERROR and built.error is not None and "RUN" in str(built.error)
    details = await studio.catalog.details(cards["local.invalid/one-kit"].reference)
    assert details.descriptor is not None and details.descriptor.version == "1.0.0"
    studio.composer.add(cards["local.invalid/two"].reference)
    value = await studio.composer.settled()
    assert value.descriptor is not None
    assert value.descriptor.kits[0].ref == "local.invalid/two:1.0.0"
    assert value.descriptor.kits[0].digest == cards["local.invalid/two"].digest


async def test_one_kit_folder_is_a_source_and_is_read_again(studio: Studio, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "mine")
    info = await studio.catalog.add_source(str(folder))
    (folder / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: 2.0.0\n')
    await studio.catalog.refresh(info.id)
    card = next(card for card in studio.catalog.cards() if card.source == info.id)
    assert card.version == "2.0.0"


async def test_the_demo_catalog_cannot_be_removed(studio: Studio) -> None:
    with pytest.raises(KitStudioError):
        await studio.catalog.remove_source("demo")


async def test_what_is_no_source_is_refused_and_not_remembered(studio: Studio, tmp_path: Path) -> None:
    for text in (f"oci:{tmp_path / 'nowhere'}", str(tmp_path), "docker.io/acme/kit:1.0"):
        with pytest.raises(KitStudioError):
            await studio.catalog.add_source(text)
    assert studio.settings.get("catalog.sources") == ()
    assert len(studio.catalog.sources()) == 2


async def test_without_a_demo_catalog_the_studio_opens_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITSTUDIO_DEMO", str(tmp_path / "none"))
    studio = await Studio.open(Options(home=tmp_path / "home"), FakeBackend())
    await studio.catalog.refresh()
    info = studio.catalog.sources()[0]
    assert info.state is SourceState.ERROR and info.error is not None
    await studio.close()


async def test_search_wants_every_word_and_puts_names_first(studio: Studio) -> None:
    await studio.catalog.refresh()
    assert studio.catalog.search("base")[0].repository == "demo.invalid/base"
    assert {card.repository for card in studio.catalog.search("base")} >= {"demo.invalid/base", "demo.invalid/tool"}
    assert [card.repository for card in studio.catalog.search("thing tool")] == ["demo.invalid/tool"]
    assert studio.catalog.search("tool nowhere") == ()


def test_versions_are_sorted_by_the_grammar_and_signatures_left_out() -> None:
    digest = "sha256-" + "a" * 64
    rows = version_rows(["1.10.0", "latest", "v1.9", "2.0", digest + ".sig", digest])
    assert [row.tag for row in rows] == ["2.0", "1.10.0", "v1.9", "latest"]
    assert rows[2].version == "1.9" and rows[3].version == ""
    assert is_signature(digest) and is_signature(digest + ".sig") and not is_signature("sha256-x")


def test_inputs_stand_at_their_defaults_and_open_ones_stay_visible() -> None:
    hosts = ["${{ kit.args.region }}.example", "${{ kit.args.open }}.example"]
    about = descriptor(capabilities=(network(hosts),), args={"region": Arg(default="eu"), "open": Arg()})
    found = {p.entry for p in review.permissions(as_installed(about))}
    assert found == {"eu.example", "${{ kit.args.open }}.example"}
