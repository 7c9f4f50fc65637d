"""One sandbox through its life: create, exec, stop and start, recreate, rm. What is seen at each step is taken down
once; every test judges a part of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kitstudio.services.adapter import USER
from tests.adapter.suite import HOST, SECRET, SENTINEL, Suite, Web, asks, judges
from tests.runtime.bench import processes_of, vm
from tests.runtime.busybox_kits import Entry
from tests.runtime.ssh_agents import LIST, Agent, bind, framed, listening, login, new_key, sign

pytestmark = vm

KEY, SERVER, STRANGER = new_key(), new_key(), new_key()
SESSION = b"s" * 32
SOURCE = """\
[user]
\tname = Ada Tester ; of the suite
\temail = "ada@kit-tck.example"
\tsigningkey = leak-probe-signing
[alias]
\tleak = leak-probe-alias
[include]
\tpath = /nowhere
"""
IMAGE_CONFIG = "[user]\n\tname = Image\n\temail = image@example\n[alias]\n\tci = commit\n"
LOOK = """\
cd /home/agent
id -un; echo ==; cat install.log; echo ==; cat startup.log; echo ==; cat .gitconfig; echo ==
cat hook-env; echo ==; cat expanded; echo ==; echo $TCK_TOKEN; echo ==; cat .codex/AGENTS.md; echo ==
cat left-behind 2>/dev/null; echo ==; cat /keep/left-behind 2>/dev/null; echo ==; cat git-at-start; echo ==
cat args; echo ==; cat fetched; echo ==; env; [ -t 0 ] || [ -t 1 ] || echo no terminal
"""


@dataclass(slots=True)
class Seen:
    """What one look shows."""

    user: str
    install: str
    startup: str
    git: str
    hook: str
    expanded: str
    token: str
    profile: str
    layer: str
    volume: str
    git_at_start: str
    args: str
    fetched: str
    env: str

    @classmethod
    def of(cls, text: str) -> Seen:
        return cls(*(part.lstrip("\n").removesuffix("\n") for part in text.split("==\n")))


@dataclass(slots=True)
class Life:
    id: str
    created: Seen
    restarted: Seen
    recreated: Seen
    source: bytes
    source_after: bytes
    everything: str
    network: str
    headers: list[str]
    listed: bytes
    logged_in: bytes
    stranger: bytes
    passed_through: tuple[int, bytes, bytes]
    history: str
    status: tuple[str, ...]
    left: tuple[list[str], list[str], list[str]]


@contextmanager
def running(agent: Agent, path: Path) -> Iterator[None]:
    """The suite's agent, in a thread of its own."""
    loop = asyncio.new_event_loop()
    ready, ending = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with listening(agent, path):
            ready.set()
            await ending.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(10)


@pytest.fixture(scope="module")
def kit(suite: Suite, web: Web, probe: bytes) -> Path:
    bound = {"domain": f"{HOST}:{web.runtime}", "header": "X-Key", "format": "key %s"}
    install = "echo installed >> install.log; env > hook-env; "
    install += f"wget -q -O fetched http://{HOST}:{web.install}/install; "
    install += f"wget -q -O - http://{HOST}:{web.runtime}/install >> fetched 2>&1; true"
    startup = "echo boot >> startup.log; cat .gitconfig > git-at-start; echo $COLOUR/$EMPTY > args"
    expanded = "|".join(f"${{{{ kit.env.{name} }}}}" for name in ("IMAGE", "OVER", "COLOUR", "NOTHING"))
    hooks = {
        "install": [{"command": f"cd /home/agent; {install}", "env": ["LISTED"], "user": "agent"}],
        "startup": [{"command": f"cd /home/agent; {startup}", "env": ["COLOUR", "EMPTY"]}],
        "files": [{"path": "/home/agent/expanded", "content": expanded}],
    }
    messages = {
        "list": framed(LIST),
        "known": framed(bind(SERVER, SESSION)) + framed(sign(KEY, login(SESSION, "git", KEY, SERVER.public_data))),
        "strange": framed(bind(STRANGER, SESSION))
        + framed(sign(KEY, login(SESSION, "git", KEY, STRANGER.public_data))),
    }
    return suite.kit(
        "life",
        asks("lifecycle@1", hooks),
        asks("volume@1", {"path": "/keep", "size": "8m"}),
        asks("git-identity@1"),
        asks(
            "ssh-agent@1",
            {"phase": "runtime", "unrestricted": False, "sign": ["git"], "authenticate": ["kit-tck.example"]},
        ),
        asks(
            "network-policy@2",
            {"install": {"allow": [f"{HOST}:{web.install}"]}, "runtime": {"allow": [f"{HOST}:{web.runtime}"]}},
        ),
        asks(
            "credential@1",
            {
                "service": "kit-tck",
                "phase": "runtime",
                "apiKey": {"name": "TCK_TOKEN", "proxyManaged": True, "inject": [bound]},
            },
        ),
        asks("agent-context@1", {"directory": "/home/agent/.codex", "filename": "AGENTS.md"}),
        asks("long-running@1"),
        files={
            "home/agent/.gitconfig": Entry(IMAGE_CONFIG.encode(), uid=1000),
            "home/agent/.codex": Entry(None, 0o755, 1000),
            "home/agent/.codex/AGENTS.md": Entry(b"Instructions of the image.\n", uid=1000),
            "bin/probe": Entry(probe, 0o755),
            **{f"etc/{name}": Entry(data) for name, data in messages.items()},
        },
        env=("IMAGE=from-image", "OVER=from-image", "LISTED=listed"),
        args={
            "colour": {"default": "grey", "env": "COLOUR"},
            "nothing": {"default": "argument", "env": "NOTHING"},
            "empty": {"default": "full", "env": "EMPTY"},
        },
    )


