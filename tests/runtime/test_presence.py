"""Git identity, skills and agent sessions as they are inside a real machine."""

from pathlib import Path

import pytest

from kitstudio.runtime.backend import SandboxError
from tests.runtime.bench import bench, vm
from tests.runtime.busybox_kits import FOLDER, Entry
from tests.runtime.runtime_sets import capability

pytestmark = vm

SKILL = {
    "opt/triage": FOLDER,
    "opt/triage/SKILL.md": Entry(b"# Triage\n"),
    "opt/triage/run.sh": Entry(b"#!/bin/sh\n. $(dirname $0)/lib/words\necho $WORD\n", 0o755),
    "opt/triage/lib": FOLDER,
    "opt/triage/lib/words": Entry(b"WORD=calm\n"),
}


async def test_identity_skills_and_sessions_are_there_before_any_hook(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        see = "cat /home/agent/.gitconfig /home/agent/.a/skills/triage/SKILL.md"
        b.kits(
            capability(
                "lifecycle@1",
                {
                    "install": [{"command": f"{see} > /var/install"}],
                    "startup": [{"command": f"{see} > /tmp/startup"}],
                },
            ),
            capability("git-identity@1"),
            capability("agent-skills@1", {"path": "/home/agent/.a/skills"}),
            capability(
                "agent-sessions@1", {"prompt": ["-c", "echo said: $0", "{{.Prompt}}"], "list": "echo s-2; echo s-1"}
            ),
            files={"home/agent/.gitconfig": Entry(b"[user]\n\tname = Image\n[alias]\n\tst = status\n", uid=1000)},
            tool_files=SKILL,
            mixin=(capability("agent-skill@1", {"path": "/opt/triage"}),),
            entrypoint=("/bin/sh",),
            cmd=(),
        )
        await b.create(git_name="Ada", git_email="ada@acme.example")
        expected = '[alias]\n\tst = status\n[user]\n\tname = "Ada"\n\temail = "ada@acme.example"\n# Triage\n'
        assert (await b.sh("cat /var/install")).replace("[user]\n[alias]", "[alias]") == expected
        assert await b.sh("cat /var/install") == await b.sh("cat /tmp/startup")
        assert await b.sh("stat -c %u /home/agent/.gitconfig /home/agent/.a/skills") == "1000\n1000\n"
        assert await b.sh("/home/agent/.a/skills/triage/run.sh") == "calm\n"
        assert "GIT_" not in await b.sh("env")

        prompt = await b.backend.session_command("box", "prompt", "two words; $HOME")
        assert (await b.backend.execute("box", prompt, timeout=60)).stdout == b"said: two words; $HOME\n"
        listing = await b.backend.execute("box", await b.backend.session_command("box", "list"), timeout=60)
        assert listing.stdout == b"s-2\ns-1\n"
        with pytest.raises(SandboxError, match="no way to resume"):
            await b.backend.session_command("box", "resume", "s-2")

        # A setting of the sandbox's own survives a restart; the pair stays what it was at create.
        await b.sh("printf '[core]\\n\\teditor = vi\\n' >> /home/agent/.gitconfig")
        await b.backend.stop("box")
        await b.backend.start("box", b.steps.append)
        text = await b.sh("cat /home/agent/.gitconfig")
        assert "editor = vi" in text and text.count("Ada") == 1 and "Image" not in text
        await b.backend.recreate("box", b.shelf.approved(), b.shelf, b.steps.append)
        assert "Ada" in await b.sh("cat /home/agent/.gitconfig")


async def test_a_skill_never_replaces_what_lies_at_its_place(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        taken = {f"home/agent/{p}": FOLDER for p in ("s", "s/triage")} | {"home/agent/s/triage/mine": Entry(b"mine")}
        b.kits(
            capability("agent-skills@1", {"path": "/home/agent/s"}),
            files=taken,
            tool_files=SKILL,
            mixin=(capability("agent-skill@1", {"path": "/opt/triage"}),),
        )
        with pytest.raises(SandboxError, match="something else is there"):
            await b.create()
        assert await b.backend.list() == ()
        b.kits(
            capability("agent-skills@1", {"path": "/home/agent/s"}),
            files=taken,
            tool_files=SKILL,
            mixin=(capability("agent-skill@1", {"path": "/opt/triage"}, optional=True),),
        )
        status = await b.create()
        assert any("something else is at /home/agent/s/triage" in text for text in status.skipped)
        assert await b.sh("cat /home/agent/s/triage/mine") == "mine"


async def test_nothing_of_the_identity_without_the_request(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits()
        await b.create(git_name="Ada", git_email="ada@acme.example")
        assert "Ada" not in await b.sh("cat /home/agent/.gitconfig; env")
