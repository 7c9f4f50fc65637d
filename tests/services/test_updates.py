from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kitstudio.registry.reference import Reference
from kitstudio.registry.source import Manifest, NotFound
from kitstudio.services.app import Options, Studio
from kitstudio.services.approvals import Request
from kitstudio.services.updates import DAY, Outcome, Updates
from tests.builders import kit_image, layout, network
from tests.services.fakes import FakeBackend, tool, workload

NAMES = ("one", "two", "three", "four")


def _kits(version: str, *, wide: str = "") -> dict[str, object]:
    found: dict[str, object] = {"demo.invalid/base:1.0.0": kit_image(workload())}
    for name in NAMES:
        hosts = [f"{name}.example"] + ([f"more-{name}.example"] if name == wide else [])
        about = tool(version, display_name=name, provides=(name,), capabilities=(network(hosts),))
        found[f"demo.invalid/{name}:{version}"] = kit_image(about)
    return found


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """Four Kits at 1.0.0, and at 1.1.0, where the last one asks for another host."""
    return layout(tmp_path / "demo", {**_kits("1.0.0"), **_kits("1.1.0", wide="four")})


@pytest.fixture
async def studio(tmp_path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Studio]:
    monkeypatch.setenv("KITSTUDIO_DEMO", str(demo))
    opened = await Studio.open(Options(home=tmp_path / "home"), FakeBackend())
    yield opened
    await opened.close()


async def approve(studio: Studio, name: str, *kits: str, version: str = "1.0.0") -> None:
    composer = studio.new_composer()
    composer.add("demo.invalid/base:1.0.0")
    for kit in kits:
        composer.add(f"demo.invalid/{kit}:{version}")
    plan = (await composer.settled()).plan
    await studio.approvals.approve(await studio.approvals.request(name, plan), frozenset())


async def locked(studio: Studio, name: str) -> dict[str, str]:
    lock = await studio.approvals.lock(name)
    assert lock is not None
    return {kit.reference.partition(":")[0].rpartition("/")[2]: kit.reference.rpartition(":")[2] for kit in lock.kits}


async def test_three_silent_are_applied_and_one_that_widens_is_held_row_106(studio: Studio) -> None:
    await approve(studio, "team", *NAMES)
    told: list[tuple[Request, ...]] = []
    studio.updates.notice.subscribe(told.append)
    found = await studio.updates.check()
    outcomes = {update.kit.rpartition("/")[2]: update.outcome for update in found}
    assert outcomes == {**dict.fromkeys(NAMES[:3], Outcome.APPLIED), "four": Outcome.WAITS}
    assert await locked(studio, "team") == {
        "base": "1.0.0",
        "one": "1.1.0",
        "two": "1.1.0",
        "three": "1.1.0",
        "four": "1.0.0",
    }
    (waiting,) = studio.approvals.waiting()
    assert told == [(waiting,)]
    assert [finding.permission.entry for finding in waiting.review.findings] == ["more-four.example"]
    before = {kit.reference for kit in waiting.granted.kits} if waiting.granted else set()
    assert "demo.invalid/four:1.0.0" in before
    assert [record.answer for record in await studio.approvals.history()] == ["silent"] * 3 + ["approved"]


async def test_a_second_check_brings_no_second_notice_and_what_was_dismissed_stays(studio: Studio) -> None:
    await approve(studio, "team", *NAMES)
    await studio.updates.check()
    told: list[tuple[Request, ...]] = []
    studio.updates.notice.subscribe(told.append)
    held = studio.approvals.waiting()
    await studio.updates.check()
    assert studio.approvals.waiting() == held and told == []


async def test_without_auto_apply_everything_waits_and_nothing_moves(studio: Studio) -> None:
    await approve(studio, "team", "one", "two")
    studio.settings.set("policy.auto_apply", False)
    found = await studio.updates.check()
    assert {update.outcome for update in found} == {Outcome.WAITS}
    assert len(studio.approvals.waiting()) == 1
    assert await locked(studio, "team") == {"base": "1.0.0", "one": "1.0.0", "two": "1.0.0"}


async def test_a_never_rule_refuses_an_update(studio: Studio) -> None:
    await approve(studio, "team", "four")
    studio.settings.set("policy.never", ["host=more-four.example"])
    (update,) = await studio.updates.check()
    assert update.outcome is Outcome.REFUSED and "host=more-four.example" in update.why
    assert not studio.approvals.waiting() and (await locked(studio, "team"))["four"] == "1.0.0"


async def test_a_tag_that_stands_for_another_digest_is_a_warning_and_never_applied(studio: Studio, demo: Path) -> None:
    await approve(studio, "team", "one", version="1.1.0")
    about = tool("1.1.0", display_name="moved", provides=("one",), capabilities=(network(["one.example"]),))
    moved = layout(demo.parent / "moved", {**_kits("1.0.0"), "demo.invalid/one:1.1.0": kit_image(about)})
    studio.updates._source = lambda _: _Other(moved)  # type: ignore[assignment,return-value]
    (update,) = await studio.updates.check()
    assert update.drift and update.before == update.after and "another digest" in update.sentence
    assert update.outcome is not Outcome.APPLIED
    assert len(await studio.approvals.history()) == 1


