from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.registry.reference import (
    FolderLocation,
    LayoutLocation,
    Reference,
    RegistryError,
    parse,
    parse_location,
)

DIGEST = "sha256:" + "a" * 64
HERE = Path("/somewhere")


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("docker.io/acme/kit:1.0", "docker.io", "acme/kit", "1.0", ""),
        ("acme/kit", "docker.io", "acme/kit", "", ""),
        ("debian", "docker.io", "library/debian", "", ""),
        ("index.docker.io/acme/kit", "docker.io", "acme/kit", "", ""),
        ("localhost/a", "localhost", "a", "", ""),
        ("localhost:5000/a/b:x", "localhost:5000", "a/b", "x", ""),
        ("host:5000/a", "host:5000", "a", "", ""),
        ("[::1]:5000/a:1", "[::1]:5000", "a", "1", ""),
        ("Registry/a", "Registry", "a", "", ""),
        (f"hub.example/a/b:1@{DIGEST}", "hub.example", "a/b", "1", DIGEST),
        (f"hub.example/a@{DIGEST}", "hub.example", "a", "", DIGEST),
    ],
)
def test_reference_is_split_as_the_grammar_says(
    text: str, registry: str, repository: str, tag: str, digest: str
) -> None:
    found = parse(text)
    assert (found.registry, found.repository, found.tag, found.digest) == (registry, repository, tag, digest)
    assert found.text == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a b",
        "https://hub.example/a",
        "Upper",
        "a/B",
        "a:",
        "a@",
        "a@sha256:12",
        "a" * 64 + ":",
        "a" * 64 + "/",
        "f" * 64,
        "git+https://x/y",
        "a//b",
        "hub.example/",
        "-a/b.c/",
        "a:" + "t" * 129,
        "x/" + "a" * 260,
    ],
)
def test_malformed_reference_is_refused_with_its_text_and_a_remedy(text: str) -> None:
    with pytest.raises(RegistryError) as refusal:
        parse(text)
    assert refusal.value.what
    assert refusal.value.remedy


def test_control_characters_of_a_refused_reference_are_not_shown() -> None:
    with pytest.raises(RegistryError) as refusal:
        parse("a\x1b[31m/b")
    assert "\x1b" not in refusal.value.where


@given(st.text(max_size=80))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        found = parse(text)
    except RegistryError:
        return
    assert parse(str(found)) == Reference(found.registry, found.repository, found.tag, found.digest, str(found))


def test_forms_of_the_command_line_in_their_order() -> None:
    assert parse_location("./kit", HERE) == FolderLocation(HERE / "kit")
    assert parse_location("/kits/a", HERE) == FolderLocation(Path("/kits/a"))
    assert parse_location("team.yaml", HERE) == FolderLocation(HERE / "team.yaml")
    assert parse_location("oci:lay", HERE) == LayoutLocation(HERE / "lay")
    assert parse_location("oci:/a/b:1.0", HERE) == LayoutLocation(Path("/a/b"), "1.0")
    assert parse_location(f"oci:a@{DIGEST}", HERE) == LayoutLocation(HERE / "a", digest=DIGEST)
    assert str(parse_location("demo/hello:1.0.0", HERE)) == "demo.invalid/hello:1.0.0"
    assert str(parse_location("acme/kit:1", HERE)) == "docker.io/acme/kit:1"


def test_folder_named_like_a_host_with_port_stays_a_path() -> None:
    assert parse_location("oci:./a:b/c", HERE) == LayoutLocation(HERE / "a:b" / "c")


def test_with_tag_and_with_digest_drop_the_old_spelling() -> None:
    reference = parse("hub.example/a:1")
    assert str(reference.with_digest(DIGEST)) == f"hub.example/a:1@{DIGEST}"
    assert str(reference.with_digest(DIGEST).with_tag("2")) == "hub.example/a:2"
    assert reference.name == "hub.example/a"
