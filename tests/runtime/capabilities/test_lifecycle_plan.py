"""lifecycle@1, resources@1 and agent-context@1 as plans."""

import pytest

from kitstudio.models.descriptor import JsonValue
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.agent_context import BEGIN, END, plan_profile, render_profile
from kitstudio.runtime.capabilities.lifecycle import plan_lifecycle
from kitstudio.runtime.capabilities.resources import Host, parse_size, size_machine
from tests.runtime.runtime_sets import approve, capability

HOST = Host(memory=8192, cpus=4)


def lifecycle(**config: JsonValue) -> list[object]:
    return [capability("lifecycle@1", dict(config))]


def test_hooks_keep_their_kit_and_follow_composition_order() -> None:
    plan = plan_lifecycle(
        approve(
            {
                "r/base:1": lifecycle(install=[{"command": "one"}], startup=[{"command": ["s"], "background": True}]),
                "r/gh:1": lifecycle(install=[{"command": ["two", "x"], "user": "agent", "env": ["HOME"]}]),
            }  # type: ignore[arg-type]
        )
    )
    assert [(h.kit, h.index, h.command, h.user) for h in plan.install] == [
        ("r/base:1", 0, ("sh", "-c", "one"), ""),
        ("r/gh:1", 0, ("two", "x"), "agent"),
    ]
    assert plan.startup[0].background and plan.interactive is None
    assert plan.install[1].path == "capabilities[0].config.install[0]"


def test_two_kits_on_one_cleaned_path_are_refused_even_with_equal_content() -> None:
    files: JsonValue = [{"path": "/srv/./x", "content": "a"}]
    with pytest.raises(SandboxError, match="/srv/x"):
        plan_lifecycle(
            approve({"r/a:1": lifecycle(files=files), "r/b:1": lifecycle(files=[{"path": "//srv/x", "content": "a"}])})  # type: ignore[arg-type]
        )


def test_files_carry_mode_and_overwrite() -> None:
    plan = plan_lifecycle(
        approve({"r/a:1": lifecycle(files=[{"path": "/a", "mode": "0600", "overwrite": False}, {"path": "/b"}])})  # type: ignore[arg-type]
    )
    assert [(f.mode, f.overwrite, f.content) for f in plan.files] == [(0o600, False, ""), (0, True, "")]


def test_two_interactive_tails_clash_even_when_empty() -> None:
    one: JsonValue = []
    with pytest.raises(SandboxError, match="interactive session"):
        plan_lifecycle(
            approve(
                {
                    "r/a:1": lifecycle(interactive=one, install=[{"command": "x"}]),
                    "r/b:1": lifecycle(interactive=["-i"]),
                }
            )  # type: ignore[arg-type]
        )


def test_a_value_never_filled_in_is_refused() -> None:
    with pytest.raises(SandboxError, match="filled in"):
        plan_lifecycle(approve({"r/a:1": lifecycle(install=[{"command": "echo ${{ kit.args.x }}"}])}))  # type: ignore[arg-type]


def test_shell_variables_stay_as_they_are() -> None:
    plan = plan_lifecycle(approve({"r/a:1": lifecycle(install=[{"command": "echo $HOME ${X}"}])}))  # type: ignore[arg-type]
    assert plan.install[0].command[2] == "echo $HOME ${X}"


@pytest.mark.parametrize(
    ("text", "size"), [("12g", 12 << 30), ("1.5 GiB", 3 << 29), ("512MB", 512 << 20), ("7", 7), ("1K", 1024)]
)
def test_sizes_are_powers_of_1024(text: str, size: int) -> None:
    assert parse_size(text) == size


def test_stated_resources_are_given_and_the_person_overrides() -> None:
    set_ = approve({"r/a:1": [capability("resources@1", {"cpu": 1.5, "memory": "3g"})]}).effective
    asked = size_machine(set_, HOST, memory=0, cpus=0, default_cpus=1)
    assert (asked.memory, asked.cpus) == (3072, 2)
    mine = size_machine(set_, HOST, memory=512, cpus=1, default_cpus=1)
    assert (mine.memory, mine.cpus) == (512, 1)


