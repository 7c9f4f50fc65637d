"""Exporting a set: every form of naming its Kits is the same set for whoever reads it, or is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Plan
from kitstudio.registry.writer import Image
from kitstudio.services.app import Options, Studio
from kitstudio.services.composer import Composer
from kitstudio.services.composition import SetState
from kitstudio.services.handing_on import ExportForm
from tests.builders import layout
from tests.services.fakes import FakeBackend
from tests.services.published_kits import asking, mixin, published, set_text, workload

BASE, TOOL = "demo.invalid/base:1.0.0", "demo.invalid/tool:3.0"
KITS: Mapping[str, Image] = {
    BASE: published(workload("base", asking("base.example")), "base"),
    TOOL: published(mixin("tool", f"requires: [base >= 1]\n{asking('tool.example')}", version="1.0.0"), "tool"),
    "demo.invalid/needs:1.0.0": published(mixin("needs", "requires: [tool >= 2]\n"), "needs"),
}


@pytest.fixture
async def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Studio]:
    monkeypatch.setenv("KITSTUDIO_DEMO", str(layout(tmp_path / "kits", KITS)))
    opened = await Studio.open(Options(home=tmp_path / "home"), FakeBackend())
    yield opened
    await opened.close()


async def opened(studio: Studio, path: Path, build: Mapping[str, str] | None = None) -> Composer:
    composer = studio.new_composer()
    await composer.open(path)
    state = composer.value.state
    composer.apply(SetState(state.text, set_args=dict(build or {})))
    await composer.settled()
    return composer


def facts(plan: Plan) -> tuple[object, ...]:
    digests = {member.reference: member.digest for member in plan.members}
    return tuple(digests[reference] for reference in plan.ordered), plan.surface, bool(plan.problems)


@pytest.mark.parametrize("form", list(ExportForm))
async def test_every_form_reads_back_as_the_same_set(studio: Studio, tmp_path: Path, form: ExportForm) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(f"# ours\n{set_text([BASE, TOOL])}")
    composer = await opened(studio, path)
    written = await composer.export(tmp_path / f"{form}.yaml", form=form)
    text = written.read_text()
    assert text.startswith("# ours\n")
    assert ("sha256:" in text) is (form in (ExportForm.DIGESTS, ExportForm.BOTH))
    assert (":1.0.0" in text) is (form is not ExportForm.DIGESTS)
    again = await opened(studio, written)
    assert facts(again.value.plan) == facts(composer.value.plan) and again.value.plan.coherent


@pytest.mark.parametrize("form", list(ExportForm))
async def test_a_set_that_takes_its_registry_from_an_input_keeps_doing_so(
    studio: Studio, tmp_path: Path, form: ExportForm
) -> None:
    path = tmp_path / "team.yaml"
    references = ['"${{ kit.args.registry }}/base:1.0.0"', '"${{ kit.args.registry }}/tool:3.0"']
    path.write_text(set_text(references, "args: {registry: {required: true, buildArg: REGISTRY}}\n"))
    answers = {"registry": "demo.invalid"}
    composer = await opened(studio, path, answers)
    assert composer.value.plan.coherent
    written = await composer.export(tmp_path / "out.yaml", form=form)
    assert "${{ kit.args.registry }}/base" in written.read_text()
    again = await opened(studio, written, answers)
    assert facts(again.value.plan) == facts(composer.value.plan)


async def test_a_form_that_loses_a_version_others_need_is_refused(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(set_text([BASE, TOOL, "demo.invalid/needs:1.0.0"]))
    composer = await opened(studio, path)
    assert composer.value.plan.coherent, "the tag says 3.0, the descriptor 1.0.0"
    with pytest.raises(KitStudioError, match="not be the same"):
        await composer.export(tmp_path / "out.yaml", form=ExportForm.DIGESTS)
    assert not (tmp_path / "out.yaml").exists()
    await composer.export(tmp_path / "out.yaml", form=ExportForm.BOTH)


async def test_a_saved_set_is_the_same_after_a_restart_row_47(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(set_text([BASE, TOOL]))
    composer = await opened(studio, path)
    written = await composer.export(tmp_path / "kept.yaml", form=ExportForm.BOTH)
    before = facts(composer.value.plan)
    await studio.close()
    other = await Studio.open(Options(home=tmp_path / "other"), FakeBackend())
    try:
        again = await opened(other, written)
        assert facts(again.value.plan) == before
        assert [kit.digest for kit in again.value.descriptor.kits] == list(before[0])  # type: ignore[union-attr, call-overload]
    finally:
        await other.close()


async def test_a_set_that_waits_for_an_input_is_handed_on_as_it_is_written(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(
        set_text(['"${{ kit.args.registry }}/base:1.0.0"'], "args: {registry: {required: true, buildArg: REGISTRY}}\n")
    )
    composer = await opened(studio, path)
    assert (await composer.export(tmp_path / "out.yaml")).read_text() == path.read_text()
    with pytest.raises(KitStudioError, match="not known yet"):
        await composer.export(tmp_path / "pinned.yaml", form=ExportForm.BOTH)