@pytest.fixture(scope="module")
def life(suite: Suite, kit: Path, web: Web, tmp_path_factory: pytest.TempPathFactory) -> Life:
    place = tmp_path_factory.mktemp("life")
    source, known = place / "gitconfig", place / "known_hosts"
    source.write_text(SOURCE)
    known.write_text(f"kit-tck.example {SERVER.export_public_key().decode()}")
    agent = Agent(KEY)
    with running(agent, place / "agent"):
        id = suite.create(
            *(kit, "--arg", "colour=$(id) red", "--env", "OVER=over*ridden", "--env", "NOTHING="),
            *("--ssh-agent", place / "agent", "--ssh-known-hosts", known, "--git-identity-config", source),
        )
        created = Seen.of(suite.sh(id, LOOK))
        get = "wget -q -O - http://{}:{}/{} 2>&1; "
        found = suite.call(
            *("adapter", "exec", id, "--", "sh", "-c"),
            "probe 60 < /etc/list; echo @@; probe 10 < /etc/known; echo @@; probe 10 < /etc/strange; echo @@; "
            + get.format(HOST, web.runtime, "run")
            + get.format(HOST, web.install, "run")
            + "echo @@; env; find / -xdev -type f -size -512k 2>/dev/null | xargs cat 2>/dev/null; true",
        ).stdout
        listed, logged_in, stranger, reached, everything = found.split(b"@@\n", 4)
        headers = [
            headers.get("x-key", "") for port, path, headers in web.asked if (port, path) == (web.runtime, "/run")
        ]
        odd = suite.call(
            "adapter", "exec", id, "--", "sh", "-c", 'printf "%s|" "$@"; echo e >&2; exit 37', "", "a b", "-x", ""
        )
        suite.sh(id, "echo kept > /home/agent/left-behind; echo kept > /keep/left-behind; "
                 "echo -e '[alias]\\n\\tst = status' >> /home/agent/.gitconfig")  # fmt: skip
        status = [suite.verb("status", id)]
        suite.verb("stop", id)
        status.append(suite.verb("status", id))
        source.write_text(SOURCE.replace("Ada", "Eve").replace("ada@", "eve@"))
        changed = source.read_bytes()
        suite.verb("start", id)
        restarted = Seen.of(suite.sh(id, LOOK))
        suite.verb("recreate", id)
        recreated = Seen.of(suite.sh(id, LOOK))
        history = suite.call("history").stdout.decode()
        suite.discard(id)
    record = [name for name in (path.name for path in (suite.home / "data" / "adapter").iterdir()) if id in name]
    left = ([box for box in suite.boxes() if id in box], processes_of(suite.home / "data" / "sandboxes" / id), record)
    return Life(
        *(id, created, restarted, recreated, changed, source.read_bytes()),
        *(everything.decode(errors="replace"), reached.decode(), headers, listed),
        *(logged_in, stranger, (odd.returncode, odd.stdout, odd.stderr), history, tuple(status), left),
    )


@judges("adapter/exec", "adapter/no-input")
def test_exec_passes_arguments_output_and_status_through_without_a_terminal_or_input(life: Life) -> None:
    assert life.passed_through == (37, b"a b|-x||", b"e\n")
    assert life.created.env.endswith("no terminal")


@judges("adapter/exec-identity")
def test_exec_runs_as_the_agent(life: Life) -> None:
    assert life.created.user == "agent"


