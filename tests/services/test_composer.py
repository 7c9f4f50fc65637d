from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kitstudio.models.decode import decode
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.plan import ProblemKind, RemedyKind
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.source import Unreachable
from kitstudio.services.app import Studio
from kitstudio.services.composer import Composer, Composition
from tests.builders import descriptor, kit_image, layout

BASE, TOOL, ASKING = "demo.invalid/base:1.0.0", "demo.invalid/tool:1.0.0", "demo.invalid/asking:1.0.0"
SET = f"""\
# syntax=docker/sandbox-kit:3
schemaVersion: "3"
kind: set   # ours
displayName: Team
kits:
  # the base
  - ref: {BASE}
"""


@pytest.fixture
def composer(studio: Studio) -> Composer:
    return studio.composer


async def _with(composer: Composer, *references: str) -> Composition:
    for reference in references:
        composer.add(reference)
    return await composer.settled()


def _kinds(composition: Composition) -> list[ProblemKind]:
    return [problem.kind for problem in composition.plan.problems]


async def test_a_new_set_is_empty_clean_and_a_set_file(composer: Composer) -> None:
    value = composer.new()
    assert not value.dirty
    assert decode(value.state.text).descriptor.kind == "set"
    assert _kinds(value) == [ProblemKind.EMPTY_SET] or not value.plan.coherent


async def test_members_arrive_and_are_ordered(composer: Composer) -> None:
    value = composer.add(TOOL)
    assert value.plan.loading and value.dirty
    value = await _with(composer, BASE)
    assert value.plan.coherent
    assert value.plan.ordered == (BASE, TOOL)


async def test_every_change_is_published(composer: Composer) -> None:
    seen: list[Composition] = []
    composer.changed.subscribe(seen.append)
    value = await _with(composer, BASE)
    assert seen[-1] == value
    assert [s.plan.loading for s in seen] == [True, False]


async def test_the_short_spelling_is_written_in_full(composer: Composer) -> None:
    value = await _with(composer, "demo/base:1.0.0", "demo/tool")
    assert value.descriptor is not None
    assert [kit.ref for kit in value.descriptor.kits] == [BASE, "demo.invalid/tool:2.0.0"]


async def test_adding_what_is_there_changes_nothing(composer: Composer) -> None:
    before = await _with(composer, BASE)
    assert composer.add("demo/base:1.0.0").state == before.state


async def test_undo_is_going_back_to_an_earlier_state(composer: Composer) -> None:
    before = await _with(composer, BASE)
    await _with(composer, TOOL)
    value = composer.apply(before.state)
    assert value.plan.ordered == (BASE,) and value.state == before.state


async def test_text_that_does_not_decode_says_where_and_loses_nothing(composer: Composer) -> None:
    await _with(composer, BASE)
    good = composer.value.state
    value = composer.apply(replace(good, text=good.text + "colour: red\n"))
    assert value.descriptor is None and "colour" in value.text_error
    assert "colour: red" in value.state.text
    assert composer.apply(good).plan.coherent


async def test_a_remedy_is_one_step(studio: Studio, composer: Composer) -> None:
    await studio.catalog.refresh()
    value = await _with(composer, TOOL)
    missing = next(p for p in value.plan.problems if p.kind is ProblemKind.REQUIRES_MISSING)
    composer.remedy(next(r for r in missing.remedies if r.kind is RemedyKind.ADD))
    assert (await composer.settled()).plan.coherent


async def test_a_conflict_offers_to_remove_either(composer: Composer) -> None:
    value = await _with(composer, BASE, TOOL, "demo/rival:1.0.0")
    conflict = next(p for p in value.plan.problems if p.kind is ProblemKind.CONFLICT)
    removed = [r.kit for r in conflict.remedies if r.kind is RemedyKind.REMOVE]
    assert set(removed) == {TOOL, "demo.invalid/rival:1.0.0"}
    assert composer.remedy(conflict.remedies[0]).plan.coherent


async def test_what_is_no_kit_is_a_problem_with_a_way_out(composer: Composer) -> None:
    value = await _with(composer, BASE, "demo/plain:1.0.0", "demo/old:0.9.0")
    found = [p for p in value.plan.problems if p.kind is ProblemKind.NOT_A_KIT]
    assert len(found) == 2
    assert any("v2" in p.message for p in found) and any("image, not a Kit" in p.message for p in found)
    for problem in found:
        composer.remedy(problem.remedies[0])
    assert composer.value.plan.coherent


