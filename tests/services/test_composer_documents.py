"""Set files on disk: what was there is never overwritten unseen; drafts, recent sets and decisions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.plan import Member, Problem, ProblemKind
from kitstudio.services import shared_files
from kitstudio.services.app import Studio
from kitstudio.services.composer import Composer
from kitstudio.services.composition import Composition
from kitstudio.services.set_documents import ChangedOnDisk, SetDocuments, write_set
from kitstudio.services.shared_files import Comparison

BASE, TOOL = "demo.invalid/base:1.0.0", "demo.invalid/tool:1.0.0"
SET = f'# mine\nschemaVersion: "3"\nkind: set\nkits:\n  - ref: {BASE}\n'


@pytest.fixture
def composer(studio: Studio) -> Composer:
    return studio.composer


async def test_a_file_that_another_program_changed_is_not_overwritten(composer: Composer, tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(SET)
    await composer.open(file)
    composer.add(TOOL)
    file.write_text(SET.replace("mine", "theirs"))
    with pytest.raises(ChangedOnDisk):
        await composer.save()
    assert "theirs" in file.read_text()
    text = await composer.disk_text()
    assert text is not None and "theirs" in text
    composer.keep_mine(text)
    assert composer.value.dirty
    await composer.save()
    assert "theirs" not in file.read_text() and not composer.value.dirty


async def test_reloading_takes_the_file_and_undo_leads_back(composer: Composer, tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(SET)
    before = (await composer.open(file)).state
    file.write_text(SET.replace("mine", "theirs"))
    text = await composer.disk_text()
    assert text is not None and not composer.reload(text).dirty
    assert composer.apply(before).dirty


async def test_a_file_that_is_gone_or_the_same_is_no_change(composer: Composer, tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(SET)
    await composer.open(file)
    assert await composer.disk_text() is None
    file.unlink()
    assert await composer.disk_text() is None
    await composer.save()
    assert file.read_text() == SET


def test_a_link_stays_a_link_and_a_mode_stays_a_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_text(SET)
    real.chmod(0o600)
    link.symlink_to(real)
    write_set(link, SET + "# more\n", SET)
    assert link.is_symlink() and real.read_text().endswith("# more\n") and real.stat().st_mode & 0o777 == 0o600


async def test_drafts_hold_everything_but_secrets_and_belong_to_one_process(studio: Studio) -> None:
    composer = studio.composer
    composer.add(BASE)
    value = await composer.settled()
    state = replace(value.state, secrets={(BASE, "token"): "hunter2"}, choices={f"{BASE}#x": False})
    composer.apply(state)
    mine, other = SetDocuments(studio.home), SetDocuments(studio.home)
    await mine.keep_draft(composer.value, composer.saved)
    (draft,) = (studio.home.data / "drafts").glob("*.json")
    assert "hunter2" not in draft.read_text() and draft.stat().st_mode & 0o777 == 0o600
    assert await other.recover() is None
    await mine.close()
    found = await other.recover()
    assert found is not None and found.text == state.text and found.decided.choices == {f"{BASE}#x": False}
    await other.drop_draft()
    assert not draft.exists()


@pytest.mark.parametrize(
    "content",
    ["{", "[" * 100_000, '{"text": "\\ud800", "saved": "", "name": "a", "path": "", "when": 0}', "9" * 6000, "null"],
    ids=["cut", "deep", "no character", "number", "null"],
)
async def test_a_damaged_draft_is_put_aside_and_never_in_the_way(studio: Studio, content: str) -> None:
    folder = studio.home.data / "drafts"
    folder.mkdir()
    (folder / "a.json").write_text(content)
    (studio.home.data / "recent-sets.json").write_text(content)
    assert await SetDocuments(studio.home).recent() == ()
    assert await SetDocuments(studio.home).recover() is None
    assert (folder / "a.damaged").exists()


async def test_recent_sets_are_those_still_there_with_what_was_decided(studio: Studio, tmp_path: Path) -> None:
    documents = SetDocuments(studio.home)
    state = replace(studio.composer.value.state, choices={"a#b": False}, set_args={"region": "eu"})
    for name in ("one", "two"):
        (tmp_path / name).write_text(SET)
        await documents.remember(tmp_path / name, state)
    (tmp_path / "one").unlink()
    assert await documents.recent() == (tmp_path / "two",)
    decided = await documents.decided(tmp_path / "one")
    assert decided.choices == {"a#b": False} and decided.set_args == {"region": "eu"}
    await documents.forget_recent()
    assert await documents.recent() == ()


async def test_build_inputs_come_first_and_are_judged(composer: Composer, tmp_path: Path) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(
        'schemaVersion: "3"\nkind: set\nargs:\n  registry:\n    required: true\n    buildArg: REGISTRY\n'
        '    pattern: "[a-z.]+"\nkits:\n  - ref: ${{ kit.args.registry }}/base:1.0.0\n'
    )
    value = await composer.open(file)
    assert [(i.name, i.error) for i in value.plan.inputs] == [("registry", "A value is needed.")]
    assert [p.kind for p in value.plan.problems] == [ProblemKind.ARG] and not value.plan.launchable
    value = composer.set_arg("", "registry", "DEMO")
    assert "accept" in value.plan.problems[0].message
    composer.set_arg("", "registry", "demo.invalid")
    value = await composer.settled()
    assert value.plan.coherent and value.plan.ordered == (BASE,) and not value.dirty


async def test_a_secret_is_no_build_input(composer: Composer, tmp_path: Path) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(
        'schemaVersion: "3"\nkind: set\nargs:\n  apiToken:\n    required: true\n    buildArg: T\n'
        "kits:\n  - ref: ${{ kit.args.apiToken }}/base:1.0.0\n"
    )
    assert "published would hold it" in (await composer.open(file)).plan.inputs[0].error


async def test_pinning_what_is_known_fetches_nothing_and_local_kits_stay_pinned(composer: Composer) -> None:
    composer.add(BASE)
    await composer.settled()
    value = composer.pin(BASE)
    assert not value.plan.loading and value.descriptor is not None and value.descriptor.kits[0].digest
    assert "digest" not in composer.unpin(BASE).state.text


async def test_pasting_leaves_what_is_there_and_refuses_what_is_no_set(composer: Composer) -> None:
    composer.add(BASE)
    await composer.settled()
    copied = composer.copied(BASE)
    composer.paste(copied)
    assert composer.value.descriptor is not None and len(composer.value.descriptor.kits) == 1
    with pytest.raises(DescriptorError):
        composer.paste("kind: mixin\nschemaVersion: '3'\n")


async def test_a_missing_input_cannot_be_offered(composer: Composer) -> None:
    with pytest.raises(KitStudioError, match="no such input"):
        composer.offer((BASE, "nothing"))


async def test_shared_files_are_looked_for_once_the_set_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_files, "REST", 0)
    asked: list[int] = []
    problem = Problem(ProblemKind.FILE_COLLISION, ("a", "b"), "/x", "same")
    found = asyncio.Event()

    async def find(members: Sequence[Member]) -> tuple[Problem, ...]:
        asked.append(len(members))
        return (problem,)

    from tests.builders import descriptor

    members = [Member(f"r.example/{n}:1", f"sha256:{n}", descriptor()) for n in range(3)]
    comparison = Comparison(find, found.set)
    assert comparison.of(members) == () and not asked
    comparison.begin()
    assert comparison.of(members[:2]) == () and comparison.of(members) == ()
    await found.wait()
    assert asked == [3] and comparison.of(members) == (problem,) and comparison.of(members[:1]) == ()
    comparison.end()


def clashes(value: Composition) -> list[Problem]:
    return [problem for problem in value.plan.problems if problem.kind is ProblemKind.FILE_COLLISION]


async def test_a_shared_file_of_two_kits_is_a_problem_of_the_set(composer: Composer, tmp_path: Path) -> None:
    from tests.builders import descriptor, kit_image, layer, layout

    for name in ("one", "two"):
        image = kit_image(descriptor(), layers=[layer({"usr/bin/tool": name.encode()})])
        layout(tmp_path / name, {"1.0.0": image})
        composer.add(f"oci:{tmp_path / name}:1.0.0")
    composer.compare_files()
    value = await composer.settled()
    compared = asyncio.Event()
    composer.changed.subscribe(lambda found: compared.set() if clashes(found) else None)
    if not clashes(composer.value):
        await compared.wait()
    (clash,) = clashes(composer.value)
    assert "/usr/bin/tool" in clash.message and len(clash.remedies) == 2
    assert len(value.plan.members) == 2 and os.path.isdir(tmp_path / "one")
