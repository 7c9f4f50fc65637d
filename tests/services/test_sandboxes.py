from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import ApprovedLock
from kitstudio.registry.source import RegistryError
from kitstudio.runtime.backend import LaunchOptions, SandboxError, SandboxStatus, State
from kitstudio.services.app import Studio
from kitstudio.services.images import kit_image
from kitstudio.services.jobs import JobState
from tests.builders import descriptor, descriptor_from, layout
from tests.builders import kit_image as build_kit
from tests.services.fakes import FakeBackend

LIFECYCLE = "com.docker.sandbox/lifecycle@1"
BASE, TOOL = "demo.invalid/base:1.0.0", "demo.invalid/tool:1.0.0"


async def approved(studio: Studio) -> ApprovedLock:
    studio.composer.add(BASE)
    studio.composer.add(TOOL)
    plan = (await studio.composer.settled()).plan
    return await studio.approvals.approve(await studio.approvals.request("team", plan), frozenset())


async def launch(studio: Studio) -> SandboxStatus:
    return await studio.sandboxes.launch(await approved(studio), LaunchOptions("team")).wait()


async def test_a_launch_is_a_job_with_progress_and_images_by_digest(studio: Studio, backend: FakeBackend) -> None:
    seen: list[tuple[str, ...]] = []

    def changed(name: str) -> None:
        launching = studio.sandboxes.launching("team")
        if launching:
            seen.append(tuple(step.phase.value for step in launching.steps))

    studio.sandboxes.changed.subscribe(changed)
    status = await launch(studio)
    assert status.state is State.RUNNING
    assert seen == [("pull",), ("pull", "ready")]
    assert studio.sandboxes.launching("team") is None
    assert studio.sandboxes.list() == (status,)
    assert backend.created[0][0].lock.name == "team"


async def test_a_failed_launch_is_told_and_leaves_the_list_true(studio: Studio, backend: FakeBackend) -> None:
    backend.fail = SandboxError("No space left.", where="convert", remedy="Free some.")
    job = studio.sandboxes.launch(await approved(studio), LaunchOptions("team"))
    with pytest.raises(SandboxError):
        await job.wait()
    assert job.view.state is JobState.FAILED and job.view.error is backend.fail
    assert studio.sandboxes.list() == () and studio.sandboxes.launching("team") is None


async def test_a_cancelled_launch_ends_and_frees_the_name(studio: Studio, backend: FakeBackend) -> None:
    backend.gate = asyncio.Event()
    lock = await approved(studio)
    reached = asyncio.Event()
    studio.sandboxes.changed.subscribe(lambda _: reached.set())
    job = studio.sandboxes.launch(lock, LaunchOptions("team"))
    await reached.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job.wait()
    assert job.view.state is JobState.CANCELLED and not backend.boxes
    backend.gate = None
    assert (await studio.sandboxes.launch(lock, LaunchOptions("team")).wait()).state is State.RUNNING


async def test_a_launch_cancelled_before_it_began_frees_the_name(studio: Studio) -> None:
    lock = await approved(studio)
    job = studio.sandboxes.launch(lock, LaunchOptions("team"))
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job.wait()
    assert studio.sandboxes.launching("team") is None


async def test_one_name_is_launched_once_at_a_time(studio: Studio, backend: FakeBackend) -> None:
    backend.gate = asyncio.Event()
    lock = await approved(studio)
    first = studio.sandboxes.launch(lock, LaunchOptions("team"))
    with pytest.raises(KitStudioError):
        studio.sandboxes.launch(lock, LaunchOptions("team"))
    backend.gate.set()
    await first.wait()


async def test_stop_start_and_remove(studio: Studio) -> None:
    await launch(studio)
    await studio.sandboxes.stop("team").wait()
    assert studio.sandboxes.list()[0].state is State.STOPPED
    await studio.sandboxes.start("team").wait()
    assert studio.sandboxes.list()[0].state is State.RUNNING
    await studio.sandboxes.remove("team").wait()
    assert studio.sandboxes.list() == ()


