"""Publishing sets and declaration-only Kits: what is made, what is refused, what arrives."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from kitstudio.models import surface as surfaces
from kitstudio.models.annotations import DESCRIPTOR
from kitstudio.models.artifact import conforms
from kitstudio.models.artifact_view import Verdict
from kitstudio.models.decode import decode
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import LayoutLocation
from kitstudio.registry.source import Artifact, ImageConfig
from kitstudio.registry.staged import staged_sources
from kitstudio.registry.writer import Image
from kitstudio.services.app import Options, Studio
from kitstudio.services.artifact_checks import check_published
from kitstudio.services.jobs import JobState
from kitstudio.services.publishing import NotPublishable, Published, PublishPreview
from tests.builders import AMD64, ARM64, layout
from tests.registry.servers import Answer, Request, run_double
from tests.services.fakes import FakeBackend
from tests.services.published_kits import asking, judged, mixin, published, set_text, workload

BASE, TOOL, NOTES = "demo.invalid/base:1.0.0", "demo.invalid/tool:1.0.0", "demo.invalid/notes:1.0.0"
BOTH = (AMD64, ARM64)
CONTEXT = "com.docker.sandbox/agent-context@1"


def context(name: str = "AGENTS.md") -> str:
    return (
        f"capabilities:\n  - type: {CONTEXT}\n    config: {{directory: /home/agent, filename: {name},"
        " contentFile: /usr/share/sandbox/kit/%s/guide.md}\n"
    )


KITS: Mapping[str, Image] = {
    BASE: published(
        workload("base", asking("base.example")),
        "base",
        platforms=BOTH,
        config=ImageConfig(
            entrypoint=("/bin/sh",), cmd=("-l",), env=("PATH=/bin", "LANG=C"), user="agent", workdir="/work"
        ),
    ),
    TOOL: published(
        mixin("tool", f"requires: [base]\nlicenses: [MIT]\n{asking('tool.example')}"),
        "tool",
        platforms=BOTH,
        config=ImageConfig(env=("PATH=/opt/tool/bin:/bin", "TOOL=1"), entrypoint=("/opt/tool/run",)),
    ),
    NOTES: published(mixin("notes"), "notes", platforms=(AMD64,)),
    "demo.invalid/early:1.0.0": published(mixin("early", "requires: [tool]\n"), "early", platforms=BOTH),
    "demo.invalid/guide-a:1.0.0": published(
        mixin("guide-a", context() % "guide-a"), "guide-a", staged={"guide.md": b"Say A.\n"}
    ),
    "demo.invalid/guide-b:1.0.0": published(
        mixin("guide-b", context() % "guide-b"), "guide-b", staged={"guide.md": b"Say B.\n"}
    ),
    "demo.invalid/clash:1.0.0": published(mixin("clash"), "clash", {"opt/tool/content": b"mine\n"}),
    "demo.invalid/twin:1.0.0": published(mixin("twin"), "tool", {"opt/twin": b"x"}),
    "demo.invalid/bare:1.0.0": published(mixin("bare"), "bare", own_sources=False),
    "demo.invalid/asks:1.0.0": published(
        mixin(
            "asks",
            "args: {level: {required: true, enum: [low, high]}, mode: {default: a, env: MODE}, token: {}}\n"
            "capabilities:\n  - type: com.docker.sandbox/lifecycle@1\n"
            "    config: {files: [{path: /etc/level, content: '${{ kit.args.level }}'}]}\n",
        ),
        "asks",
    ),
    "demo.invalid/other-base:1.0.0": published(workload("other-base"), "other-base"),
    "demo.invalid/grouped:1.0.0": published(
        mixin(
            "grouped",
            "capabilities:\n  - group:\n      optional: true\n      capabilities:\n"
            "        - {type: com.docker.sandbox/volume@1, config: {path: /cache}}\n"
            f"        - {{type: {CONTEXT}, config: {{directory: /home/agent, filename: AGENTS.md,"
            " contentFile: /usr/share/sandbox/kit/grouped/guide.md}}\n",
        ),
        "grouped",
        staged={"guide.md": b"Say grouped.\n"},
    ),
    "demo.invalid/idle:1.0.0": published(workload("idle"), "idle", config=ImageConfig(user="agent")),
    "demo.invalid/odd:1.0.0": published(
        mixin("odd", asking("a.example")),
        "odd",
        platforms=(AMD64,),
        own_sources=False,
        staged={"kit.yaml": b"not: [a descriptor"},
    ),
}


@pytest.fixture
async def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Studio]:
    monkeypatch.setenv("KITSTUDIO_DEMO", str(layout(tmp_path / "kits", KITS)))
    opened = await Studio.open(Options(home=tmp_path / "home"), FakeBackend())
    yield opened
    await opened.close()


async def publish(studio: Studio, text: str, folder: Path, **stated: object) -> tuple[Published, Artifact]:
    plan = await judged(studio, text, folder)
    job = studio.publishing.publish(plan, f"oci:{folder}/out:1.0.0", name="team", folder=folder, **stated)  # type: ignore[arg-type]
    made = await job.wait()
    source = LayoutSource(folder / "out")
    return made, await source.artifact(await source.reference(LayoutLocation(folder / "out", "1.0.0")))


async def previewed(studio: Studio, text: str, folder: Path) -> PublishPreview:
    return await studio.publishing.preview(await judged(studio, text, folder), name="team", folder=folder)


async def refused(studio: Studio, text: str, folder: Path) -> list[tuple[str, str]]:
    preview = await previewed(studio, text, folder)
    assert not preview.ready and not preview.digest
    with pytest.raises(NotPublishable):
        await publish(studio, text, folder)
    assert not (folder / "out" / "index.json").exists()
    return [(problem.kind.value, problem.message) for problem in preview.problems]


async def test_a_published_set_passes_every_check_and_is_its_preview(studio: Studio, tmp_path: Path) -> None:
    text = set_text([BASE, TOOL], f"provides: [team]\n{asking('team.example')}")
    preview = await previewed(studio, text, tmp_path)
    made, artifact = await publish(studio, text, tmp_path)
    source = LayoutSource(tmp_path / "out")
    for outcome in await check_published(studio.places, source, artifact):
        assert conforms(outcome.checks), [c for c in outcome.checks if c.verdict is Verdict.FAIL]
        assert {c.id for c in outcome.checks if c.verdict is Verdict.SKIP} == set()
    descriptor = decode(artifact.descriptor_text).descriptor
    assert descriptor == preview.descriptor and made.digest == preview.digest == artifact.digest
    assert surfaces.project(descriptor) == preview.surface == (await judged(studio, text, tmp_path)).surface
    assert (made.kind, preview.kind) == ("workload", "workload")
    assert preview.platforms == ("linux/amd64", "linux/arm64") == tuple(map(str, artifact.platforms))
    assert preview.order == (BASE, TOOL)


async def test_layers_are_the_kits_own_with_the_sets_on_top(studio: Studio, tmp_path: Path) -> None:
    _, artifact = await publish(studio, set_text(["demo.invalid/early:1.0.0", TOOL, BASE]), tmp_path)
    expected = []
    for reference in (BASE, TOOL, "demo.invalid/early:1.0.0"):
        located = await studio.places.locate(reference)
        one = await located.place.source.artifact(located.reference, AMD64)
        expected += [layer.digest for layer in one.manifest.layers]
    assert [layer.digest for layer in artifact.manifest.layers][:-1] == expected
    staged = await staged_sources(LayoutSource(tmp_path / "out"), artifact)
    assert [file.path for file in staged.files] == ["team/kit.yaml"]
    assert json.loads(staged.files[0].data) == json.loads(artifact.manifest.annotations[DESCRIPTOR])


async def test_the_config_is_the_workloads_with_what_mixins_add(studio: Studio, tmp_path: Path) -> None:
    _, artifact = await publish(studio, set_text([BASE, TOOL]), tmp_path)
    config = artifact.config
    assert config is not None
    assert (config.entrypoint, config.cmd, config.user, config.workdir) == (("/bin/sh",), ("-l",), "agent", "/work")
    assert config.env == ("PATH=/bin:/opt/tool/bin", "LANG=C", "TOOL=1")
    assert len(config.diff_ids) == len(artifact.manifest.layers)


async def test_a_set_of_mixins_is_a_mixin_that_starts_nothing(studio: Studio, tmp_path: Path) -> None:
    made, artifact = await publish(studio, set_text([NOTES, "demo.invalid/guide-a:1.0.0"]), tmp_path)
    assert made.kind == "mixin" and artifact.config is not None and not artifact.config.entrypoint
    assert artifact.index is None and [str(p) for p in artifact.platforms] == ["linux/amd64"]


async def test_only_platforms_all_kits_have_are_published(studio: Studio, tmp_path: Path) -> None:
    preview = await previewed(studio, set_text([BASE, NOTES]), tmp_path)
    assert preview.platforms == ("linux/amd64",)
    plan = await judged(studio, set_text([BASE, NOTES]), tmp_path)
    wanted = await studio.publishing.preview(plan, platforms=["linux/arm64"])
    assert [(p.kind.value, p.kits) for p in wanted.problems] == [("missing-platform", (NOTES,))]
    one = await studio.publishing.preview(
        await judged(studio, set_text([BASE, TOOL]), tmp_path), platforms=["linux/arm64"]
    )
    assert one.platforms == ("linux/arm64",) and one.ready


async def test_the_same_set_gives_the_same_bytes(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = set_text([BASE, TOOL])
    first = await previewed(studio, text, tmp_path)
    assert (await previewed(studio, text, tmp_path)).digest == first.digest
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made, artifact = await publish(studio, text, tmp_path)
    assert made.digest != first.digest and artifact.config is not None
    assert artifact.config.created == "2023-11-14T22:13:20Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(KitStudioError, match="SOURCE_DATE_EPOCH"):
        await previewed(studio, text, tmp_path)


async def test_instructions_are_joined_under_their_authors(studio: Studio, tmp_path: Path) -> None:
    kits = ["demo.invalid/guide-a:1.0.0", "demo.invalid/guide-b:1.0.0"]
    (tmp_path / "own.md").write_text("Say ours.\n")
    own = (
        f"capabilities:\n  - type: {CONTEXT}\n"
        "    config: {directory: /home/agent, filename: AGENTS.md, contentFile: own.md}\n"
    )
    _, artifact = await publish(studio, set_text(kits, own), tmp_path)
    staged = {file.path: file.text for file in (await staged_sources(LayoutSource(tmp_path / "out"), artifact)).files}
    text = staged["team/context.md"]
    assert text.index("Say A.") < text.index("Say B.") < text.index("Say ours.")
    assert text.startswith(f"<!-- {kits[0]} -->") and "<!-- Team -->" in text
    entry = decode(artifact.descriptor_text).descriptor.entries()[0]
    assert entry.config is not None and entry.config["contentFile"] == "/usr/share/sandbox/kit/team/context.md"
    for outcome in await check_published(studio.places, LayoutSource(tmp_path / "out"), artifact):
        assert conforms(outcome.checks)


async def test_conditional_requests_stay_apart_with_a_file_each(studio: Studio, tmp_path: Path) -> None:
    kits = [BASE, "demo.invalid/grouped:1.0.0", "demo.invalid/guide-a:1.0.0"]
    preview = await previewed(studio, set_text(kits), tmp_path)
    _, artifact = await publish(studio, set_text(kits), tmp_path)
    source = LayoutSource(tmp_path / "out")
    staged = {file.path: file.text for file in (await staged_sources(source, artifact)).files}
    parts = {path: text for path, text in staged.items() if ".parts/" in path}
    assert sorted(parts) == ["team/context.md.parts/0.md", "team/context.md.parts/1.md"]
    said = {("Say grouped." in text, "Say A." in text) for text in parts.values()}
    assert said == {(True, False), (False, True)}
    assert all(conforms(outcome.checks) for outcome in await check_published(studio.places, source, artifact))
    again = await judged(studio, set_text(kits), tmp_path)
    assert preview.surface.storage_paths == ("/cache",) and again.coherent


async def test_a_file_outside_the_sets_folder_is_not_taken_along(studio: Studio, tmp_path: Path) -> None:
    own = f"capabilities:\n  - type: {CONTEXT}\n    config: {{directory: /a, filename: A.md, contentFile: ../secret}}\n"
    (tmp_path / "secret").write_text("no")
    folder = tmp_path / "set"
    folder.mkdir()
    with pytest.raises(KitStudioError, match="outside"):
        await previewed(studio, set_text([BASE], own), folder)


async def test_kits_that_ship_one_file_are_refused_with_its_name(studio: Studio, tmp_path: Path) -> None:
    found = await refused(studio, set_text([BASE, TOOL, "demo.invalid/clash:1.0.0"]), tmp_path)
    assert [kind for kind, _ in found] == ["file-collision"] and "/opt/tool/content" in found[0][1]


async def test_kits_that_stage_in_one_folder_are_refused(studio: Studio, tmp_path: Path) -> None:
    found = await refused(studio, set_text([BASE, TOOL, "demo.invalid/twin:1.0.0"]), tmp_path)
    assert [kind for kind, _ in found] == ["file-collision"] and "kit/tool/kit.yaml" in found[0][1]


async def test_a_set_named_like_one_of_its_kits_stages_beside_it(studio: Studio, tmp_path: Path) -> None:
    plan = await judged(studio, set_text([BASE, TOOL]), tmp_path)
    job = studio.publishing.publish(plan, f"oci:{tmp_path}/out:1", name="tool")
    await job.wait()
    source = LayoutSource(tmp_path / "out")
    artifact = await source.artifact(await source.reference(LayoutLocation(tmp_path / "out", "1")))
    assert [file.path for file in (await staged_sources(source, artifact)).files] == ["tool-set/kit.yaml"]
    assert all(conforms(outcome.checks) for outcome in await check_published(studio.places, source, artifact))


async def test_sources_a_kit_does_not_stage_are_staged_for_it(studio: Studio, tmp_path: Path) -> None:
    _, artifact = await publish(studio, set_text([BASE, "demo.invalid/bare:1.0.0"]), tmp_path)
    source = LayoutSource(tmp_path / "out")
    paths = [file.path for file in (await staged_sources(source, artifact)).files]
    assert len(paths) == 2 and "team/kit.yaml" in paths
    assert all(conforms(outcome.checks) for outcome in await check_published(studio.places, source, artifact))


async def test_two_workloads_and_unmet_needs_are_refused(studio: Studio, tmp_path: Path) -> None:
    found = await refused(studio, set_text([BASE, "demo.invalid/other-base:1.0.0"]), tmp_path)
    assert found[0][0] == "several-workloads"
    assert [kind for kind, _ in await refused(studio, set_text([TOOL]), tmp_path)] == ["requires-missing"]


async def test_what_would_fail_its_checks_is_not_sent(studio: Studio, tmp_path: Path) -> None:
    found = await refused(studio, set_text(["demo.invalid/idle:1.0.0"]), tmp_path)
    assert [kind for kind, _ in found] == ["merge"] and "entrypoint" in found[0][1]


async def test_damaged_staged_sources_are_no_obstacle_and_are_restaged(studio: Studio, tmp_path: Path) -> None:
    _, artifact = await publish(studio, set_text([BASE, "demo.invalid/odd:1.0.0"]), tmp_path)
    source = LayoutSource(tmp_path / "out")
    paths = [file.path for file in (await staged_sources(source, artifact)).files]
    assert paths == ["odd-set/kit.yaml", "team/kit.yaml"]
    assert all(conforms(outcome.checks) for outcome in await check_published(studio.places, source, artifact))


async def test_inputs_are_answered_handed_on_or_asked_for(studio: Studio, tmp_path: Path) -> None:
    asks = "demo.invalid/asks:1.0.0"
    assert [kind for kind, _ in await refused(studio, set_text([BASE, asks]), tmp_path)] == ["arg"]
    answered = set_text([BASE, asks]).replace(f"{asks}\n", f"{asks}\n    args: {{level: low}}\n")
    preview = await previewed(studio, answered, tmp_path)
    assert preview.ready and preview.descriptor is not None
    files = next(e.config for e in preview.descriptor.entries() if e.type.endswith("lifecycle@1"))
    assert files is not None and files["files"] == [{"path": "/etc/level", "content": "low"}]
    assert preview.descriptor.kits[1].args == {"level": "low"} and not preview.descriptor.args
    _, artifact = await publish(studio, answered, tmp_path)
    assert artifact.config is not None and "MODE=a" in artifact.config.env
    handed = answered.replace("level: low", 'level: "${{ kit.args.level }}"')
    kept = await previewed(studio, f"{handed}args: {{level: {{required: true, enum: [low]}}}}\n", tmp_path)
    assert kept.ready and kept.descriptor is not None and "${{ kit.args.level }}" in str(kept.descriptor.entries())
    weaker = await previewed(studio, f"{handed}args: {{level: {{enum: [low]}}}}\n", tmp_path)
    assert [p.kind.value for p in weaker.problems] == ["arg"]
    exported = answered.replace("level: low", 'level: low, mode: "${{ kit.args.mode }}"')
    refusing = await previewed(studio, f"{exported}args: {{mode: {{default: a}}}}\n", tmp_path)
    assert "MODE" in refusing.problems[0].detail


async def test_a_secret_of_a_listed_kit_is_never_published(studio: Studio, tmp_path: Path) -> None:
    asks = "demo.invalid/asks:1.0.0"
    path = tmp_path / "team.yaml"
    path.write_text(set_text([BASE, asks]).replace(f"{asks}\n", f"{asks}\n    args: {{level: low}}\n"))
    composer = studio.new_composer()
    await composer.open(path)
    await composer.settled()
    composer.set_arg(asks, "token", "s3cret")
    preview = await studio.publishing.preview(composer.value.plan)  # type: ignore[arg-type]
    assert [(p.kind.value, p.name) for p in preview.problems] == [("arg", "token")]
    assert "s3cret" not in repr(preview)


async def test_local_kits_are_named_and_refused(studio: Studio, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "kit.yaml").write_text('schemaVersion: "3"\nkind: mixin\nversion: "1.0"\nprovides: [mine]\n')
    composer = studio.new_composer()
    composer.add(BASE)
    composer.add(str(folder))
    await composer.settled()
    job = studio.publishing.publish(composer.value.plan, f"oci:{tmp_path}/out:1")  # type: ignore[arg-type]
    with pytest.raises(NotPublishable, match=r"local\.invalid/mine:1\.0"):
        await job.wait()
    assert job.view.state is JobState.FAILED


async def test_places_that_take_no_kits_are_refused(studio: Studio, tmp_path: Path) -> None:
    plan = await judged(studio, set_text([BASE]), tmp_path)
    for destination in ("demo.invalid/x:1", "local.invalid/x:1", f"reg.example/x@sha256:{'0' * 64}", "./folder"):
        with pytest.raises(KitStudioError, match="cannot be published there"):
            await studio.publishing.publish(plan, destination).wait()


async def test_a_declaration_only_kit_is_published_for_both_platforms(studio: Studio, tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "guide.md").write_text("Be kind.\n")
    (folder / "kit.yaml").write_text(
        'schemaVersion: "3"\nkind: mixin\ndisplayName: Rules\nversion: "${{ kit.args.v }}"\nprovides: [rules]\n'
        'args: {v: {default: "1.0", buildArg: V}}\ncapabilities:\n'
        f"  - type: {CONTEXT}\n    config: {{directory: /home/agent, filename: A.md, contentFile: guide.md}}\n"
    )
    preview = await studio.publishing.preview_kit(folder, build_args={"v": "2.0"})
    job = studio.publishing.publish_kit(folder, f"oci:{tmp_path}/out", build_args={"v": "2.0"})
    made = await job.wait()
    assert made.reference == f"oci:{tmp_path}/out:2.0" and made.digest == preview.digest
    source = LayoutSource(tmp_path / "out")
    artifact = await source.artifact(await source.reference(LayoutLocation(tmp_path / "out", "2.0")))
    assert [str(p) for p in artifact.platforms] == ["linux/amd64", "linux/arm64"] == list(preview.platforms)
    assert all(conforms(outcome.checks) for outcome in await check_published(studio.places, source, artifact))


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"kit.yaml": "{more}", "kit.dockerfile": "FROM scratch\n"}, "kit.dockerfile"),
        ({"kit.yaml": "build: |\n  FROM scratch\n"}, "build:"),
        ({"kit.yaml": "dockerfile: other\n", "other": "FROM scratch\n"}, "other"),
        ({"Dockerfile": '# kit:\n# schemaVersion: "3"\n# kind: mixin\nFROM scratch\n'}, "Dockerfile"),
        ({"kit.yaml": "", "Dockerfile": "FROM scratch\n"}, "Dockerfile"),
    ],
)
async def test_a_recipe_is_explained_and_left_to_a_builder(
    studio: Studio, tmp_path: Path, files: Mapping[str, str], named: str
) -> None:
    folder = tmp_path / "built"
    folder.mkdir()
    for name, text in files.items():
        head = 'schemaVersion: "3"\nkind: mixin\n' if name == "kit.yaml" else ""
        (folder / name).write_text(head + text.replace("{more}", ""))
    with pytest.raises(KitStudioError) as told:
        await studio.publishing.publish_kit(folder, "reg.example/acme/built:1").wait()
    assert named in told.value.what
    assert "docker buildx build --push -t reg.example/acme/built:1" in told.value.remedy


@pytest.mark.skipif(shutil.which("skopeo") is None, reason="skopeo is not installed")
async def test_other_tools_read_a_published_set(studio: Studio, tmp_path: Path) -> None:
    await publish(studio, set_text([BASE, TOOL]), tmp_path)
    command = ["skopeo", "inspect", "--override-os", "linux", "--override-arch", "arm64", f"oci:{tmp_path}/out:1.0.0"]
    ended = await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, timeout=60)
    answer = json.loads(ended.stdout)
    assert answer["Architecture"] == "arm64" and len(answer["Layers"]) == 5


async def test_what_a_name_stood_for_before_is_told(studio: Studio, tmp_path: Path) -> None:
    place = f"oci:{tmp_path}/out:1.0.0"
    assert await studio.publishing.standing(place) == ""
    first, _ = await publish(studio, set_text([BASE]), tmp_path)
    assert not first.replaced and await studio.publishing.standing(place) == first.digest
    again, _ = await publish(studio, set_text([BASE]), tmp_path)
    other, _ = await publish(studio, set_text([BASE, TOOL]), tmp_path)
    assert (again.replaced, other.replaced) == ("", first.digest)


async def test_a_folder_with_something_else_in_it_is_left_alone(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(KitStudioError, match="something else"):
        await publish(studio, set_text([BASE]), tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]


async def test_a_cancelled_job_ends_while_a_layer_is_on_its_way(studio: Studio, tmp_path: Path) -> None:
    arrived, release = threading.Event(), threading.Event()

    def answer(request: Request) -> Answer:
        if request.method == "POST":
            return Answer(202, headers={"Location": "/v2/acme/team/blobs/uploads/one"})
        if request.method == "PUT":
            arrived.set()
            release.wait(30)
            return Answer(201)
        return Answer(404)

    with run_double() as double:
        double.answer = answer
        job = studio.publishing.publish(await judged(studio, set_text([BASE]), tmp_path), f"{double.host}/acme/team:1")
        await asyncio.to_thread(arrived.wait, 30)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job.wait()
        release.set()
    assert job.view.state is JobState.CANCELLED
    assert not any("/manifests/" in r.path for r in double.requests if r.method == "PUT")


async def test_a_secret_that_stands_in_the_set_is_not_published(studio: Studio, tmp_path: Path) -> None:
    text = set_text([BASE, "demo.invalid/asks:1.0.0"], "    args: {level: low, token: correct-horse}\n")
    ((kind, message),) = await refused(studio, text, tmp_path)
    assert kind == "arg" and "“token” is a secret" in message and "correct-horse" not in message
    assert not list((tmp_path / "out").rglob("*"))
