"""The person's own skills inside a real machine: what is mounted where, with which access (agent-skills@1)."""

from __future__ import annotations

from pathlib import Path

from kitstudio.models.descriptor import Capability
from kitstudio.runtime.skill_store import Skills
from tests.runtime.bench import bench, vm
from tests.runtime.busybox_kits import FOLDER, Entry
from tests.runtime.runtime_sets import capability

pytestmark = vm

PLACE = "/home/agent/.a/skills"
SHIPPED = {"opt/triage": FOLDER, "opt/triage/SKILL.md": Entry(b"# Triage\n")}


def store_in(folder: Path, *names: str) -> Path:
    store = folder / "my skills"
    for name in names:
        (store / name).mkdir(parents=True)
        (store / name / "SKILL.md").write_text(f"# {name}\n")
    return store


def asks(mode: str = "", path: str = PLACE, **more: bool) -> Capability:
    return capability("agent-skills@1", {"path": path} | ({"mode": mode} if mode else {}), **more)


def hooked() -> Capability:
    see = f"ls {PLACE}"
    return capability("lifecycle@1", {"install": [{"command": f"{see} > /var/install"}]})


async def test_the_store_is_there_before_any_hook_read_only_beside_shipped_skills(tmp_path: Path) -> None:
    store = store_in(tmp_path, "mine")
    async with bench(tmp_path / "home") as b:
        b.kits(asks(), hooked(), tool_files=SHIPPED, mixin=(capability("agent-skill@1", {"path": "/opt/triage"}),))
        status = await b.create(skills_store=store, skills_mode="readwrite")
        assert await b.sh("cat /var/install") == "mine\ntriage\n"
        assert await b.sh(f"cd {PLACE}; cat mine/SKILL.md triage/SKILL.md") == "# mine\n# Triage\n"
        # Read-only as declared, although the host would let it write; as the agent and as root.
        script = f"cd {PLACE}; echo x > new; echo x > mine/SKILL.md; rm triage; mkdir d; echo done"
        for who in ("", "root"):
            said = await b.sh(script, user=who)
            assert said.count("Read-only file system") == 4 and "done" in said
        await b.sh(f"mount -o remount,rw {PLACE}; echo x > {PLACE}/new", user="root")
        assert sorted(p.name for p in store.iterdir()) == ["mine"]
        assert await b.sh("stat -c %u /home/agent/.a") == "1000\n"
        assert not any("agent-skills" in text for text in status.skipped)
        # A skill added on the host is seen at once.
        store_in(tmp_path, "later")
        assert await b.sh(f"cat {PLACE}/later/SKILL.md") == "# later\n"


async def test_writing_needs_both_the_hosts_and_the_kits_yes(tmp_path: Path) -> None:
    store = store_in(tmp_path, "mine")
    script = f"echo x > {PLACE}/mine/note; cat {PLACE}/mine/note"
    async with bench(tmp_path / "home") as b:
        b.kits(asks("readwrite"))
        await b.create("narrow", skills_store=store, skills_mode="readonly")
        assert "Read-only file system" in await b.sh(script, "narrow")
        await b.backend.remove("narrow")
        await b.create("wide", skills_store=store, skills_mode="readwrite")
        assert await b.sh(script, "wide") == "x\n" and (store / "mine/note").read_text() == "x\n"
        await b.backend.stop("wide")
        await b.backend.start("wide", b.steps.append)
        assert await b.sh(f"cat {PLACE}/mine/note", "wide") == "x\n"


async def test_a_written_store_that_would_need_links_in_it_is_read_only_and_says_so(tmp_path: Path) -> None:
    store = store_in(tmp_path, "mine")
    async with bench(tmp_path / "home") as b:
        b.kits(
            asks("readwrite"),
            tool_files=SHIPPED,
            mixin=(capability("agent-skill@1", {"path": "/opt/triage"}),),
        )
        status = await b.create(skills_store=store, skills_mode="readwrite")
        assert any("read-only there" in text for text in status.skipped)
        assert "Read-only file system" in await b.sh(f"cat {PLACE}/triage/SKILL.md; echo x > {PLACE}/new")
        assert sorted(p.name for p in store.iterdir()) == ["mine"]


async def test_a_store_that_is_none_refuses_nothing_and_shipped_skills_are_shown(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    async with bench(tmp_path / "home") as b:
        b.kits(asks(), tool_files=SHIPPED, mixin=(capability("agent-skill@1", {"path": "/opt/triage"}),))
        await b.create(skills_store=store_in(tmp_path, "mine"), skills_mode="off")
        assert await b.sh(f"ls {PLACE}") == "triage\n"
        # What the person says counts at each start, where nothing was stated at create.
        await b.backend.remove("box")
        said = [Skills(str(tmp_path / "none"), "readonly")]
        b.backend._said_skills = lambda: said[0]
        await b.create()
        for now, seen in (
            (Skills(str(empty), "readonly"), ""),
            (Skills(str(tmp_path / "my skills"), "readonly"), "mine\n"),
        ):
            assert await b.sh(f"ls {PLACE}") in ("triage\n", "mine\ntriage\n")
            said[0] = now
            await b.backend.stop("box")
            await b.backend.start("box", b.steps.append)
            assert await b.sh(f"ls {PLACE}") == f"{seen}triage\n"


async def test_kit_studios_own_files_are_never_the_store(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits(asks("readwrite"))
        status = await b.create(skills_store=tmp_path, skills_mode="readwrite")
        assert any("own files" in text for text in status.skipped)
        assert "No such file" in await b.sh(f"ls {PLACE}")
