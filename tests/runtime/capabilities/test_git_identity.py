"""git-identity@1, judged by Git itself."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.git_identity import GitIdentity, config_path, plan_identity, with_identity
from tests.runtime.runtime_sets import capability, descriptor

ADA = GitIdentity("Ada Lovelace", "ada@acme.example")


def git(text: str, folder: Path, *arguments: str) -> list[str]:
    """What Git reads from a configuration of this text."""
    file = folder / "config"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    run = subprocess.run(["git", "config", "-z", "--file", file, *arguments], capture_output=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize(
    "before",
    [
        "",
        "[user]\n\tname = Image\n\temail = image@x.example\n",
        "[alias]\n\tst = status\n[User] name = Image ; ours\n\tEmail=i@x.example",
        '[user "work"]\n\tname = Other\n[core]\n\teditor = vi\n',
        "[user]\n\tname = a \\\n  long one\n\tsigningkey = ABC\n[user]\nname\n",
        "# a comment\r\n[user]\r\n\tname = Image\r\n[core]\r\n\tautocrlf = true\r\n",
    ],
)
def test_git_reads_the_pair_once_and_everything_else_as_before(before: str, tmp_path: Path) -> None:
    after = with_identity(before, ADA)
    assert git(after, tmp_path, "--get-all", "user.name") == ["Ada Lovelace"]
    assert git(after, tmp_path, "--get-all", "user.email") == ["ada@acme.example"]

    def others(text: str) -> list[str]:
        return [
            line for line in git(text, tmp_path, "--list") if line.split("\n")[0] not in ("user.name", "user.email")
        ]

    assert others(after) == others(before)
    assert with_identity(after, ADA) == after


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Co", "Cn", "Zl", "Zp"]), min_size=1, max_size=60))
def test_any_name_is_plain_data_to_git(name: str) -> None:
    identity, _ = plan_identity(descriptor(capability("git-identity@1", optional=True)), name, "a@b.example")
    if identity is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        assert git(with_identity("", identity), Path(folder), "--list") == [
            f"user.name\n{name}",
            "user.email\na@b.example",
        ]


def test_an_incomplete_pair_refuses_what_is_required_and_skips_what_is_optional() -> None:
    required, optional = (descriptor(capability("git-identity@1", optional=o)) for o in (False, True))
    for pair in (("", ""), ("Ada", ""), ("", "a@b.example"), (" ", "a@b.example"), ("A\nb", "a@b.example")):
        with pytest.raises(SandboxError, match="requires your Git identity"):
            plan_identity(required, *pair)
        identity, skipped = plan_identity(optional, *pair)
        assert identity is None and len(skipped) == 1
    assert plan_identity(descriptor(), "Ada", "a@b.example") == (None, ())
    assert plan_identity(required, "Ada", "a@b.example") == (GitIdentity("Ada", "a@b.example"), ())


def test_the_file_is_the_one_git_calls_global() -> None:
    assert config_path("/home/agent", {}) == "/home/agent/.gitconfig"
    assert config_path("/home/agent", {"GIT_CONFIG_GLOBAL": "/etc/agent.conf"}) == "/etc/agent.conf"
    assert config_path("/home/agent", {"GIT_CONFIG_GLOBAL": "relative"}) == "/home/agent/.gitconfig"
