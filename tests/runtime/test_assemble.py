"""The launch contract of §10."""

import pytest

from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.assemble import AssembledKit, Contract, assemble, session_env, show
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.workdir_layer import missing_folders
from tests.runtime.runtime_sets import GROUP, PASSWD, approve, capability, inventory, kit

FLOOR = {"bin": "l:usr/bin", "usr": "d", "usr/bin": "d", "usr/bin/sh": "f", "usr/bin/bash": "f"}
ACCOUNTS = {"etc/passwd": PASSWD, "etc/group": GROUP}


def base(**config: object) -> AssembledKit:
    return kit("r/base:1", inventory(FLOOR, files=ACCOUNTS), kind="workload", **config)


def build(*kits: AssembledKit, approved: ApprovedLock | None = None) -> Contract:
    return assemble(kits, approved or approve({k.image.reference: () for k in kits}), {})


def test_the_workload_gives_the_contract_and_mixins_add_to_it() -> None:
    workload = base(
        entrypoint=("/bin/agent",), cmd=("--help",), env=("PATH=/usr/bin:/bin", "A=1"), user="agent", workdir="/w",
        labels={"l": "base"},
    )  # fmt: skip
    mixin = kit(
        "r/gh:1", inventory({"opt/gh": "f"}), entrypoint=("/gh",), user="root", workdir="/x",
        env=("PATH=/opt/gh/bin:/bin", "B=2"), labels={"l": "gh", "m": "gh"},
    )  # fmt: skip
    contract = build(workload, mixin)
    assert (contract.entrypoint, contract.cmd, contract.workdir) == (("/bin/agent",), ("--help",), "/w")
    assert contract.account.uid == 1000
    assert contract.env == {"PATH": "/usr/bin:/bin:/opt/gh/bin", "A": "1", "B": "2"}
    assert contract.labels == {"l": "base", "m": "gh"}


def test_interactive_replaces_the_command_in_terminals_only() -> None:
    contract = build(base(entrypoint=("/a",), cmd=("c",)))
    assert contract.argv(None, terminal=True) == ("/a", "c")
    assert contract.argv(("-i",), terminal=True) == ("/a", "-i")
    assert contract.argv((), terminal=True) == ("/a",)
    assert contract.argv(("-i",), terminal=False) == ("/a", "c")


def test_sbx_starts_the_agent_under_bash_as_the_images_user() -> None:
    workload = base(entrypoint=("/a",), user="1001")
    contract = build(workload, approved=approve({"r/base:1": [capability("sbx@1")]}))
    assert contract.argv(None, terminal=True) == ("/bin/bash", "-c", 'exec "$@"', "bash", "/a")
    assert contract.account.name == "other"


@pytest.mark.parametrize(
    "broken",
    [
        kit("r/base:1", inventory({"bin/sh": "f"}, files=ACCOUNTS), kind="workload", user="agent"),
        kit("r/base:1", inventory(FLOOR, files=ACCOUNTS, executable=False), kind="workload", user="agent"),
        kit("r/base:1", inventory(FLOOR, files=ACCOUNTS), kind="workload"),
        kit("r/base:1", inventory(FLOOR, files=ACCOUNTS), kind="workload", user="4711"),
        kit("r/base:1", inventory({**FLOOR, "usr/bin/bash": "l:/bin/bash"}), kind="workload", user="0"),
    ],
)
def test_sbx_refuses_an_image_without_its_floor(broken: AssembledKit) -> None:
    with pytest.raises(SandboxError, match=r"r/base:1|sbx"):
        build(broken, approved=approve({"r/base:1": [capability("sbx@1")]}))


def test_an_unresolvable_user_is_named() -> None:
    with pytest.raises(SandboxError, match="nobody") as caught:
        build(base(user="nobody"))
    assert caught.value.where == "r/base:1"


def test_exactly_one_workload() -> None:
    with pytest.raises(SandboxError, match="one workload"):
        build(kit("r/m:1", inventory({"a": "f"})))


def test_a_kit_without_layers_is_named() -> None:
    with pytest.raises(SandboxError, match="no layer") as caught:
        build(base(), kit("r/empty:1"))
    assert caught.value.where == "r/empty:1"


@pytest.mark.parametrize("theirs", ["f", "l:elsewhere", "d"])
def test_two_kits_with_one_file_are_refused_by_name(theirs: str) -> None:
    with pytest.raises(SandboxError, match="/opt/x") as caught:
        build(base(), kit("r/a:1", inventory({"opt": "d", "opt/x": "f"})), kit("r/b:1", inventory({"opt/x": theirs})))
    assert "r/a:1, r/b:1" in caught.value.where


def test_folders_equal_links_and_staged_sources_are_no_collision() -> None:
    staged = "usr/share/sandbox/kit"
    build(
        base(),
        kit("r/a:1", inventory({"opt": "d", "opt/l": "l:a", f"{staged}/a/kit.yaml": "f"})),
        kit("r/b:1", inventory({"opt": "d", "opt/l": "l:a", f"{staged}/b/kit.yaml": "f"})),
    )


def test_one_layer_in_two_kits_is_one_content() -> None:
    shared = inventory({"opt/x": "f"}, digest="sha256:same")
    build(base(), kit("r/a:1", shared), kit("r/b:1", shared))


def test_links_are_followed_and_loops_end() -> None:
    stack = [inventory({"bin": "l:usr/bin", "usr/bin/sh": "l:../../usr/bin/dash", "usr/bin/dash": "f", "x": "l:x"})]
    found = show(stack, "/bin/sh")
    assert found is not None and found.path == "usr/bin/dash"
    assert show(stack, "/x") is None
    assert show(stack, "/missing/y") is None


def test_processes_see_the_proxy_and_their_home() -> None:
    contract = build(base(user="agent", env=("HTTP_PROXY=mine",)))
    env = session_env(contract, contract.account, "box")
    assert env["https_proxy"] == "http://127.0.0.1:3128"
    assert env["HTTP_PROXY"] == "mine"
    assert (env["HOME"], env["USER"], env["HOSTNAME"]) == ("/home/agent", "agent", "box")
    assert env["PATH"].startswith("/usr/local/sbin")


def test_a_working_directory_the_image_lacks_is_made_where_links_lead() -> None:
    stack = [inventory({"home": "l:usr/home", "usr/home": "d", "w": "d", "f": "f"})]
    assert missing_folders("/w", stack) == ()
    assert missing_folders("/", stack) == ()
    assert missing_folders("/a/b", stack) == ("a", "a/b")
    assert missing_folders("/home/agent/ws", stack) == ("usr/home/agent", "usr/home/agent/ws")
    with pytest.raises(SandboxError, match="no folder"):
        missing_folders("/f/x", stack)
