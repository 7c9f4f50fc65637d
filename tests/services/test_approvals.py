from __future__ import annotations

import asyncio
import json
import resource
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kitstudio.models.lock import encode
from kitstudio.models.plan import Plan
from kitstudio.services import lock_files
from kitstudio.services.app import Options, Studio
from kitstudio.services.approvals import ApprovalError, Approvals, Record, Request, read_lock, record_json, sha256
from kitstudio.services.home import HomeError
from tests.services.fakes import FakeBackend

BASE, TOOL, WIDER, WILD = (
    "demo.invalid/base:1.0.0",
    "demo.invalid/tool:1.0.0",
    "demo.invalid/tool:2.0.0",
    "demo.invalid/wild:1.0.0",
)
KEEPER, ASKING = "demo.invalid/keeper:1.0.0", "demo.invalid/asking:1.0.0"


@pytest.fixture
def approvals(studio: Studio) -> Approvals:
    return studio.approvals


async def plan_of(studio: Studio, *references: str, secret: str = "", choices: dict[str, bool] | None = None) -> Plan:
    composer = studio.new_composer()
    for reference in references:
        composer.add(reference)
    await composer.settled()
    if secret:
        composer.set_arg(ASKING, "api_token", secret)
    for kit, selected in (choices or {}).items():
        path = next(choice.path for choice in composer.value.plan.choices if choice.kit == kit)
        composer.choose(kit, path, selected)
    plan = composer.value.plan
    assert plan.launchable, plan.problems
    return plan


async def request_for(studio: Studio, *references: str, name: str = "team") -> Request:
    return await studio.approvals.request(name, await plan_of(studio, *references))


def lock_path(studio: Studio, name: str = "team") -> Path:
    return studio.home.locks / f"{name}.json"


async def test_a_first_grant_lists_everything_and_writes_the_lock(studio: Studio, approvals: Approvals) -> None:
    request = await request_for(studio, BASE, TOOL)
    assert request.review.first_grant and request.granted is None
    assert [f.permission.entry for f in request.review.findings] == ["a.example"]
    approved = await approvals.approve(request, frozenset())
    text = lock_path(studio).read_text()
    assert text == encode(approved.lock) and approved.sha256 == sha256(text)
    assert await approvals.lock("team") == approved.lock
    assert (await approvals.history())[0].answer == "approved"
    assert (await approvals.history())[0].lock_sha256 == approved.sha256


async def test_neither_time_nor_user_is_in_the_lock(studio: Studio, tmp_path: Path) -> None:
    plan = await plan_of(studio, BASE, TOOL)
    texts = []
    for user, moment in (("ann", 1.0), ("ben", 2.0)):
        other = Approvals(_home(tmp_path / user), clock=lambda moment=moment: moment, user=user)
        await other.approve(await other.request("team", plan), frozenset())
        texts.append((tmp_path / user / "data" / "locks" / "team.json").read_text())
    assert texts[0] == texts[1]
    assert "ann" not in texts[0]


def _home(root: Path):
    from kitstudio.services.home import open_home

    return open_home(root)


async def test_a_movement_within_the_surface_is_silent_and_recorded(studio: Studio, approvals: Approvals) -> None:
    await approvals.approve(await request_for(studio, BASE, WIDER), frozenset())
    request = await request_for(studio, BASE, TOOL)
    assert not request.review.findings
    await approvals.approve(request, frozenset())
    assert [record.answer for record in await approvals.history()] == ["silent", "approved"]


async def test_the_same_lock_again_is_no_new_decision(studio: Studio, approvals: Approvals) -> None:
    request = await request_for(studio, BASE)
    first = await approvals.approve(request, frozenset())
    again = await approvals.approve(await request_for(studio, BASE), frozenset())
    assert again.sha256 == first.sha256
    assert len(await approvals.history()) == 1


async def test_answers_given_stay_in_a_lock_that_is_used_again(studio: Studio, approvals: Approvals) -> None:
    first = await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    assert first.lock.answers
    again = await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    assert again.lock == first.lock and len(await approvals.history()) == 1


async def test_a_widening_is_found_and_keeping_leaves_the_old_lock(studio: Studio, approvals: Approvals) -> None:
    old = await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    request = await request_for(studio, BASE, WIDER)
    assert [f.permission.entry for f in request.review.findings] == ["b.example"]
    await approvals.keep(request)
    assert await approvals.lock("team") == old.lock
    kept = (await approvals.history())[0]
    assert kept.answer == "kept" and kept.previous_sha256 == old.sha256
    assert lock_path(studio).read_text() == encode(old.lock)


