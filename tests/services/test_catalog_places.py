"""Set files, watched folders and layouts, registries with passwords; what a catalog answers beyond its cards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kitstudio.models.capabilities import credential
from kitstudio.models.descriptor import Capability
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.blob_store import digest_of
from kitstudio.registry.credentials import Account
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.secret_store import SESSION
from kitstudio.registry.writer import Image
from kitstudio.services.app import Studio
from kitstudio.services.catalog import CardKind, KitCard, SourceKind, SourceState
from tests.builders import descriptor, kit_image, kit_index, layout
from tests.registry.servers import PASSWORD, USER, Answer, Double, Request, Server, run_double, run_registry
from tests.services.fakes import FakeBackend


@pytest.fixture
def double() -> Iterator[Double]:
    with run_double() as server:
        yield server


def serve(images: dict[str, Image]) -> Callable[[Request], Answer]:
    """A registry that has ``repository:tag`` → image."""

    def answer(request: Request) -> Answer:
        path = request.path.partition("?")[0].removeprefix("/v2/")
        if path == "_catalog":
            return Answer(200, json.dumps({"repositories": sorted({n.rpartition(":")[0] for n in images})}).encode())
        for name, image in images.items():
            repository, _, tag = name.rpartition(":")
            if path == f"{repository}/tags/list":
                tags = [n.rpartition(":")[2] for n in images if n.startswith(f"{repository}:")]
                return Answer(200, json.dumps({"tags": tags}).encode())
            if path in (f"{repository}/manifests/{tag}", f"{repository}/manifests/{image.digest}"):
                return Answer(200, image.raw, {"Content-Type": image.media_type})
            for blob in image.blobs:
                if path.startswith(f"{repository}/") and path.endswith(digest_of(blob)):
                    return Answer(200, blob, {"Content-Type": "application/vnd.oci.image.manifest.v1+json"})
        return Answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')

    return answer


def cards(studio: Studio, source: str) -> dict[str, KitCard]:
    return {card.repository: card for card in studio.catalog.cards() if card.source == source}


def set_file(path: Path, *kits: str) -> Path:
    path.write_text('schemaVersion: "3"\nkind: set\nkits:\n' + "".join(f"  - ref: {kit}\n" for kit in kits))
    return path


async def until(studio: Studio, done: Callable[[], bool]) -> None:
    """Wait for the catalog to say what a test expects of it."""
    told = asyncio.Event()
    end = studio.catalog.changed.subscribe(lambda _: told.set())
    try:
        async with asyncio.timeout(20):
            while not done():
                await told.wait()
                told.clear()
    finally:
        end()


async def test_a_set_file_lists_its_kits_at_the_versions_it_states(studio: Studio, tmp_path: Path) -> None:
    path = set_file(tmp_path / "team.yaml", "demo.invalid/tool:1.0.0", "demo.invalid/base")
    info = await studio.catalog.add_source(str(path))
    assert (info.kind, info.count, info.title) == (SourceKind.SET, 2, "team.yaml")
    await studio.catalog.want("demo.invalid/tool")
    await studio.catalog.want("demo.invalid/base")
    found = cards(studio, info.id)
    assert found["demo.invalid/tool"].reference == "demo.invalid/tool:1.0.0"
    assert found["demo.invalid/base"].version == "1.1.0"
    assert studio.settings.get("catalog.sources") == (str(path),)


async def test_a_kit_that_left_the_list_before_its_turn_is_passed_over(studio: Studio, tmp_path: Path) -> None:
    path = set_file(tmp_path / "team.yaml", "demo.invalid/tool:1.0.0")
    info = await studio.catalog.add_source(str(path))
    shelf = studio.catalog._shelf(info.id)
    await studio.catalog._fill(shelf, "demo.invalid/gone")
    assert list(shelf.cards) == ["demo.invalid/tool"]


async def test_a_set_file_pins_what_it_pins(studio: Studio, double: Double, tmp_path: Path) -> None:
    old, new = kit_image(descriptor(version="1.0.0")), kit_image(descriptor(version="1.0.0", display_name="Moved"))
    double.answer = serve({"acme/kit:1.0.0": new, "acme/kit:old": old})
    path = tmp_path / "team.yaml"
    path.write_text(
        f'schemaVersion: "3"\nkind: set\nkits:\n  - ref: {double.host}/acme/kit:1.0.0\n    digest: {old.digest}\n'
    )
    info = await studio.catalog.add_source(str(path))
    assert double.requests == []
    await studio.catalog.want(f"{double.host}/acme/kit")
    assert cards(studio, info.id)[f"{double.host}/acme/kit"].digest == old.digest


async def test_a_set_file_asks_nobody_in_the_next_run_until_it_is_opened(
    studio: Studio, double: Double, tmp_path: Path
) -> None:
    double.answer = serve({"acme/kit:1.0.0": kit_image()})
    info = await studio.catalog.add_source(str(set_file(tmp_path / "team.yaml", f"{double.host}/acme/kit:1.0.0")))
    await studio.catalog.want(f"{double.host}/acme/kit")
    double.requests.clear()
    later = await Studio.open(studio.options, FakeBackend())
    await later.catalog.start()
    await later.catalog.refresh()
    assert cards(later, info.id)[f"{double.host}/acme/kit"].kind is CardKind.MIXIN
    await later.catalog.want(f"{double.host}/acme/kit")
    assert double.requests == []
    await later.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('schemaVersion: "3"\nkind: mixin\n', "not a set"),
        ("kits: [", ""),
        ('schemaVersion: "3"\nkind: set\nkits:\n  - ref: "Not A Reference"\n', ""),
    ],
)
async def test_a_file_that_is_no_set_is_refused_as_a_source(
    studio: Studio, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "strange.yaml"
    path.write_text(text)
    with pytest.raises(KitStudioError) as caught:
        await studio.catalog.add_source(str(path))
    assert said in str(caught.value)
    assert studio.settings.get("catalog.sources") == ()


async def test_a_watched_folder_shows_what_changes_in_it(studio: Studio, tmp_path: Path) -> None:
    kit = tmp_path / "kits" / "one"
    kit.mkdir(parents=True)
    (kit / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: 1.0.0\n')
    await studio.catalog.start()
    info = await studio.catalog.add_source(str(tmp_path / "kits"))
    (kit / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: 2.0.0\n')
    second = tmp_path / "kits" / "two"
    second.mkdir()
    (second / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: 7.0.0\n')
    await until(studio, lambda: {card.version for card in cards(studio, info.id).values()} == {"2.0.0", "7.0.0"})
    (second / "kit.yaml").unlink()
    second.rmdir()
    await until(studio, lambda: len(cards(studio, info.id)) == 1)


async def test_a_watched_layout_shows_what_is_added_and_that_it_went(studio: Studio, tmp_path: Path) -> None:
    place = layout(tmp_path / "mine", {"1.0": kit_image()})
    await studio.catalog.start()
    info = await studio.catalog.add_source(f"oci:{place}")
    layout(place, {"acme.example/more:1.0": kit_image(descriptor(display_name="More"))})
    await until(studio, lambda: "acme.example/more" in cards(studio, info.id))
    (place / "index.json").unlink()
    await until(studio, lambda: next(s for s in studio.catalog.sources() if s.id == info.id).state is SourceState.ERROR)


async def test_watching_ends_with_the_program_and_with_the_source(studio: Studio, tmp_path: Path) -> None:
    place = layout(tmp_path / "mine", {"1.0": kit_image()})
    await studio.catalog.start()
    info = await studio.catalog.add_source(f"oci:{place}")
    assert [task for task in asyncio.all_tasks() if task.get_name() == f"watch {info.id}"]
    await studio.catalog.remove_source(info.id)
    await studio.catalog.add_source(f"oci:{place}")
    await studio.catalog.close()
    await asyncio.sleep(0)
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("watch ")]


@pytest.mark.registry
async def test_a_registry_with_a_password_row_14(studio: Studio, tmp_path: Path) -> None:
    with run_registry(tmp_path, password=True) as server:
        await studio.catalog.add_source(server.host)
        info = next(s for s in studio.catalog.sources() if s.id == server.host)
        assert (info.state, info.registry, info.account) == (SourceState.SIGN_IN, server.host, "")
        await _push(studio, server)
        await studio.catalog.retry(server.host)
        info = next(s for s in studio.catalog.sources() if s.id == server.host)
        assert (info.state, info.account, info.count) == (SourceState.READY, USER, 1)
        await studio.catalog.want(f"{server.host}/acme/tool")
        assert cards(studio, server.host)[f"{server.host}/acme/tool"].kind is CardKind.MIXIN


async def _push(studio: Studio, server: Server) -> None:
    studio.places.sign_ins().accounts.add(Account(server.host, USER, SESSION), PASSWORD)
    studio.places.renew(server.host)
    await studio.places.copy("demo/tool:1.0.0", f"{server.host}/acme/tool:1.0.0")


async def test_a_host_without_a_list_says_so_without_an_error_row_31(studio: Studio, double: Double) -> None:
    for status in (404, 405):
        double.answer = lambda request, status=status: Answer(status)
        await studio.catalog.add_source(double.host)
        await studio.catalog.refresh(double.host)
        info = next(s for s in studio.catalog.sources() if s.id == double.host)
        assert (info.state, info.error) == (SourceState.READY, None)
        assert "Name a repository" in info.note


async def test_an_empty_list_is_said_to_be_for_this_account_row_32(studio: Studio, double: Double) -> None:
    double.answer = lambda request: Answer(200, b'{"repositories": []}')
    info = await studio.catalog.add_source(double.host)
    assert info.state is SourceState.READY
    assert "for this account" in info.detail


async def test_a_list_that_breaks_off_shows_what_came_and_says_so(studio: Studio, double: Double) -> None:
    def answer(request: Request) -> Answer:
        if "last" in request.path:
            return Answer(500)
        return Answer(200, b'{"repositories": ["a/one"]}', {"Link": '</v2/_catalog?last=x>; rel="next"'})

    double.answer = answer
    info = await studio.catalog.add_source(double.host)
    assert (info.count, info.state) == (1, SourceState.READY)
    assert "broke off" in info.note


async def test_signature_tags_are_folded_and_present_is_all_that_is_said_row_25(studio: Studio, double: Double) -> None:
    image = kit_index(attested=True)
    images = {f"acme/kit:{version}": image for version in ("1.0", "2.0", "3.0")}
    stem = image.digest.replace(":", "-")
    images |= {f"acme/kit:{stem}.sig": image, f"acme/kit:{stem}.att": image}
    images |= {f"acme/kit:sha256-{n:064x}.sig": image for n in range(38)}
    double.answer = serve(images)
    details = await studio.catalog.details(f"{double.host}/acme/kit")
    assert [row.tag for row in details.versions] == ["3.0", "2.0", "1.0"]
    assert len(details.folded_tags) == 40
    titles = [attachment.title for attachment in details.attachments]
    assert any("signature" in title for title in titles)
    assert any("attestation" in title for title in titles)
    assert sum("/manifests/" in request.path for request in double.requests) == 2
    assert not any("/referrers/" in request.path for request in double.requests)


async def test_attachments_are_asked_for_only_on_demand_and_named_by_their_own_type_row_26(
    studio: Studio, double: Double
) -> None:
    image = kit_image()
    serving = serve({"acme/kit:1.0": image})
    rows = [
        {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": f"sha256:{n:064x}", "size": 2,
         "artifactType": kind}
        for n, kind in enumerate(("application/spdx+json", "application/vnd.dev.cosign.artifact.sig.v1+json"))
    ]  # fmt: skip
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": rows}

    def answer(request: Request) -> Answer:
        if "/referrers/" in request.path:
            kind = {"Content-Type": "application/vnd.oci.image.index.v1+json"}
            return Answer(200, json.dumps(index).encode(), kind)
        return serving(request)

    double.answer = answer
    found = await studio.catalog.attached(f"{double.host}/acme/kit:1.0")
    assert [attachment.title for attachment in found] == ["SBOM (SPDX)", "signature (cosign)"]
    assert await studio.catalog.attached("demo/tool") == ()


async def test_an_index_that_contradicts_its_image_is_noted(studio: Studio, double: Double) -> None:
    about = descriptor(display_name="Honest")
    honest, index = kit_index(about), kit_index(replace(about, display_name="Other"))
    raw = index.raw
    for mine, theirs in zip(json.loads(honest.raw)["manifests"], json.loads(index.raw)["manifests"], strict=True):
        raw = raw.replace(theirs["digest"].encode(), mine["digest"].encode())
        raw = raw.replace(f'"size":{theirs["size"]}'.encode(), f'"size":{mine["size"]}'.encode())
    double.answer = serve({"acme/kit:1.0": Image(raw, index.media_type, honest.blobs)})
    details = await studio.catalog.details(f"{double.host}/acme/kit:1.0")
    assert any("contradict" in note for note in details.notes)


async def test_an_image_says_why_it_is_no_kit_row_20(studio: Studio, double: Double) -> None:
    double.answer = serve({"acme/plain:1.0": kit_image(annotations={})})
    details = await studio.catalog.details(f"{double.host}/acme/plain:1.0")
    assert details.card.kind is CardKind.IMAGE
    assert any("neither it nor its index carries" in note for note in details.notes)


async def test_staged_sources_are_read_from_the_one_layer_that_holds_them(studio: Studio) -> None:
    found = await studio.catalog.staged("demo/tool:2.0.0")
    assert [file.path for file in found.files] == ["test/kit.yaml"]
    assert "Tool" in found.files[0].text


async def test_compatible_says_in_a_sentence_why_a_kit_does_not_fit(studio: Studio) -> None:
    await studio.catalog.refresh()
    studio.composer.add("demo.invalid/base:1.1.0")
    studio.composer.add("demo.invalid/tool:2.0.0")
    plan = (await studio.composer.settled()).plan
    found = await studio.catalog.compatible(plan)
    assert found["demo.invalid/wild"] == ""
    assert found["demo.invalid/tool"] == "It is in the set already."
    assert "tool" in found["demo.invalid/rival"] and "cannot be in a set" in found["demo.invalid/rival"]
    assert "demo.invalid/plain" not in found


async def test_compatible_with_an_empty_set_names_what_is_missing(studio: Studio) -> None:
    await studio.catalog.refresh()
    found = await studio.catalog.compatible((await studio.composer.settled()).plan)
    assert found["demo.invalid/base"] == ""
    assert "needs" in found["demo.invalid/tool"] and "base" in found["demo.invalid/tool"]


async def test_what_a_registry_lists_in_another_shape_is_an_error_not_an_empty_list(
    studio: Studio, double: Double
) -> None:
    double.answer = lambda request: Answer(200, b'{"tags": 5, "repositories": 5}')
    with pytest.raises(RegistryError, match="something else than a list of tags"):
        await studio.catalog.details(f"{double.host}/acme/kit")
    info = await studio.catalog.add_source(double.host)
    assert info.state is SourceState.ERROR
    double.answer = lambda request: Answer(200, b'{"tags": null}')
    with pytest.raises(RegistryError, match="no tags"):
        await studio.catalog.details(f"{double.host}/acme/kit")


@pytest.mark.parametrize("text", ["typo", "Typo", "some_word"])
async def test_a_word_is_no_source(studio: Studio, text: str) -> None:
    with pytest.raises(RegistryError, match=f"no source named “{text}”"):
        await studio.catalog.add_source(text)


def test_a_credential_is_among_a_kits_relations() -> None:
    from kitstudio.models.fits import relations_of

    entry = Capability(credential.TYPE.name, {"service": "github", "phase": ["runtime"]}, True)
    assert isinstance(relations_of(descriptor(capabilities=(entry,))).credentials, tuple)