async def test_an_unreachable_member_can_be_tried_again(composer: Composer, monkeypatch: pytest.MonkeyPatch) -> None:
    real = LayoutSource.artifact

    async def down(*_: object) -> object:
        raise Unreachable("The registry did not answer.", where="demo", remedy="Check the network.")

    monkeypatch.setattr(LayoutSource, "artifact", down)
    value = await _with(composer, BASE)
    problem = next(p for p in value.plan.problems if p.kind is ProblemKind.UNREACHABLE)
    retry = next(r for r in problem.remedies if r.kind is RemedyKind.RETRY)
    monkeypatch.setattr(LayoutSource, "artifact", real)
    assert composer.remedy(retry).plan.loading
    assert (await composer.settled()).plan.coherent


async def test_an_input_goes_into_the_text_a_secret_does_not(composer: Composer) -> None:
    await _with(composer, BASE, ASKING)
    composer.set_arg(ASKING, "level", "high")
    value = composer.set_arg(ASKING, "api_token", "hunter2")
    assert "level: high" in value.state.text
    assert "hunter2" not in value.state.text and "hunter2" not in repr(value)
    assert value.state.secrets == {(ASKING, "api_token"): "hunter2"}
    assert value.plan.environment["API_TOKEN"] == "hunter2"
    value = composer.set_arg(ASKING, "level", None)
    value = composer.set_arg(ASKING, "api_token", None)
    assert "level" not in value.state.text and not value.state.secrets


async def test_a_wrong_value_is_a_problem(composer: Composer) -> None:
    await _with(composer, BASE, ASKING)
    assert _kinds(composer.set_arg(ASKING, "level", "loud")) == [ProblemKind.ARG]


async def test_replace_keeps_what_the_new_version_still_declares(composer: Composer) -> None:
    await _with(composer, BASE, ASKING)
    composer.set_arg(ASKING, "level", "high")
    composer.set_arg(ASKING, "api_token", "hunter2")
    composer.replace(ASKING, "demo.invalid/asking:2.0.0")
    value = await composer.settled()
    assert value.descriptor is not None
    assert value.descriptor.kits[1].ref == "demo.invalid/asking:2.0.0"
    assert value.descriptor.kits[1].args == {"level": "high"}
    assert not value.state.secrets and value.plan.coherent


async def test_an_optional_request_is_a_switch(composer: Composer) -> None:
    keeper = "demo.invalid/keeper:1.0.0"
    value = await _with(composer, BASE, keeper)
    choice = value.plan.choices[0]
    assert choice.selected and value.plan.surface.storage_paths == ("/data",)
    value = composer.choose(keeper, choice.path, False)
    assert value.plan.surface.storage_paths == ()


async def test_a_required_request_nobody_enforces_is_the_runtimes_problem(composer: Composer) -> None:
    value = await _with(composer, BASE, "demo/machine:1.0.0")
    assert value.plan.coherent and not value.plan.launchable
    assert value.plan.runtime_problems[0].kind is ProblemKind.UNSUPPORTED_CAPABILITY


