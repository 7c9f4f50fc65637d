"""``kitstudio publish``: the contract of the command line, against a real registry and a layout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import layout
from tests.cli.conftest import Kitstudio
from tests.registry.servers import Server, run_registry
from tests.services.published_kits import asking, mixin, published, set_text, workload

BASE, TOOL = "demo.invalid/base:1.0.0", "demo.invalid/tool:1.0.0"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kits as a publisher makes them."""
    images = {
        BASE: published(workload("base"), "base"),
        TOOL: published(mixin("tool", f"requires: [base]\n{asking('a.example')}"), "tool"),
        "demo.invalid/clash:1.0.0": published(mixin("clash"), "clash", {"opt/tool/content": b"x"}),
    }
    return layout(tmp_path_factory.mktemp("kits"), images)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def team(tmp_path: Path) -> Path:
    path = tmp_path / "team.yaml"
    path.write_text(set_text([BASE, TOOL]))
    return path


@pytest.mark.registry
def test_a_set_is_published_and_valid_where_it_arrives(kitstudio: Kitstudio, server: Server, team: Path) -> None:
    target = f"{server.host}/acme/team:1.0.0"
    answer = kitstudio("publish", str(team), target, "--json")
    assert answer.code == 0 and set(answer.document) == {"reference", "digest", "kind"}
    assert (answer.document["reference"], answer.document["kind"]) == (target, "workload")
    assert "demo Kits are known to Kit Studio alone" in answer.err
    assert kitstudio("inspect", target, "--json").document["digest"] == answer.document["digest"]
    valid = kitstudio("validate", target, "--json").document
    assert valid["valid"] and not [check for check in valid["checks"] if check["verdict"] not in ("pass",)]
    before = kitstudio("surface", str(team), "--json").document["surface"]
    assert kitstudio("surface", target, "--json").document["surface"] == before
    assert kitstudio("publish", str(team), target, "--json").document == answer.document


def test_a_layout_takes_its_tag_from_the_version(kitstudio: Kitstudio, team: Path, tmp_path: Path) -> None:
    answer = kitstudio("publish", str(team), f"oci:{tmp_path}/out", "--json")
    assert answer.document["reference"] == f"oci:{tmp_path}/out:1.0.0"
    assert kitstudio("validate", f"oci:{tmp_path}/out:1.0.0").code == 0


def test_build_args_answer_where_a_set_takes_its_kits_from(kitstudio: Kitstudio, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    text = set_text(["${{ kit.args.registry }}/base:1.0.0"], "args: {registry: {required: true, buildArg: REGISTRY}}\n")
    path.write_text(text.replace("- ref: $", '- ref: "$').replace("base:1.0.0\n", 'base:1.0.0"\n'))
    out = f"oci:{tmp_path}/out:1"
    assert kitstudio("publish", str(path), out).code == 1
    assert kitstudio("publish", str(path), out, "--build-arg", "registry=demo.invalid").code == 0
    wrong = kitstudio("publish", str(path), out, "--build-arg", "registry=demo.invalid", "--build-arg", "other=1")
    assert wrong.code == 64 and "other" in wrong.err


def test_what_cannot_be_published_is_told_with_every_reason(kitstudio: Kitstudio, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(set_text([BASE, TOOL, "demo.invalid/clash:1.0.0"]))
    answer = kitstudio("publish", str(path), f"oci:{tmp_path}/out:1", "--json")
    assert answer.code == 1
    assert [problem["kind"] for problem in answer.document["problems"]] == ["file-collision"]
    assert "/opt/tool/content" in answer.document["error"]["what"] and "/opt/tool/content" in answer.err


def test_another_platform_than_the_kits_have_is_refused(kitstudio: Kitstudio, team: Path, tmp_path: Path) -> None:
    answer = kitstudio("publish", str(team), f"oci:{tmp_path}/out:1", "--platform", "linux/arm64", "--json")
    assert answer.code == 1 and answer.document["problems"][0]["kind"] == "missing-platform"


def test_a_local_member_is_named_and_refused(kitstudio: Kitstudio, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: "1.0"\nprovides: [mine]\n')
    path = tmp_path / "team.yaml"
    path.write_text(set_text([BASE, "local.invalid/mine:1.0"]))
    answer = kitstudio("publish", str(path), f"oci:{tmp_path}/out:1", "--json")
    assert answer.code == 1 and "local.invalid/mine:1.0" in answer.document["error"]["what"]


def test_a_declaration_only_kit_is_published_from_its_folder(kitstudio: Kitstudio, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: "1.0"\nprovides: [mine]\n')
    answer = kitstudio("publish", str(mine), f"oci:{tmp_path}/out", "--json")
    assert answer.code == 0 and answer.document["kind"] == "mixin"
    assert kitstudio("validate", f"oci:{tmp_path}/out:1.0").code == 0
    (mine / "kit.dockerfile").write_text("FROM scratch\n")
    answer = kitstudio("publish", str(mine), "reg.example/acme/mine:1", "--json")
    assert answer.code == 1 and "docker buildx build" in answer.document["error"]["remedy"]


def test_a_published_kit_is_copied_not_published(kitstudio: Kitstudio, tmp_path: Path) -> None:
    answer = kitstudio("publish", BASE, f"oci:{tmp_path}/out:1", "--json")
    assert answer.code == 64 and "copy" in answer.document["error"]["remedy"]