async def test_a_refused_lock_never_counts(studio: Studio, approvals: Approvals) -> None:
    await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    await approvals.keep(await request_for(studio, BASE, WIDER))
    refused = (await approvals.history())[0]
    lock_path(studio).write_text(json.dumps(refused.lock, indent=2, ensure_ascii=False) + "\n")
    assert sha256(lock_path(studio).read_text()) == refused.lock_sha256
    assert await approvals.lock("team") is None and await approvals.tampered("team")


async def test_a_critical_finding_needs_its_own_tick(studio: Studio, approvals: Approvals) -> None:
    request = await request_for(studio, BASE, WILD)
    assert len(request.critical) == 1
    with pytest.raises(ApprovalError) as caught:
        await approvals.approve(request, frozenset())
    assert request.critical[0].key in caught.value.what
    assert not lock_path(studio).exists() and not await approvals.history()
    await approvals.approve(request, frozenset({request.critical[0].key}))
    assert lock_path(studio).exists()


async def test_holding_decides_nothing(studio: Studio, approvals: Approvals) -> None:
    request = await request_for(studio, BASE, TOOL)
    await approvals.hold(request)
    assert approvals.waiting() == (request,)
    newer = await request_for(studio, BASE, WIDER)
    await approvals.hold(newer)
    assert approvals.waiting() == (newer,)
    assert await approvals.lock("team") is None and not await approvals.history()
    await approvals.approve(newer, frozenset())
    assert approvals.waiting() == ()


async def test_without_the_optional_ones_they_are_switched_off(studio: Studio, approvals: Approvals) -> None:
    request = await request_for(studio, BASE, TOOL, KEEPER)
    assert request.reduced is not None
    approved = await approvals.approve(request, frozenset(), without_optional=True)
    assert approved.lock.surface.storage_paths == ()
    assert approved.lock.surface.network_runtime_allow == ("a.example",)
    assert {answer.answer for answer in approved.lock.answers} == {"approved", "declined"}
    assert (await approvals.history())[0].answer == "approved-without-optional"
    assert not any(entry.type.endswith("volume@1") for entry in approved.effective.entries())


async def test_without_the_optional_ones_is_refused_where_there_are_none(studio: Studio, approvals: Approvals) -> None:
    with pytest.raises(ApprovalError):
        await approvals.approve(await request_for(studio, BASE, TOOL), frozenset(), without_optional=True)


async def test_a_set_with_problems_is_not_judged(studio: Studio, approvals: Approvals) -> None:
    composer = studio.new_composer()
    composer.add(TOOL)
    with pytest.raises(ApprovalError):
        await approvals.request("team", composer.value.plan)
    await composer.settled()
    with pytest.raises(ApprovalError) as caught:
        await approvals.request("team", composer.value.plan)
    assert "workload" in caught.value.what


async def test_what_the_runtime_cannot_grant_is_not_judged(studio: Studio, approvals: Approvals) -> None:
    composer = studio.new_composer()
    composer.add(BASE)
    composer.add("demo.invalid/machine:1.0.0")
    plan = (await composer.settled()).plan
    with pytest.raises(ApprovalError) as caught:
        await approvals.request("team", plan)
    assert "privileged" in caught.value.what


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "x" * 64, "a b", "ü", "a\n"])
async def test_a_name_that_is_no_file_name_is_refused(studio: Studio, approvals: Approvals, name: str) -> None:
    with pytest.raises(ApprovalError):
        await request_for(studio, BASE, name=name)


async def test_a_tampered_lock_counts_as_none_and_is_named(studio: Studio, approvals: Approvals) -> None:
    await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    path = lock_path(studio)
    path.write_text(path.read_text().replace("a.example", "z.example"))
    assert await approvals.lock("team") is None
    assert "team" in await approvals.tampered("team")
    request = await request_for(studio, BASE, TOOL)
    assert request.review.first_grant


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"null", b"[]"])
async def test_a_damaged_lock_file_is_no_lock_and_no_crash(
    studio: Studio, approvals: Approvals, content: bytes
) -> None:
    await approvals.approve(await request_for(studio, BASE), frozenset())
    lock_path(studio).write_bytes(content)
    assert await approvals.lock("team") is None and await approvals.tampered("team")


async def test_a_lock_of_another_name_does_not_count(studio: Studio, approvals: Approvals) -> None:
    await approvals.approve(await request_for(studio, BASE), frozenset())
    lock_path(studio, "other").write_bytes(lock_path(studio).read_bytes())
    assert await approvals.lock("other") is None and await approvals.tampered("other")