class _Other:
    """What a source says later: only its heads and tags are asked for."""

    def __init__(self, root: Path) -> None:
        from kitstudio.registry.layout import LayoutSource

        self._source = LayoutSource(root)

    async def tags(self, repository: str) -> tuple[str, ...]:
        return ("1.1.0",) if repository.endswith("one") else ("1.0.0",)

    async def manifest(self, reference: Reference) -> Manifest:
        return Manifest(reference, "sha256:" + "e" * 64 if reference.repository == "one" else _BASE[0], "", b"")


_BASE: list[str] = []


@pytest.fixture(autouse=True)
async def _base_digest(studio: Studio) -> None:
    from kitstudio.registry.reference import parse

    reference = parse("demo.invalid/base:1.0.0")
    _BASE[:] = [(await studio.places.of(reference).source.manifest(reference)).digest]


async def test_a_source_that_does_not_answer_is_told_and_the_others_go_on(studio: Studio) -> None:
    await approve(studio, "team", "one", "two")
    real = studio.updates._source

    class Silent:
        async def tags(self, repository: str) -> tuple[str, ...]:
            raise NotFound("It does not answer.")

        async def manifest(self, reference: Reference) -> Manifest:
            raise NotFound("It does not answer.")

    studio.updates._source = lambda ref: Silent() if ref.repository == "one" else real(ref)  # type: ignore[assignment,return-value]
    outcomes = {update.kit: update for update in await studio.updates.check()}
    assert outcomes["demo.invalid/one"].outcome is Outcome.FAILED and outcomes["demo.invalid/one"].why
    assert outcomes["demo.invalid/two"].outcome is Outcome.APPLIED


async def test_each_repository_is_asked_once_for_all_sets(studio: Studio) -> None:
    await approve(studio, "team", "one")
    await approve(studio, "other", "one")
    real, asked = studio.updates._source, []

    def counted(reference: Reference) -> object:
        asked.append(str(reference))
        return real(reference)

    studio.updates._source = counted  # type: ignore[assignment]
    await studio.updates.check()
    assert sorted(asked) == ["demo.invalid/base:1.0.0", "demo.invalid/one:1.0.0"]
    assert (await locked(studio, "team"))["one"] == (await locked(studio, "other"))["one"] == "1.1.0"


async def test_what_waits_is_there_after_a_restart(studio: Studio) -> None:
    await approve(studio, "team", "four")
    await studio.updates.check()
    (held,) = studio.approvals.waiting()
    again = await Studio.open(studio.options, FakeBackend())
    assert again.approvals.waiting() == ()
    await again.approvals.load()
    (back,) = again.approvals.waiting()
    assert (back.id, back.name, back.review) == (held.id, held.name, held.review)
    await again.approvals.approve(back, frozenset())
    await again.approvals.load()
    assert again.approvals.waiting() == ()
    await again.close()


async def test_daily_looks_on_the_clock_and_only_while_switched_on_row_112(studio: Studio) -> None:
    now = 1_000_000.0
    due: asyncio.Queue[float] = asyncio.Queue()
    go = asyncio.Event()

    async def sleep(seconds: float) -> None:
        due.put_nowait(seconds)
        await go.wait()
        go.clear()

    updates = Updates(
        studio.approvals,
        studio.updates._source,
        studio.updates._rebuild,
        studio.updates._policy,
        studio.settings,
        clock=lambda: now,
        sleep=sleep,
    )
    looked: asyncio.Queue[object] = asyncio.Queue()
    updates.changed.subscribe(looked.put_nowait)
    await approve(studio, "team", "four")
    task = asyncio.ensure_future(updates.run())
    studio.settings.set("updates.daily", True)
    assert await asyncio.wait_for(due.get(), 10) == 0.0
    assert looked.empty()
    go.set()
    await asyncio.wait_for(looked.get(), 10)
    assert await asyncio.wait_for(due.get(), 10) == DAY
    # Ten minutes without an answer, and any longer: still waiting, nothing granted.
    now += 600
    assert len(studio.approvals.waiting()) == 1 and len(await studio.approvals.history()) == 1
    studio.settings.set("updates.daily", False)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await locked(studio, "team"))["four"] == "1.0.0"


async def test_what_another_program_approves_meanwhile_waits_no_longer(studio: Studio) -> None:
    await approve(studio, "team", "four")
    await studio.updates.check()
    assert [held.name for held in studio.approvals.waiting()] == ["team"]
    command = await Studio.open(Options(home=studio.home.data.parent), FakeBackend())
    try:
        await approve(command, "team", "four", version="1.1.0")
    finally:
        await command.close()
    await studio.approvals.load()
    assert studio.approvals.waiting() == ()
    later = await Studio.open(Options(home=studio.home.data.parent), FakeBackend())
    await later.approvals.load()
    assert later.approvals.waiting() == ()
    await later.close()


async def test_what_another_program_answers_with_no_waits_no_longer_either(studio: Studio) -> None:
    await approve(studio, "team", "four")
    await studio.updates.check()
    command = await Studio.open(Options(home=studio.home.data.parent), FakeBackend())
    await command.approvals.load()
    await command.approvals.keep(command.approvals.waiting()[0])
    await command.close()
    await studio.approvals.load()
    assert studio.approvals.waiting() == ()


async def test_approving_the_same_afresh_settles_what_waited_for_it(studio: Studio) -> None:
    await approve(studio, "team", "four")
    await approve(studio, "other", "four")
    await studio.updates.check()
    await approve(studio, "team", "four", version="1.1.0")
    assert [held.name for held in studio.approvals.waiting()] == ["other"]