async def test_an_opened_file_keeps_comments_and_order(composer: Composer, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(SET)
    value = await composer.open(path)
    assert (value.name, value.dirty) == ("team", False)
    await _with(composer, TOOL)
    assert composer.value.dirty
    value = await composer.save()
    assert not value.dirty
    assert path.read_text() == SET + f"  - ref: {TOOL}\n"


@pytest.mark.parametrize(
    "text", ["kind: set\nkits: []\n", 'schemaVersion: "3"\nkind: mixin\n', "[", 'schemaVersion: "3"\nkind: set\nx: 1\n']
)
async def test_what_is_no_set_is_refused_and_the_composition_stays(
    composer: Composer, tmp_path: Path, text: str
) -> None:
    before = await _with(composer, BASE)
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(DescriptorError) as caught:
        await composer.open(path)
    assert str(path) in str(caught.value)
    assert composer.value == before


async def test_a_failed_save_keeps_the_old_file_and_stays_dirty(composer: Composer, tmp_path: Path) -> None:
    await _with(composer, BASE)
    with pytest.raises(KitStudioError):
        await composer.save(tmp_path / "missing" / "set.yaml")
    assert composer.value.dirty and composer.value.path is None


async def test_export_pins_names_and_reads_back(composer: Composer, tmp_path: Path) -> None:
    value = await _with(composer, BASE, TOOL)
    path = await composer.export(tmp_path / "out.yaml", pin=True, display_name="Ours", version="1.2")
    found = decode(path.read_text()).descriptor
    assert (found.display_name, found.version) == ("Ours", "1.2")
    assert [kit.digest for kit in found.kits] == [member.digest for member in value.plan.members]
    assert composer.value.state == value.state


async def test_a_local_kit_is_imported_with_its_digest_and_not_exported(composer: Composer, tmp_path: Path) -> None:
    folder = tmp_path / "My Kit"
    folder.mkdir()
    (folder / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: 0.1.0\n')
    value = composer.add(str(folder))
    assert value.plan.loading
    value = await _with(composer, BASE)
    assert value.descriptor is not None
    local = next(kit for kit in value.descriptor.kits if kit.ref.startswith("local.invalid/"))
    assert local.ref == "local.invalid/my-kit:0.1.0" and local.digest.startswith("sha256:")
    assert value.plan.coherent
    with pytest.raises(KitStudioError) as caught:
        await composer.export(tmp_path / "out.yaml")
    assert "local.invalid/my-kit:0.1.0" in str(caught.value)
    assert not (tmp_path / "out.yaml").exists()


async def test_a_layout_kit_is_copied_byte_for_byte(composer: Composer, tmp_path: Path) -> None:
    image = kit_image(descriptor())
    place = layout(tmp_path / "mine", {"3.0": image})
    value = await _with(composer, f"oci:{place}:3.0")
    assert value.descriptor is not None
    assert value.descriptor.kits[0].ref == "local.invalid/mine:3.0"
    assert value.descriptor.kits[0].digest == image.digest


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"kit.yaml": 'schemaVersion: "3"\nkind: mixin\n', "Dockerfile": "FROM scratch\nRUN id\n"}, "RUN is not"),
        ({"kit.yaml": 'schemaVersion: "3"\nkind: workload\n'}, "workload"),
        ({"kit.yaml": 'schemaVersion: "3"\nkind: mixin\nx: 1\n'}, "x"),
        ({"kit.yaml": SET}, "set"),
        ({}, "descriptor"),
    ],
)
async def test_a_folder_that_cannot_be_used_is_one_problem_with_a_reason(
    composer: Composer, tmp_path: Path, files: dict[str, str], words: str
) -> None:
    folder = tmp_path / "kit"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    value = await _with(composer, str(folder))
    problem = value.plan.problems[-1]
    assert words in problem.message
    remove = next(r for r in problem.remedies if r.kind is RemedyKind.REMOVE)
    assert problem not in composer.remedy(remove).plan.problems


async def test_build_args_of_a_set_fill_its_references(composer: Composer, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(
        'schemaVersion: "3"\nkind: set\nargs:\n  REG:\n    buildArg: REG\n    default: nowhere.invalid\n'
        "kits:\n  - ref: ${{ kit.args.REG }}/base:1.0.0\n"
    )
    await composer.open(path)
    composer.apply(replace(composer.value.state, set_args={"REG": "demo.invalid"}))
    value = await composer.settled()
    assert value.plan.ordered == (BASE,)


async def test_a_new_set_forgets_the_fetches_of_the_old_one(composer: Composer) -> None:
    composer.add(BASE)
    composer.new()
    value = await composer.settled()
    assert value.plan.members == () and not value.plan.loading


async def test_a_local_kit_of_another_machine_is_explained(composer: Composer, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    digest = "sha256:" + "a" * 64
    kits = f"  - ref: local.invalid/mine:1.0\n    digest: {digest}\n"
    path.write_text('schemaVersion: "3"\nkind: set\nkits:\n' + kits)
    await composer.open(path)
    value = await composer.settled()
    assert "not on this machine" in value.plan.problems[0].message


async def test_a_long_set_is_not_judged_once_for_each_of_its_kits(composer: Composer, tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    listed = "".join(f"  - ref: demo.invalid/none{number}:1.0.0\n" for number in range(150))
    path.write_text(f'schemaVersion: "3"\nkind: set\nkits:\n{listed}')
    judged: list[Composition] = []
    composer.changed.subscribe(judged.append)
    await composer.open(path)
    value = await composer.settled()
    assert not value.plan.loading and len(value.plan.problems) >= 150
    assert judged[-1] == value and len(judged) < 50