async def test_an_approved_lock_of_another_version_counts_as_none_and_says_why(
    studio: Studio, approvals: Approvals
) -> None:
    record = replace(await _recorded(studio, approvals), name="other", lock_sha256=sha256('{"version": 99}'))
    approvals._records.append(record, '{"version": 99}')
    lock_path(studio, "other").write_text('{"version": 99}')
    assert await approvals.lock("other") is None
    assert "cannot be read by this version" in await approvals.tampered("other")


async def _recorded(studio: Studio, approvals: Approvals) -> Record:
    await approvals.approve(await request_for(studio, BASE), frozenset())
    return (await approvals.history())[0]


async def test_a_crash_between_record_and_file_leaves_the_old_lock(
    studio: Studio, approvals: Approvals, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())

    def killed(*_: object, **__: object) -> None:
        raise HomeError("The disk is full.")

    monkeypatch.setattr(lock_files, "write_atomic", killed)
    with pytest.raises(HomeError):
        await approvals.approve(await request_for(studio, BASE, WIDER), frozenset())
    monkeypatch.undo()
    monkeypatch.setenv("KITSTUDIO_DEMO", str(studio.places.demo().source.root))  # type: ignore[attr-defined]
    again = await Studio.open(studio.options, FakeBackend())
    assert await again.approvals.lock("team") == old.lock
    assert not await again.approvals.tampered("team")
    assert (await request_for(again, BASE, WIDER)).review.widens
    await again.close()


async def test_a_decision_made_meanwhile_is_not_overwritten(studio: Studio, approvals: Approvals) -> None:
    stale = await request_for(studio, BASE, WIDER)
    await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    with pytest.raises(ApprovalError) as caught:
        await approvals.approve(stale, frozenset())
    assert "meanwhile" in caught.value.what