@pytest.mark.parametrize(
    ("config", "word"), [({"cpu": 64}, "64 processors"), ({"memory": "1t"}, "MiB of memory"), ({"gpu": "all"}, "GPU")]
)
def test_what_this_computer_lacks_is_refused_or_skipped(config: dict[str, JsonValue], word: str) -> None:
    required = approve({"r/a:1": [capability("resources@1", config)]}).effective
    with pytest.raises(SandboxError, match=word):
        size_machine(required, HOST, memory=0, cpus=0, default_cpus=1)
    optional = approve({"r/a:1": [capability("resources@1", config, optional=True)]}).effective
    size = size_machine(optional, HOST, memory=0, cpus=0, default_cpus=1)
    assert word in size.skipped[0] and size.cpus == 1


@pytest.mark.parametrize(("memory", "cpus"), [(64, 0), (-1, 0), (8193, 0), (0, 5), (0, -1)])
def test_a_choice_that_does_not_fit_this_computer_is_refused(memory: int, cpus: int) -> None:
    with pytest.raises(SandboxError, match="cannot have"):
        size_machine(approve({"r/a:1": []}).effective, HOST, memory=memory, cpus=cpus, default_cpus=1)


def context(**config: JsonValue) -> list[object]:
    return [capability("agent-context@1", dict(config))]


def test_an_explicit_profile_beats_a_legacy_name_in_any_order() -> None:
    legacy, explicit = context(filename="AGENTS.md"), context(directory="/home/agent/.a", filename="A.md")
    for kits in ({"r/w:1": legacy, "r/m:1": explicit}, {"r/m:1": explicit, "r/w:1": legacy}):
        assert plan_profile(approve(kits, workload="r/w:1"), "/w/x").path == "/home/agent/.a/A.md"  # type: ignore[arg-type]


def test_a_legacy_profile_stands_beside_the_workspace_row_79() -> None:
    assert plan_profile(approve({"r/w:1": context(filename="AGENTS.md")}), "/home/agent/ws").path == (  # type: ignore[arg-type]
        "/home/agent/AGENTS.md"
    )


def test_differing_explicit_profiles_are_refused() -> None:
    with pytest.raises(SandboxError, match="different paths"):
        plan_profile(
            approve({"r/a:1": context(directory="/a", filename="A"), "r/b:1": context(directory="/b", filename="A")}),  # type: ignore[arg-type]
            "/w",
        )


def test_bodies_are_pointed_at_and_inline_ones_get_a_file() -> None:
    profile = plan_profile(
        approve(
            {
                "r/w:1": context(directory="/p", filename="A.md", content=f"be brief {END}"),
                "reg.test:5000/x/gh:2.1@sha256:0": context(contentFile="/usr/share/sandbox/kit/gh/gh.md"),
            }  # type: ignore[arg-type]
        ),
        "/w",
    )
    inline, staged = profile.bodies
    assert inline.path == "/p/.kit-context/01-w.md" and inline.text is not None and END not in inline.text
    assert staged.path == "/usr/share/sandbox/kit/gh/gh.md" and staged.text is None
    text = render_profile(profile, "", "/w", "box")
    assert text.index(inline.path) < text.index(staged.path)
    assert "be brief" not in text


def test_existing_text_outside_our_section_is_kept_byte_for_byte_row_80() -> None:
    profile = plan_profile(approve({"r/w:1": context(filename="A.md")}), "/w/x")  # type: ignore[arg-type]
    first = render_profile(profile, "mine\r\nno newline", "/w/x", "box")
    assert first.startswith("mine\r\nno newline\n")
    edited = first + "after\n"
    second = render_profile(profile, edited, "/w/x", "renamed")
    assert second.startswith("mine\r\nno newline\n") and second.endswith("after\n")
    assert second.count(BEGIN) == 1 and "renamed" in second
    assert render_profile(profile, second, "/w/x", "renamed") == second
