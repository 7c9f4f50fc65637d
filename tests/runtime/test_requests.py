"""Bounded entries of network-policy@2: what they admit and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.runtime.hosts import read_pattern
from kitstudio.runtime.policy import EgressPolicy, Phase, Rule, build_policy, policy_rules, read_policy
from kitstudio.runtime.requests import Bound, readings
from tests.runtime.runtime_sets import approve, capability

API = Bound(("GET", "POST"), ("/v2/**", "/me"))


@pytest.mark.parametrize(
    ("method", "target", "admitted"),
    [
        ("GET", "/v2/x", True),
        ("POST", "/v2", True),
        ("GET", "/v2/x?y=/../..", True),
        ("GET", "/me", True),
        ("GET", "/me?token=1", True),
        ("HEAD", "/me", False),
        ("get", "/me", False),
        ("GET", "/me/", False),
        ("GET", "/v2x", False),
        ("GET", "/v2/../admin", False),
        ("GET", "/v2/%2e%2e/admin", False),
        ("GET", "/v2/%252e%252e/admin", False),
        ("GET", "/v2/..%2fadmin", False),
        ("GET", "/v2/..%5cadmin", False),
        ("GET", "/v2/..;x=1/admin", False),
        ("GET", "//v2/x", True),
        ("OPTIONS", "*", False),
    ],
)
def test_an_allow_entry_admits_a_request_only_under_every_reading_of_its_path(
    method: str, target: str, admitted: bool
) -> None:
    # "//v2/x" itself is not below /v2, whatever a server makes of it.
    assert API.admits(method, target) is (admitted and not target.startswith("//"))


@pytest.mark.parametrize(
    "target", ["/admin", "/admin/x", "/a/../admin/x", "/%61dmin", "//admin//x", "/admin;v=1/x", "/%2561dmin"]
)
def test_a_deny_entry_refuses_under_any_reading(target: str) -> None:
    assert Bound(("ANY",), ("/admin/**",)).denies("PURGE", target)


def test_stars_within_a_path_widen_a_deny_and_never_an_allow() -> None:
    assert Bound(("ANY",), ("/repos/*/keys",)).denies("GET", "/repos/a/keys")
    assert not Bound(("ANY",), ("/repos/*/keys",)).denies("GET", "/repos/a/b/keys")
    assert not Bound(("ANY",), ("/repos/*/keys",)).admits("GET", "/repos/a/keys")


@given(st.text(max_size=40))
def test_any_target_has_readings_and_none_of_them_escapes(target: str) -> None:
    for path in readings("/" + target):
        assert path.startswith("/")
    assert Bound(("ANY",), ("/**",)).admits("GET", "/" + target)


def rule(host: str, *, denies: bool = False, bound: Bound | None = None, path: str = "p") -> Rule:
    return Rule(Phase.RUNTIME, denies, read_pattern(host), "kit", path, 7, bound)


def test_a_bounded_host_is_closed_except_for_what_one_entry_admits_by_method_and_path() -> None:
    reads = Bound(("GET",), ("/a/**",))
    writes = Bound(("POST",), ("/b",))
    policy = EgressPolicy((rule("api.test", bound=reads, path="1"), rule("api.test", bound=writes, path="2")))
    assert policy.decide(Phase.RUNTIME, "api.test", 443).inspect

    def asked(method: str, target: str) -> tuple[bool, str]:
        ruling = policy.decide_request(Phase.RUNTIME, "api.test", 443, method, target)
        return ruling.allowed, ruling.rule.path if ruling.rule else ""

    assert asked("GET", "/a/x") == (True, "1") and asked("POST", "/b") == (True, "2")
    assert not asked("POST", "/a/x")[0] and not asked("GET", "/b")[0]
    assert not policy.decide_request(Phase.INSTALL, "api.test", 443, "GET", "/a/x").allowed


def test_an_unbounded_grant_is_narrowed_by_denies_only() -> None:
    bound = Bound(("DELETE",), ("/**",))
    policy = EgressPolicy((rule("api.test", bound=Bound(("GET",), ("/a",))), rule("api.test", path="free")))
    ruling = policy.decide(Phase.RUNTIME, "api.test", 443)
    assert not ruling.inspect and ruling.rule and ruling.rule.path == "free"
    narrowed = EgressPolicy((*policy.rules, rule("*.test", denies=True, bound=bound, path="deny")))
    assert narrowed.decide(Phase.RUNTIME, "api.test", 443).inspect
    assert narrowed.decide_request(Phase.RUNTIME, "api.test", 443, "PATCH", "/x").allowed
    refused = narrowed.decide_request(Phase.RUNTIME, "api.test", 443, "DELETE", "/x")
    assert not refused.allowed and refused.rule and refused.rule.path == "deny"


def test_a_set_of_both_versions_is_read_with_methods_paths_and_lines() -> None:
    approved = approve(
        {
            "base:1": [
                capability(
                    "network-policy@2",
                    {
                        "runtime": {
                            "allow": ["free.test", {"hosts": ["a.test", "b.test:8443"], "methods": ["GET"]}],
                            "deny": [{"hosts": ["*.test"], "methods": ["ANY"], "paths": ["/secret/**"]}],
                        }
                    },
                )
            ]
        }
    )
    policy = build_policy(approved)
    found = {(r.pattern.text, r.denies): (r.path.rpartition("config.")[2], r.bound) for r in policy.rules}
    assert found == {
        ("free.test", False): ("runtime.allow[0]", None),
        ("a.test", False): ("runtime.allow[1].hosts[0]", Bound(("GET",), ("/**",))),
        ("b.test:8443", False): ("runtime.allow[1].hosts[1]", Bound(("GET",), ("/**",))),
        ("*.test", True): ("runtime.deny[0].hosts[0]", Bound(("ANY",), ("/secret/**",))),
    }
    assert read_policy(policy_rules(policy)) == policy