async def test_of_two_decisions_at_once_the_second_is_told_of_the_first(
    studio: Studio, approvals: Approvals, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Approvals(studio.home)
    late = await other.request("team", await plan_of(studio, BASE, WIDER))
    append, told = approvals._records.append, []

    def decide() -> None:
        try:
            asyncio.run(other.approve(late, frozenset()))
        except ApprovalError as error:
            told.append(error.what)

    second = threading.Thread(target=decide)

    def meanwhile(record: Record, text: str) -> None:
        second.start()
        second.join(0.3)
        append(record, text)

    monkeypatch.setattr(approvals._records, "append", meanwhile)
    first = await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    second.join()
    assert told == ["Another decision was made for this set meanwhile."]
    assert await approvals.lock("team") == first.lock and len(await approvals.history()) == 1


async def test_records_cannot_be_changed_or_deleted(studio: Studio, approvals: Approvals) -> None:
    await approvals.approve(await request_for(studio, BASE), frozenset())
    with closing(sqlite3.connect(studio.home.database)) as connection:
        for statement in ("UPDATE approval SET answer = 'kept'", "DELETE FROM approval"):
            with pytest.raises(sqlite3.Error, match="append-only"):
                connection.execute(statement)


async def test_secrets_are_in_no_lock_record_or_set(studio: Studio, approvals: Approvals, tmp_path: Path) -> None:
    plan = await plan_of(studio, BASE, ASKING, secret="hunter2")
    approved = await approvals.approve(await approvals.request("team", plan), frozenset())
    assert approved.environment["API_TOKEN"] == "hunter2"
    await approvals.export((await approvals.history())[0], tmp_path / "record.json")
    kept = [path for path in studio.home.data.rglob("*") if path.is_file()] + [tmp_path / "record.json"]
    assert all(b"hunter2" not in path.read_bytes() for path in kept)
    assert '"secret": true' in lock_path(studio).read_text()


async def _elsewhere(studio: Studio, root: Path) -> Studio:
    return await Studio.open(Options(home=root), FakeBackend())


async def test_a_record_replayed_elsewhere_gives_the_same_lock_byte_for_byte(
    studio: Studio, approvals: Approvals, tmp_path: Path
) -> None:
    await approvals.approve(await request_for(studio, BASE, TOOL, WILD), frozenset({"network.runtime.allow:*"}))
    await approvals.export((await approvals.history())[0], tmp_path / "record.json")
    for file in (tmp_path / "record.json", lock_path(studio)):
        other = await _elsewhere(studio, tmp_path / file.stem / "home")
        approved = await other.approvals.approve_from(await request_for(other, BASE, TOOL, WILD), file)
        assert lock_path(other).read_bytes() == lock_path(studio).read_bytes()
        assert approved.sha256 == (await approvals.history())[0].lock_sha256
        assert (await other.approvals.history())[0].answer == "approved"
        await other.close()


@pytest.mark.parametrize("references", [(BASE, TOOL), (BASE, WIDER, WILD), ("demo.invalid/base:1.1.0", WIDER)])
async def test_a_record_for_something_else_is_refused_by_name(
    studio: Studio, approvals: Approvals, tmp_path: Path, references: tuple[str, ...]
) -> None:
    await approvals.approve(await request_for(studio, BASE, WIDER), frozenset())
    await approvals.export((await approvals.history())[0], tmp_path / "record.json")
    other = await _elsewhere(studio, tmp_path / "other")
    with pytest.raises(ApprovalError) as caught:
        await other.approvals.approve_from(await request_for(other, *references), tmp_path / "record.json")
    assert "does not fit" in caught.value.what
    assert not lock_path(other).exists() and not await other.approvals.history()
    await other.close()


async def test_a_record_of_another_set_name_is_refused(studio: Studio, approvals: Approvals, tmp_path: Path) -> None:
    await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    await approvals.export((await approvals.history())[0], tmp_path / "record.json")
    with pytest.raises(ApprovalError) as caught:
        await approvals.approve_from(await request_for(studio, BASE, TOOL, name="other"), tmp_path / "record.json")
    assert "“team”" in caught.value.what
    assert await approvals.lock("other") is None


async def test_a_refusal_cannot_be_replayed(studio: Studio, approvals: Approvals, tmp_path: Path) -> None:
    await approvals.keep(await request_for(studio, BASE, TOOL))
    await approvals.export((await approvals.history())[0], tmp_path / "record.json")
    with pytest.raises(ApprovalError) as caught:
        await approvals.approve_from(await request_for(studio, BASE, TOOL), tmp_path / "record.json")
    assert "refus" in caught.value.what or "kept" in caught.value.what
    assert await approvals.lock("team") is None


async def test_a_record_without_the_optional_ones_replays_without_them(
    studio: Studio, approvals: Approvals, tmp_path: Path
) -> None:
    await approvals.approve(await request_for(studio, BASE, TOOL, KEEPER), frozenset(), without_optional=True)
    await approvals.export((await approvals.history())[0], tmp_path / "record.json")
    other = await _elsewhere(studio, tmp_path / "other")
    approved = await other.approvals.approve_from(
        await request_for(other, BASE, TOOL, KEEPER), tmp_path / "record.json"
    )
    assert approved.lock.surface.storage_paths == ()
    assert lock_path(other).read_bytes() == lock_path(studio).read_bytes()
    await other.close()


async def test_an_approved_set_is_judged_again_from_its_record(studio: Studio, approvals: Approvals) -> None:
    approved = await approvals.approve(
        await request_for(studio, BASE, TOOL, KEEPER), frozenset(), without_optional=True
    )
    again = await Studio.open(studio.options, FakeBackend())
    found = await again._reapprove(approved.sha256)
    assert found.lock == approved.lock and found.effective == approved.effective
    assert found.selected == approved.selected and found.lines == approved.lines
    await again.close()


async def test_a_set_that_was_given_a_secret_needs_it_again(studio: Studio, approvals: Approvals) -> None:
    plan = await plan_of(studio, BASE, ASKING, secret="hunter2")
    approved = await approvals.approve(await approvals.request("team", plan), frozenset())
    assert await studio._reapprove(approved.sha256) == approved
    again = await Studio.open(studio.options, FakeBackend())
    with pytest.raises(Exception, match="api_token"):
        await again._reapprove(approved.sha256)
    await again.close()


@pytest.mark.parametrize("answer", ["kept", "waiting", "", None, True])
async def test_a_record_that_says_no_yes_approves_nothing(
    studio: Studio, approvals: Approvals, tmp_path: Path, answer: object
) -> None:
    await approvals.approve(await request_for(studio, BASE, TOOL), frozenset())
    record = record_json((await approvals.history())[0])
    (tmp_path / "record.json").write_text(json.dumps({**record, "answer": answer}))
    with pytest.raises(ApprovalError, match="approves nothing"):
        read_lock(tmp_path / "record.json")


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", '{"kind": "kitstudio approval record"}', "[" * 3000])
def test_what_is_no_record_is_one_clear_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_text(content)
    with pytest.raises(ApprovalError) as caught:
        read_lock(tmp_path / "file")
    assert "neither a lock nor an approval record" in caught.value.what


async def test_a_newer_database_is_refused_and_left_alone(studio: Studio) -> None:
    await studio.approvals.history()
    with closing(sqlite3.connect(studio.home.database)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(Exception, match="newer Kit Studio"):
        await Approvals(studio.home).history()


async def test_a_full_disk_keeps_nobody_from_reading_what_was_approved(studio: Studio, approvals: Approvals) -> None:
    await approvals.approve(await request_for(studio, BASE), frozenset())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        opened = Approvals(studio.home)
        read = await opened.history(), await opened.lock("team")
        with pytest.raises(Exception, match="approval records cannot be used"):
            await opened.keep(await opened.request("other", await plan_of(studio, BASE)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert read == (await approvals.history(), await approvals.lock("team")) and read[1] is not None


async def test_a_damaged_database_is_one_clear_error(tmp_path: Path) -> None:
    home = _home(tmp_path)
    home.database.write_bytes(b"not a database" * 100)
    with pytest.raises(Exception, match="approval records cannot be used"):
        await Approvals(home).history()


async def test_who_listens_hears_of_every_decision(studio: Studio, approvals: Approvals) -> None:
    heard: list[None] = []
    approvals.changed.subscribe(heard.append)
    await approvals.hold(await request_for(studio, BASE))
    await approvals.approve(await request_for(studio, BASE), frozenset())
    assert len(heard) == 2


async def test_what_waits_with_a_secret_keeps_none_and_says_that_it_is_needed(studio: Studio) -> None:
    plan = await plan_of(studio, BASE, ASKING, secret="hunter2")
    await studio.approvals.hold(await studio.approvals.request("team", plan))
    kept = [path for path in studio.home.data.rglob("*") if path.is_file()]
    assert all(b"hunter2" not in path.read_bytes() for path in kept)
    again = await Studio.open(studio.options, FakeBackend())
    await again.approvals.load()
    assert again.approvals.waiting() == ()
    (unready,) = again.approvals.unready()
    assert unready.name == "team" and "api_token" in unready.why
    await again.close()


async def test_a_dismissed_request_waits_over_restarts_until_it_is_answered(studio: Studio) -> None:
    request = await request_for(studio, BASE, TOOL)
    await studio.approvals.hold(request)
    for _ in range(2):
        again = await Studio.open(studio.options, FakeBackend())
        await again.approvals.load()
        (back,) = again.approvals.waiting()
        assert (back.id, back.review) == (request.id, request.review)
        assert not await again.approvals.history() and await again.approvals.lock("team") is None
        await again.close()
    await studio.approvals.keep(request)
    again = await Studio.open(studio.options, FakeBackend())
    await again.approvals.load()
    assert again.approvals.waiting() == ()
    await again.close()


async def test_a_tick_rule_made_while_the_dialog_is_open_is_still_missing(studio: Studio, approvals: Approvals) -> None:
    request = await request_for(studio, BASE, TOOL)
    studio.settings.set("policy.tick", ["category=network"])
    with pytest.raises(ApprovalError, match="answer of"):
        await approvals.approve(request, frozenset())
    assert not await approvals.history()


async def test_a_withheld_type_is_left_out_where_optional_and_named_where_required(studio: Studio) -> None:
    studio.settings.set("policy.host", ["type=com.docker.sandbox/volume@1"])
    request = await request_for(studio, BASE, KEEPER)
    assert not request.review.findings and "volume@1" in request.rules[0].sentence
    studio.settings.set("policy.host", ["type=com.docker.sandbox/network-policy@1"])
    composer = studio.new_composer()
    for reference in (BASE, TOOL):
        composer.add(reference)
    plan = (await composer.settled()).plan
    with pytest.raises(ApprovalError, match=r"host policy “type=com\.docker\.sandbox/network-policy@1”"):
        await studio.approvals.request("team", plan)


@pytest.mark.parametrize("listed", [ASKING, '"${{ kit.args.place }}/asking:1.0.0"'])
async def test_a_secret_that_stands_in_a_set_file_is_kept_nowhere(studio: Studio, tmp_path: Path, listed: str) -> None:
    file = tmp_path / "written.yaml"
    file.write_text(
        'schemaVersion: "3"\nkind: set\nargs: {place: {buildArg: PLACE, default: demo.invalid}}\nkits:\n'
        f"  - ref: {BASE}\n  - ref: {listed}\n    args:\n      level: high\n      api_token: correct-horse\n"
    )
    composer = studio.new_composer()
    await composer.open(file)
    plan = (await composer.settled()).plan
    assert plan.values[ASKING]["api_token"] == "correct-horse"
    await studio.approvals.hold(await studio.approvals.request("other", plan))
    await studio.approvals.approve(await studio.approvals.request("team", plan), frozenset())
    (record,) = await studio.approvals.history()
    assert "level: high" in record.document and "api_token" not in record.document
    kept = [path for path in studio.home.data.rglob("*") if path.is_file()]
    assert kept and not [path for path in kept if b"correct-horse" in path.read_bytes()]
