from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitstudio.models.annotations import SCHEMA_VERSION, kit_annotations
from tests.builders import descriptor, kit_image, layout
from tests.cli.conftest import Kitstudio


def test_check_counts_and_names_what_fails(kitstudio: Kitstudio, tmp_path: Path) -> None:
    case = {"id": "a", "op": "version-compare", "in": {"a": "1", "b": "2"}}
    good = {"isVersionA": True, "isVersionB": True, "compare": -1}
    file = tmp_path / "cases.jsonl"
    file.write_text(
        json.dumps({**case, "expect": good}) + "\n\n" + json.dumps({**case, "id": "b", "expect": {}}) + "\n"
    )
    answer = kitstudio("check", str(file), "--json")
    assert answer.code == 1
    assert (answer.document["total"], answer.document["passed"]) == (2, 1)
    failed = answer.document["failed"][0]
    assert set(failed) == {"id", "op", "got", "expect"} and failed["id"] == "b"


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"op": "no-such-op", "id": "x"}'])
def test_check_refuses_what_is_no_case_by_line(kitstudio: Kitstudio, tmp_path: Path, line: str) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(f"\n{line}\n")
    answer = kitstudio("check", str(file))
    assert answer.code == 1 and f"{file}:2" in answer.err


def test_validate_places_every_error(kitstudio: Kitstudio, tmp_path: Path) -> None:
    file = tmp_path / "kit.yaml"
    file.write_text('schemaVersion: "3"\nkind: mixin\nversion: v1\nprovides:\n  - "a b"\n')
    answer = kitstudio("validate", str(file), "--json")
    assert answer.code == 1
    assert answer.document["valid"] is False
    assert [(error["path"], error["line"]) for error in answer.document["errors"]] == [
        ("version", 3),
        ("provides[0]", 5),
    ]
    assert f"{file}:3:10" in answer.err and "^" in answer.err


def test_validate_tells_what_does_not_decode(kitstudio: Kitstudio, tmp_path: Path) -> None:
    file = tmp_path / "kit.yaml"
    file.write_text('schemaVersion: "3"\nkind: mixin\ncolour: red\n')
    answer = kitstudio("validate", str(file), "--json")
    assert answer.code == 1
    assert answer.document["errors"][0]["line"] == 3
    assert "colour" in answer.document["errors"][0]["message"]


def test_validate_points_at_what_does_not_decode(kitstudio: Kitstudio, tmp_path: Path) -> None:
    file = tmp_path / "kit.yaml"
    file.write_text('schemaVersion: "3"\nkind: mixin\nfoo: 1\n')
    assert kitstudio("validate", str(file)).out.endswith("  |\n3 | foo: 1\n  | ^\n")


def test_validate_judges_by_the_form_asked_for(kitstudio: Kitstudio, tmp_path: Path) -> None:
    file = tmp_path / "kit.yaml"
    file.write_text('schemaVersion: "3"\nkind: mixin\nprovides: [thing]\n')
    assert kitstudio("validate", str(file)).code == 0
    assert kitstudio("validate", str(file), "--form", "published").code == 1


def test_validate_a_published_kit(kitstudio: Kitstudio) -> None:
    answer = kitstudio("validate", "demo/tool", "--json")
    assert answer.code == 0
    assert answer.document["valid"] is True and answer.document["errors"] == []
    checks = {check["id"]: check for check in answer.document["checks"]}
    assert all(set(check) == {"id", "verdict", "detail"} for check in checks.values())
    assert checks["descriptor-valid"]["verdict"] == "pass"


def test_validate_fails_an_artifact_that_breaks_a_must(kitstudio: Kitstudio, tmp_path: Path) -> None:
    notes = {**kit_annotations(descriptor()), SCHEMA_VERSION: "2"}
    place = layout(tmp_path / "mine", {"1.0": kit_image(annotations=notes)})
    answer = kitstudio("validate", f"oci:{place}:1.0", "--json")
    assert answer.code == 1 and answer.document["errors"] == []
    assert "fail" in {check["verdict"] for check in answer.document["checks"]}


