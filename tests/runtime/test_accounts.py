"""Users of an image (sbx@1, duty 4)."""

import pytest

from kitstudio.runtime.accounts import ROOT, default_account, resolve_account
from tests.runtime.runtime_sets import GROUP, PASSWD


def test_a_name_brings_uid_gid_home_and_groups() -> None:
    account = resolve_account("agent", PASSWD, GROUP)
    assert (account.name, account.uid, account.gid, account.groups, account.home) == (
        "agent", 1000, 1000, (999,), "/home/agent",
    )  # fmt: skip


@pytest.mark.parametrize("user", ["1000", "001000", "1000:", "agent:"])
def test_digits_are_a_uid_by_value_and_an_empty_group_is_harmless(user: str) -> None:
    assert resolve_account(user, PASSWD, GROUP).name == "agent"


def test_digits_never_fall_back_to_a_login_name() -> None:
    account = resolve_account("7", b"7:x:1000:1000::/home/7:\n", None)
    assert not account.known and account.uid == 7


@pytest.mark.parametrize(("user", "gid"), [("agent:50", 50), ("agent:staff", 50), ("1000:4000", 4000)])
def test_a_stated_group_replaces_the_rows(user: str, gid: int) -> None:
    account = resolve_account(user, PASSWD, GROUP)
    assert account.gid == gid and account.groups == ()


@pytest.mark.parametrize("user", ["nobody", "agent:nogroup", "4294967295", "agent:4294967295", "", " agent"])
def test_what_does_not_resolve_says_so(user: str) -> None:
    with pytest.raises(LookupError):
        resolve_account(user, PASSWD, GROUP)


def test_unusable_rows_are_passed_over() -> None:
    passwd = (
        b"#agent:x:1:1::/a:\nagent:x:bad:1::/a:\nagent:x:5:5::relative:\nagent:x:9:9\n:x:9:9::/a:\n"
        b"agent:x:7:8::/h:/bin/sh\r\n"
    )
    account = resolve_account("agent", passwd, None)
    assert (account.uid, account.gid, account.home) == (7, 8, "/h")


def test_root_needs_no_passwd() -> None:
    assert resolve_account("root", None, None) == ROOT
    assert resolve_account("0", b"", b"") == ROOT


def test_the_floor_user_is_agent_with_uid_1000_else_root() -> None:
    assert default_account(PASSWD, GROUP).name == "agent"
    assert default_account(b"agent:x:1001:1001::/home/agent:\n", None) == ROOT
    assert default_account(None, None) == ROOT