@judges("adapter/env-expanded")
def test_overrides_win_over_image_and_arguments_and_files_expand_to_them(life: Life) -> None:
    for seen in (life.created, life.restarted, life.recreated):
        assert seen.expanded == "from-image|over*ridden|$(id) red|"
        assert {"OVER=over*ridden", "NOTHING=", "IMAGE=from-image", "COLOUR=$(id) red"} <= set(seen.env.splitlines())


def test_arguments_reach_hooks_literally(life: Life) -> None:
    assert life.created.args == "$(id) red/full"


@judges("lifecycle/install-once", "lifecycle/stop-start")
def test_install_hooks_run_at_create_alone_and_startup_hooks_at_every_boot(life: Life) -> None:
    assert (life.created.install, life.created.startup) == ("installed", "boot")
    assert (life.restarted.install, life.restarted.startup) == ("installed", "boot\nboot")
    assert life.restarted.layer == "kept"


@judges("volume@1/recreate")
def test_recreate_discards_the_layer_and_keeps_the_volume(life: Life) -> None:
    assert (life.recreated.layer, life.recreated.volume) == ("", "kept")
    assert (life.recreated.install, life.recreated.startup) == ("installed", "boot")


@judges("lifecycle/scrubbed")
def test_a_hook_sees_nothing_of_the_host(life: Life) -> None:
    assert SENTINEL not in life.created.hook and SENTINEL not in life.everything
    assert "LISTED=listed" in life.created.hook and "IMAGE=" not in life.created.hook


@judges("credential@1/sentinel")
def test_the_bound_secret_is_nowhere_and_its_variable_holds_a_stand_in(life: Life) -> None:
    assert life.created.token and SECRET not in life.created.token
    assert SECRET not in life.everything and SECRET not in life.created.env


@judges("credential@1/presented", "network-policy@1/phases")
def test_each_phase_reaches_its_own_grants_and_the_secret_goes_out_in_the_stated_header(life: Life, web: Web) -> None:
    assert life.headers == [f"key {SECRET}"]
    assert life.network.startswith("hello") and "403" in life.network
    assert life.created.fetched.startswith("hello") and "hello" not in life.created.fetched[5:]
    asked = {(port, path) for port, path, _ in web.asked}
    assert asked == {(web.install, "/install"), (web.runtime, "/run")}


@judges("git-identity@1/materialized", "git-identity@1/preserved")
def test_the_pair_is_gits_global_default_and_other_settings_stay_where_they_are(life: Life) -> None:
    for seen in (life.created.git, life.created.git_at_start, life.recreated.git_at_start):
        assert 'name = "Ada Tester"' in seen and 'email = "ada@kit-tck.example"' in seen
        assert "ci = commit" in seen and "Image" not in seen
    assert "leak-probe" not in life.everything + life.created.env


@judges("git-identity@1/retained", "git-identity@1/source-unchanged")
def test_a_changed_source_reaches_no_sandbox_that_exists_and_is_not_written_to(life: Life) -> None:
    for seen in (life.restarted, life.recreated):
        assert "Eve" not in seen.git + seen.git_at_start and "Ada" in seen.git
    assert "st = status" in life.restarted.git and "st = status" not in life.recreated.git
    assert life.source == life.source_after


@judges("ssh-agent@1/relayed")
def test_the_sandbox_reaches_the_stated_agent(life: Life) -> None:
    assert life.listed[4] == 12 and KEY.public_data in life.listed


@judges("ssh-agent@1/known-hosts")
def test_logins_are_matched_with_the_stated_host_keys(life: Life) -> None:
    assert life.logged_in.startswith(b"\0\0\0\1\x06") and life.logged_in[9] == 14
    assert life.stranger.endswith(b"\0\0\0\1\x05")


@judges("agent-context@1/destinations")
def test_the_profile_lies_where_it_is_declared_and_keeps_what_was_there(life: Life) -> None:
    for seen in (life.created, life.restarted, life.recreated):
        assert seen.profile.startswith("Instructions of the image.") and len(seen.profile) > 40


@judges("adapter/approved-by")
def test_the_records_say_that_the_suite_approved(life: Life) -> None:
    rows = [row for row in life.history.splitlines() if life.id in row]
    assert len(rows) == 1 and USER in rows[0]


@judges("long-running@1/status")
def test_status_looks_without_starting(life: Life, suite: Suite) -> None:
    assert life.status == ("running\n", "stopped\n")
    assert suite.call("adapter", "status", life.id).returncode == 1


@judges("adapter/rm")
def test_rm_leaves_nothing(life: Life) -> None:
    assert life.left == ([], [], [])
