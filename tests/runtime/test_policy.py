"""The egress policy built from an approved lock."""

import ipaddress
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.descriptor import Capability, Descriptor, JsonValue, Source
from kitstudio.models.lock import ApprovedLock, Lock, LockedKit
from kitstudio.models.surface import Surface
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.policy import EgressPolicy, Phase, build_policy, policy_rules, read_policy

NETWORK = "com.docker.sandbox/network-policy@1"


def network(config: dict[str, JsonValue], source: Source | None = None) -> Descriptor:
    return Descriptor("3", "mixin", capabilities=(Capability(NETWORK, config, True, source=source),))


def approved(
    effective: Descriptor,
    selected: Mapping[str, Descriptor] | None = None,
    lines: Mapping[str, Mapping[str, int]] | None = None,
) -> ApprovedLock:
    kits = tuple(LockedKit(reference, "sha256:" + "0" * 64, "mixin") for reference in selected or {})
    lock = Lock("demo", kits, Surface(), "sha256:0")
    return ApprovedLock(lock, "0" * 64, effective, selected or {}, lines or {})


def policy(**phases: JsonValue) -> EgressPolicy:
    return build_policy(approved(network(dict(phases))))


def test_unlisted_is_refused_and_says_so() -> None:
    ruling = policy(runtime={"allow": ["a.test"]}).decide(Phase.RUNTIME, "b.test", 443)
    assert not ruling.allowed
    assert ruling.reason == "no entry names b.test:443"


def test_deny_beats_allow_across_kits() -> None:
    one = network({"runtime": {"allow": ["**"]}})
    other = network({"runtime": {"deny": ["*.ads.test"]}})
    both = network({"runtime": {"allow": ["**"], "deny": ["*.ads.test"]}})
    rules = build_policy(approved(both, {"r/one:1": one, "r/two:1": other}))
    ruling = rules.decide(Phase.RUNTIME, "x.ads.test", 80)
    assert not ruling.allowed
    assert ruling.rule is not None and ruling.rule.kit == "r/two:1"
    assert rules.decide(Phase.RUNTIME, "ads.test", 80).allowed


def test_a_phase_opens_its_own_lists_only() -> None:
    rules = policy(install={"allow": ["i.test"]}, runtime={"allow": ["r.test"]})
    assert rules.decide(Phase.INSTALL, "i.test", 443).allowed
    assert not rules.decide(Phase.RUNTIME, "i.test", 443).allowed
    assert not rules.decide(Phase.INSTALL, "r.test", 443).allowed
    for host in ("i.test", "r.test"):
        ruling = rules.decide(Phase.CLOSED, host, 443)
        assert not ruling.allowed and "closed" in ruling.reason


def test_a_grant_that_is_only_in_a_kit_and_not_effective_is_no_grant() -> None:
    kit = network({"runtime": {"allow": ["a.test"]}})
    assert not build_policy(approved(network({}), {"r/k:1": kit})).decide(Phase.RUNTIME, "a.test", 1).allowed


def test_a_refusal_of_a_kit_stands_even_if_not_effective() -> None:
    kit = network({"runtime": {"deny": ["a.test"]}})
    rules = build_policy(approved(network({"runtime": {"allow": ["*"]}}), {"r/k:1": kit}))
    assert not rules.decide(Phase.RUNTIME, "a.test", 1).allowed


def test_a_ruling_names_kit_path_and_line() -> None:
    kit = network({"runtime": {"allow": ["a.test", "b.test"]}})
    path = "capabilities[0].config.runtime.allow[1]"
    rule = build_policy(approved(kit, {"r/k:1": kit}, {"r/k:1": {path: 17}})).decide(Phase.RUNTIME, "b.test", 1).rule
    assert rule is not None
    assert (rule.kit, rule.path, rule.line) == ("r/k:1", path, 17)


@pytest.mark.parametrize("owner", ["", "r/k:1"])
def test_an_entry_that_selection_moved_keeps_its_own_place(owner: str) -> None:
    place = "capabilities[2].group.capabilities[1]"
    path = f"{place}.config.runtime.allow[0]"
    kit = network({"runtime": {"allow": ["a.test"]}}, Source(owner, place))
    rule = build_policy(approved(kit, {"r/k:1": kit}, {"r/k:1": {path: 9}})).decide(Phase.RUNTIME, "a.test", 1).rule
    assert rule is not None
    assert (rule.path, rule.line) == (path, 9)


