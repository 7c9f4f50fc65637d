"""``search`` over Docker Hub's catalogs, over what is kept, and over sources that are none; layouts shown as typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kitstudio.services.home import open_home
from kitstudio.services.settings import Settings
from tests.builders import descriptor, kit_image, kit_index, layout
from tests.cli.conftest import Kitstudio
from tests.services.hub_double import HubDouble, run_hub


@pytest.fixture
def hub(home: Path) -> Iterator[HubDouble]:
    images = {
        "acme/tool:1.0": kit_index(descriptor(display_name="Tool", version="1.0")),
        "acme/other:1.0": kit_image(descriptor(display_name="Other")),
    }
    with run_hub(images) as running:
        running.settings(Settings(open_home(home).settings))
        yield running


def test_the_hub_is_asked_only_where_it_is_named(kitstudio: Kitstudio, hub: HubDouble) -> None:
    answer = kitstudio("search", "tool", "--json")
    assert hub.paths == []
    assert "Docker Hub – Verified Publishers" in answer.err
    for source in ("hub", "Docker Hub – Verified Publishers", "docker.io/acme", "docker.io"):
        [line] = kitstudio("search", "tool", "--source", source, "--json").lines
        assert (line["reference"], line["publisher"], line["schema"]) == ("docker.io/acme/tool:1.0", "acme", "3")
        assert line["verified"] is (source != "docker.io/acme")


def test_only_manifests_of_what_answers_the_query_are_fetched(kitstudio: Kitstudio, hub: HubDouble) -> None:
    kitstudio("search", "tool", "--source", "hub")
    assert [path for path in hub.paths if "/manifests/" in path] == ["/v2/acme/tool/manifests/1.0"]


def test_a_long_list_is_not_fetched_whole_and_says_so(
    kitstudio: Kitstudio, hub: HubDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kitstudio.cli.kits.MAX_FETCHED", 1)
    answer = kitstudio("search", "--source", "hub", "--json")
    assert len(answer.lines) == 2
    assert sum("/manifests/" in path for path in hub.paths) == 1
    assert "1 of them are shown as they are listed" in answer.err


def test_offline_search_finds_what_was_kept_and_says_how_old_it_is(kitstudio: Kitstudio, hub: HubDouble) -> None:
    assert kitstudio("search", "--source", "hub", "--json").code == 0
    hub.server.requests.clear()
    answer = kitstudio("search", "tool acme", "--offline", "--json")
    assert [line["reference"] for line in answer.lines] == ["docker.io/acme/tool:1.0"]
    assert "what was fetched 0 min ago" in answer.err
    answer = kitstudio("search", "other", "--source", "hub", "--offline", "--json")
    assert [line["reference"] for line in answer.lines] == ["docker.io/acme/other:1.0"]
    assert answer.code == 0
    assert hub.paths == []


def test_offline_search_of_what_was_never_fetched_fails_and_says_why(kitstudio: Kitstudio, hub: HubDouble) -> None:
    answer = kitstudio("search", "tool", "--source", "hub", "--offline")
    assert answer.code == 1
    assert "offline" in answer.err
    assert hub.paths == []


@pytest.mark.parametrize("word", ["typo", "Hub2", "verified"])
def test_a_source_that_is_none_is_refused_by_its_name(kitstudio: Kitstudio, word: str) -> None:
    answer = kitstudio("search", "tool", "--source", word, "--json")
    assert answer.code == 1
    error = answer.document["error"]
    assert f"no source named “{word}”" in error["what"]
    assert "Known here: demo, hub" in error["remedy"]


def test_a_folder_named_by_a_bare_word_is_the_folder(
    kitstudio: Kitstudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = tmp_path / "kits" / "mine"
    kit.mkdir(parents=True)
    (kit / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: 1.0.0\n')
    monkeypatch.chdir(tmp_path)
    [line] = kitstudio("search", "--source", "kits", "--json").lines
    assert line["reference"].startswith("local.invalid/mine")


def test_a_layouts_kit_is_shown_as_it_was_typed(kitstudio: Kitstudio, tmp_path: Path) -> None:
    place = layout(tmp_path / "mine", {"1.0": kit_image(), "2.0": kit_image(descriptor(version="2.0"))})
    typed = f"oci:{place}:1.0"
    answer = kitstudio("inspect", typed, "--json")
    assert answer.document["reference"] == typed
    assert "local.invalid" not in kitstudio("inspect", typed).out
    answer = kitstudio("tags", typed, "--json")
    assert answer.document["repository"] == typed
    missing = kitstudio("inspect", f"oci:{place}:3.0", "--json").document["error"]
    assert "local.invalid" not in str(missing)


def test_a_limit_is_told_as_one_and_nothing_found_fails(kitstudio: Kitstudio, hub: HubDouble) -> None:
    hub.limited = "60"
    answer = kitstudio("search", "--source", "hub")
    assert answer.code == 1
    assert "too many requests" in answer.err.lower()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("registry.proxies", "ftp=http://proxy.example", "http=ADDRESS or https=ADDRESS"),
        ("registry.proxies", "https=http://ada:secret@proxy.example:3128", "no place for secrets"),
        ("registry.proxies", "https=proxy.example:3128", "must be an address"),
        ("registry.mirrors", "docker.io", "HOST=MIRROR"),
        ("registry.mirrors", "docker.io=docker.io", "its own mirror"),
        ("registry.ca_files", "certs/ca.pem", "whole path"),
        ("registry.no_proxy", "not a host", "not a host"),
        ("registry.plain_http", "http://host", "not a host"),
        ("hub.api_base", "hub.docker.com", "must be an address"),
        ("hub.search_base", "https://x.example/?q=1", "must end before"),
        ("cache.blobs_limit", "-1", "whole number"),
    ],
)
def test_a_way_out_that_is_none_is_refused_in_words(kitstudio: Kitstudio, key: str, value: str, said: str) -> None:
    answer = kitstudio("settings", "set", key, value)
    assert answer.code == 1
    assert said in answer.err
    assert "secret@" not in answer.err and "ada" not in answer.err


def test_a_certificate_file_that_is_gone_stops_encrypted_requests_with_its_name(
    kitstudio: Kitstudio, tmp_path: Path
) -> None:
    gone = tmp_path / "gone.pem"
    assert kitstudio("settings", "set", "registry.ca_files", str(gone)).code == 0
    answer = kitstudio("inspect", "registry.invalid/acme/kit:1.0")
    assert answer.code == 1
    assert str(gone) in answer.err