def test_inspect_has_every_field(kitstudio: Kitstudio) -> None:
    answer = kitstudio("inspect", "demo/tool:1.0.0", "--json")
    assert answer.code == 0
    found = answer.document
    assert set(found) == {
        *("reference", "digest", "mediaType", "kind", "descriptor", "annotations", "platforms", "config", "layers"),
        "surface",
    }
    assert found["kind"] == "mixin" and found["descriptor"]["requires"] == ["base"]
    assert found["surface"]["networkRuntimeAllow"] == ["a.example"]
    assert set(found["layers"][0]) == {"digest", "size"}


def test_inspect_shows_an_image_as_what_it_is(kitstudio: Kitstudio) -> None:
    assert kitstudio("inspect", "demo/plain", "--json").document["kind"] == "image"
    assert kitstudio("inspect", "demo/old", "--json").document["kind"] == "v2"


def test_inspect_another_platform_that_is_not_there(kitstudio: Kitstudio) -> None:
    answer = kitstudio("inspect", "demo/tool", "--platform", "linux/s390x")
    assert answer.code == 1 and "linux/s390x" in answer.err


def test_tags_newest_first(kitstudio: Kitstudio) -> None:
    answer = kitstudio("tags", "demo/tool", "--json")
    assert answer.document == {
        "repository": "demo.invalid/tool",
        "tags": [{"tag": t, "version": t} for t in ("2.0.0", "1.0.0", "0.9.0")],
    }
    assert kitstudio("tags", "demo/tool").out.split() == ["2.0.0", "1.0.0", "0.9.0"]


def test_signature_tags_only_with_all(kitstudio: Kitstudio, tmp_path: Path) -> None:
    image = kit_image(descriptor())
    signature = "sha256-" + "a" * 64 + ".sig"
    place = layout(tmp_path / "mine", {"1.0": image, "edge": image, signature: image})
    tags = kitstudio("tags", f"oci:{place}:1.0", "--json").document["tags"]
    assert tags == [{"tag": "1.0", "version": "1.0"}, {"tag": "edge", "version": None}]
    every = kitstudio("tags", f"oci:{place}:1.0", "--json", "--all").document["tags"]
    assert [tag["tag"] for tag in every] == ["1.0", "edge", signature]


def test_search_prints_one_kit_a_line(kitstudio: Kitstudio) -> None:
    answer = kitstudio("search", "tool", "--json")
    assert answer.code == 0
    first = answer.lines[0]
    assert first["reference"] == "demo.invalid/tool:2.0.0"
    keys = {"reference", "digest", "displayName", "kind", "publisher", "verified", "description"}
    assert set(first) == keys | {"capabilities", "schema"}


def test_search_narrows_down(kitstudio: Kitstudio) -> None:
    def found(*words: str) -> list[str]:
        return [line["reference"].rpartition("/")[2] for line in kitstudio("search", *words, "--json").lines]

    assert found("--kind", "workload") == ["base:1.1.0"]
    assert found("--kind", "v2") == ["old:0.9.0"]
    assert found("--capability", "volume") == ["keeper:1.0.0"]
    assert found("--verified") == []
    assert kitstudio("search", "nowhere").code == 0


def test_search_one_source_only(kitstudio: Kitstudio, tmp_path: Path) -> None:
    place = layout(tmp_path / "mine", {"acme.example/mine:1.0": kit_image(descriptor(display_name="Mine"))})
    lines = kitstudio("search", "--source", f"oci:{place}", "--json").lines
    assert [line["displayName"] for line in lines] == ["Mine"]
    assert kitstudio("settings", "get", "catalog.sources", "--json").document == []


def test_copy_keeps_the_digest(kitstudio: Kitstudio, tmp_path: Path) -> None:
    digest = kitstudio("inspect", "demo/tool:1.0.0", "--json").document["digest"]
    answer = kitstudio("copy", "demo/tool:1.0.0", f"oci:{tmp_path / 'out'}:1.0", "--json")
    assert answer.document == {"reference": f"oci:{tmp_path / 'out'}:1.0", "digest": digest}
    assert kitstudio("inspect", f"oci:{tmp_path / 'out'}:1.0", "--json").document["digest"] == digest


def test_copy_into_the_demo_catalog_is_refused(kitstudio: Kitstudio) -> None:
    assert kitstudio("copy", "demo/tool:1.0.0", "demo/other:1.0").code == 1