def test_an_entry_of_a_kit_inside_a_published_set_claims_no_line_of_the_sets_text() -> None:
    path = "capabilities[0].config.runtime.allow[0]"
    kit = network({"runtime": {"allow": ["a.test"]}}, Source("r/inner:1", "capabilities[0]"))
    rule = build_policy(approved(kit, {"r/k:1": kit}, {"r/k:1": {path: 9}})).decide(Phase.RUNTIME, "a.test", 1).rule
    assert rule is not None
    assert (rule.kit, rule.path, rule.line) == ("r/k:1", f"r/inner:1 {path}", 0)


def test_an_unreadable_deny_entry_is_an_error_naming_the_kit() -> None:
    kit = network({"runtime": {"deny": ["https://x.test/"]}})
    with pytest.raises(SandboxError) as caught:
        build_policy(approved(kit, {"r/k:1": kit}))
    assert "r/k:1" in caught.value.where


def test_an_unreadable_allow_entry_grants_nothing() -> None:
    rules = policy(runtime={"allow": ["", "https://x.test/"]})
    assert not rules.decide(Phase.RUNTIME, "x.test", 443).allowed


@pytest.mark.parametrize(
    ("entry", "host", "may"),
    [
        ("**", "localhost", False),
        ("localhost", "localhost", True),
        ("host.docker.internal:11434", "host.docker.internal", True),
        ("**", "127.0.0.1", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("192.168.1.7:11434", "192.168.1.7", True),
        ("x.test", "x.test", False),
    ],
)
def test_private_targets_need_the_literal_entry(entry: str, host: str, may: bool) -> None:
    rules = policy(runtime={"allow": [entry]})
    ruling = rules.decide(Phase.RUNTIME, host, 11434)
    assert ruling.allowed
    assert (rules.check_address(ruling, ipaddress.ip_address("127.0.0.1")) == "") is may


def test_a_name_behind_a_denied_address_is_refused() -> None:
    rules = policy(runtime={"allow": ["x.test"], "deny": ["1.2.3.4"]})
    ruling = rules.decide(Phase.RUNTIME, "x.test", 443)
    assert rules.check_address(ruling, ipaddress.ip_address("1.2.3.4"))
    assert not rules.check_address(ruling, ipaddress.ip_address("1.2.3.5"))


def test_a_private_name_of_the_settings_may_be_private_but_is_no_grant() -> None:
    rules = build_policy(approved(network({"runtime": {"allow": ["git.test"]}})), frozenset({"git.test", "other.test"}))
    assert not rules.check_address(rules.decide(Phase.RUNTIME, "git.test", 443), ipaddress.ip_address("10.0.0.1"))
    assert not rules.decide(Phase.RUNTIME, "other.test", 443).allowed


HOSTS = st.lists(st.sampled_from(["a.test", "b.test", "*.test", "**", "a.test:80", "1.1.1.1"]), max_size=4)


@given(HOSTS, HOSTS, st.sampled_from(["a.test", "b.test", "1.1.1.1", "x.y.test"]), st.sampled_from([80, 443]))
def test_allowed_means_listed_and_not_denied(allow: list[str], deny: list[str], host: str, port: int) -> None:
    both = policy(runtime={"allow": list(allow), "deny": list(deny)})
    only_allow = policy(runtime={"allow": list(allow)}).decide(Phase.RUNTIME, host, port).allowed
    only_deny = policy(runtime={"allow": list(deny)}).decide(Phase.RUNTIME, host, port).allowed
    assert both.decide(Phase.RUNTIME, host, port).allowed == (only_allow and not only_deny)


@given(HOSTS, HOSTS)
def test_the_policy_survives_the_way_to_the_supervisor(allow: list[str], deny: list[str]) -> None:
    rules = policy(install={"allow": list(allow)}, runtime={"deny": list(deny)})
    assert read_policy(policy_rules(rules)) == rules
