"""ssh-agent@1 in a real machine."""

import subprocess
from pathlib import Path

import pytest

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.ssh_relay import fingerprint
from tests.runtime.bench import bench, vm
from tests.runtime.busybox_kits import Entry
from tests.runtime.runtime_sets import capability
from tests.runtime.ssh_agents import LIST, Agent, framed, listening, named, new_key, sign

pytestmark = vm
KEY = new_key()


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("probe") / "probe"
    source = Path(__file__).with_name("agent_probe.c")
    subprocess.run(["musl-gcc", "-static", "-Os", "-o", out, source], check=True)
    return out.read_bytes()


async def test_the_agent_is_there_in_its_phases_bounded_and_gone_with_them(tmp_path: Path, probe: bytes) -> None:
    agent = Agent(KEY)
    async with bench(tmp_path) as b, listening(agent, tmp_path / "agent") as path:
        files = {"bin/probe": Entry(probe, 0o755), "etc/list": Entry(framed(LIST))}
        b.kits(
            capability("ssh-agent@1", {"phase": "runtime", "unrestricted": False, "sign": ["git"]}),
            capability(
                "lifecycle@1",
                {
                    "install": [{"command": "probe < /etc/list > /var/install; true", "env": ["SSH_AUTH_SOCK"]}],
                    "startup": [
                        {"command": "probe 30 < /etc/list > /tmp/startup", "env": ["SSH_AUTH_SOCK"]},
                        {"command": "echo [$SSH_AUTH_SOCK] > /tmp/unlisted"},
                    ],
                },
            ),
            files=files,
        )
        await b.create(ssh_agent=str(path))
        assert await b.sh("cat /var/install /tmp/unlisted") == "no agent\n[]\n"
        shown = (await b.backend.execute("box", ["cat", "/tmp/startup"], timeout=60)).stdout
        assert shown[4] == 12 and KEY.public_data in shown

        async def ask(message: bytes, wanted: int) -> bytes:
            found = await b.backend.execute("box", ["probe", str(wanted)], stdin=framed(message), timeout=60)
            return found.stdout

        assert (await ask(sign(KEY, named("git")), 60))[4] == 14
        assert await ask(sign(KEY, named("file")), 5) == b"\0\0\0\x01\x05"
        assert await b.sh("stat -c '%u %a' $SSH_AUTH_SOCK") == "1000 600\n"
        rows = [(d.verdict, d.reason.split(" with ")[0]) for d in await b.backend.decisions("box")]
        assert rows == [("allowed", "signature for 'git'"), ("refused", "signature for 'file'")]
        assert KEY.export_private_key() not in (await b.backend.execute("box", ["env"], timeout=60)).stdout

        await b.backend.stop("box")
        await b.backend.start("box", b.steps.append)
        assert (await ask(LIST, 30))[4] == 12


async def test_without_an_agent_required_refuses_optional_starts_and_without_the_request_there_is_none(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as b:
        b.kits(capability("ssh-agent@1", {"phase": "runtime"}))
        with pytest.raises(SandboxError, match="requires your SSH agent"):
            await b.create(ssh_agent=str(tmp_path / "nobody"))
        b.kits(capability("ssh-agent@1", {"phase": "runtime"}, optional=True))
        status = await b.create()
        assert any("ssh-agent@1" in text for text in status.skipped)
        assert await b.sh("echo [$SSH_AUTH_SOCK]; ls /run/kit/ssh-agent.sock 2>&1") == (
            "[]\nls: /run/kit/ssh-agent.sock: No such file or directory\n"
        )


async def test_only_the_chosen_keys_are_listed_and_used_and_a_choice_counts_from_the_next_start(
    tmp_path: Path, probe: bytes
) -> None:
    other = new_key()
    agent = Agent(KEY, other)
    chosen: list[frozenset[str] | None] = [frozenset({fingerprint(KEY.public_data)})]
    async with bench(tmp_path) as b, listening(agent, tmp_path / "agent") as path:
        b.backend._agent_keys = lambda: chosen[0]
        b.kits(capability("ssh-agent@1", {"phase": "runtime"}), files={"bin/probe": Entry(probe, 0o755)})
        await b.create(ssh_agent=str(path))

        async def ask(message: bytes, wanted: int) -> bytes:
            found = await b.backend.execute("box", ["probe", str(wanted)], stdin=framed(message), timeout=60)
            return found.stdout

        listed = await ask(LIST, 30)
        assert KEY.public_data in listed and other.public_data not in listed
        assert (await ask(sign(KEY, named("git")), 60))[4] == 14
        assert await ask(sign(other, named("git")), 5) == b"\0\0\0\x01\x05"
        assert (await b.backend.decisions("box"))[-1].reason.endswith("the key may not be used")
        for now, seen in ((frozenset(), b""), (None, other.public_data)):
            chosen[0] = now
            await b.backend.stop("box")
            await b.backend.start("box", b.steps.append)
            listed = await ask(LIST, 120 if seen else 9)
            assert listed[4] == 12 and listed[8] == (2 if seen else 0) and seen in listed