async def test_recreate_uses_the_sandboxes_own_lock_after_a_restart(studio: Studio, backend: FakeBackend) -> None:
    status = await launch(studio)
    again = await Studio.open(studio.options, backend)
    await again.sandboxes.recreate("team").wait()
    assert backend.recreated[0].sha256 == status.lock_sha256
    assert backend.recreated[0] == backend.created[0][0]
    await again.close()


async def test_recreate_after_a_restart_keeps_the_overrides_a_request_refers_to(
    studio: Studio, backend: FakeBackend, tmp_path: Path
) -> None:
    file = '{path: /etc/place, content: "${{ kit.env.PLACE }}"}'
    text = f'schemaVersion: "3"\nkind: mixin\ncapabilities:\n  - type: {LIFECYCLE}\n    config: {{files: [{file}]}}\n'
    place = layout(tmp_path / "placed", {"1.0": build_kit(descriptor_from(text))})
    studio.composer.add(BASE)
    studio.composer.add(f"oci:{place}:1.0")
    await studio.composer.settled()
    studio.composer.apply(replace(studio.composer.value.state, environment={"PLACE": "here"}))
    plan = (await studio.composer.settled()).plan
    lock = await studio.approvals.approve(await studio.approvals.request("team", plan), frozenset())
    await studio.sandboxes.launch(lock, LaunchOptions("team", env={"PLACE": "here"})).wait()
    again = await Studio.open(studio.options, backend)
    await again.sandboxes.recreate("team").wait()
    assert backend.recreated == [lock]
    await again.close()


async def test_another_decision_takes_the_place_of_a_sandboxes_lock(studio: Studio, backend: FakeBackend) -> None:
    await launch(studio)
    other = replace(backend.created[0][0], sha256="other")
    await studio.sandboxes.recreate("team", other).wait()
    assert backend.recreated == [other]


async def test_recreate_of_what_was_never_approved_here_is_refused(studio: Studio, backend: FakeBackend) -> None:
    backend.boxes["team"] = SandboxStatus("x", "team", State.STOPPED, "team", "f" * 64)
    with pytest.raises(KitStudioError) as caught:
        await studio.sandboxes.recreate("team").wait()
    assert "approval record" in caught.value.what and not backend.recreated


async def test_a_kit_without_layers_is_one_clear_error(studio: Studio, tmp_path) -> None:
    from kitstudio.models.annotations import BuiltBy, kit_annotations
    from kitstudio.registry.source import ImageConfig
    from kitstudio.registry.writer import build_image

    bare = build_image([], ImageConfig(), kit_annotations(descriptor(), BuiltBy("t", "1")))
    place = layout(tmp_path / "bare", {"1.0": bare})
    artifact = await studio.catalog.artifact(f"oci:{place}:1.0")
    with pytest.raises(RegistryError) as caught:
        kit_image("x/y:1", artifact.digest, artifact)
    assert "no layers" in caught.value.what


async def test_another_digest_than_the_approved_one_is_refused(studio: Studio, tmp_path) -> None:
    place = layout(tmp_path / "one", {"1.0": build_kit(descriptor())})
    artifact = await studio.catalog.artifact(f"oci:{place}:1.0")
    with pytest.raises(RegistryError) as caught:
        kit_image("x/y:1", "sha256:" + "0" * 64, artifact)
    assert "approved" in caught.value.what


async def test_close_ends_jobs_and_fetches(studio: Studio, backend: FakeBackend) -> None:
    backend.gate = asyncio.Event()
    job = studio.sandboxes.launch(await approved(studio), LaunchOptions("team"))
    studio.composer.add("demo.invalid/wild:1.0.0")
    await studio.close()
    assert job.task is not None and job.task.done()
    assert not studio.composer._tasks


async def test_nothing_starts_from_a_lock_that_no_record_holds(studio: Studio, backend: FakeBackend) -> None:
    await launch(studio)
    await studio.sandboxes.stop("team").wait()
    assert (await studio.sandboxes.start("team").wait()).state is State.RUNNING
    await studio.sandboxes.stop("team").wait()
    backend.boxes["team"] = replace(backend.boxes["team"], lock_sha256="f" * 64)
    with pytest.raises(KitStudioError, match="No approval record"):
        await studio.sandboxes.start("team").wait()
    assert backend.boxes["team"].state is State.STOPPED
