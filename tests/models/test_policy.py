"""A person's own rules: what they refuse, tick, sort and take away; that none of them answers yes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models import lock as locks
from kitstudio.models.plan import Plan
from kitstudio.models.policy import Policy, RuleKind, Verdict, host_refusals, hosts_meet, judged, parse
from kitstudio.models.weights import Weight
from kitstudio.runtime.hosts import read_host, read_pattern
from tests.models.sets import allow, base, member, plan

GH = "requires: [base]\n"
PRIVILEGED = "capabilities:\n  - type: com.docker.sandbox/privileged@1\n"


def policy(**rules: list[str]) -> Policy:
    kinds = {"never": RuleKind.NEVER, "tick": RuleKind.TICK, "expected": RuleKind.EXPECTED, "host": RuleKind.HOST}
    return Policy(tuple(parse(kinds[kind], text) for kind, texts in rules.items() for text in texts))


def verdict(after: Plan, before: Plan | None = None, **rules: list[str]) -> Verdict:
    granted = locks.from_plan("team", before) if before is not None else None
    return judged(policy(**rules), locks.review("team", granted, after), after)


@pytest.mark.parametrize(
    "rule",
    [
        "host=a.example",
        "host=*.example",
        "host=**.example",
        "host=*",
        "host=a.example:443",
        "category=network",
        "category=network.runtime.allow",
        "type=com.docker.sandbox/network-policy",
    ],
)
def test_a_never_rule_refuses_what_it_meets_and_is_named(rule: str) -> None:
    found = verdict(plan(base(allow("a.example"))), never=[rule])
    assert found.refused and rule in found.refused[0]
    assert {note.rule for note in found.notes} == {rule}


@pytest.mark.parametrize(
    "rule", ["host=b.example", "host=a.example.org", "category=usb", "type=com.docker.sandbox/port"]
)
def test_a_never_rule_leaves_the_rest_alone(rule: str) -> None:
    assert not verdict(plan(base(allow("a.example"))), never=[rule]).refused


def test_a_wildcard_a_kit_asks_for_meets_a_rule_about_one_host() -> None:
    for asked in ("*", "*.example", "**.example"):
        assert verdict(plan(base(allow(asked))), never=["host=a.example"]).refused, asked


def test_a_never_rule_made_later_refuses_what_was_granted_before() -> None:
    same = plan(base(allow("a.example")))
    found = verdict(same, same, never=["host=a.example"])
    assert not found.review.findings and found.refused


def test_a_type_that_leaves_no_trace_in_the_surface_is_refused_too() -> None:
    kit = "capabilities:\n  - type: com.docker.sandbox/long-running@1\n"
    assert verdict(plan(base(kit)), never=["type=com.docker.sandbox/long-running"]).refused
    assert not verdict(plan(base(kit)), never=["type=com.docker.sandbox/long-running@2"]).refused


def test_a_tick_rule_makes_a_finding_need_its_own_answer() -> None:
    found = verdict(plan(base(allow("a.example"))), tick=["category=network"])
    (finding,) = found.review.findings
    assert finding.weight is Weight.CRITICAL and finding.tick
    assert [(note.kind, note.finding) for note in found.notes] == [(RuleKind.TICK, finding.key)]


def test_an_expected_host_is_read_last_and_still_asked_about() -> None:
    kit = member("acme/gh:1", GH + allow("api.acme.example", "other.example"))
    found = verdict(plan(base(), kit), expected=["demo.invalid/acme=acme.example"])
    plain = locks.review("team", None, plan(base(), kit))
    assert sorted(f.key for f in found.review.findings) == sorted(f.key for f in plain.findings)
    (note,) = found.notes
    assert note.kind is RuleKind.EXPECTED and "acme.example" in note.sentence
    assert found.review.findings[-1].key == note.finding
    assert not verdict(plan(base(), kit), expected=["demo.invalid/evil=acme.example"]).notes


@pytest.mark.parametrize("host", ["acme.example.evil.test", "evilacme.example", "*", "*.example"])
def test_nothing_outside_a_domain_is_expected_below_it(host: str) -> None:
    kit = member("acme/gh:1", GH + allow(host))
    assert not verdict(plan(base(), kit), expected=["demo.invalid/acme=acme.example"]).notes


def test_an_entry_the_host_policy_overrides_is_struck_out_with_the_rule_row_50() -> None:
    found = verdict(plan(base(allow("a.example", "*.b.example"))), host=["host=a.example", "host=x.b.example"])
    struck = {note.entry: note for note in found.notes}
    assert struck["a.example"].struck and "host=a.example" in struck["a.example"].sentence
    assert not struck["*.b.example"].struck and "x.b.example" in struck["*.b.example"].sentence
    assert not found.refused


def test_the_host_policy_only_refuses_and_in_both_phases_row_110() -> None:
    made = host_refusals(policy(host=["host=*.example"]))
    assert made is not None
    (entry,) = made.entries()
    assert entry.config == {phase: {"deny": ["*.example", "**.example"]} for phase in ("install", "runtime")}
    assert host_refusals(policy(never=["host=a.example"])) is None


def test_a_host_without_a_port_is_any_port_and_says_so_row_53() -> None:
    (row,) = plan(base(allow("x.test"))).permissions
    assert "any port" in row.sentence
    (bound,) = plan(base(allow("x.test:443"))).permissions
    assert "any port" not in bound.sentence
    assert verdict(plan(base(allow("x.test"))), never=["host=x.test:9999"]).refused
    assert not verdict(plan(base(allow("x.test:443"))), never=["host=x.test:9999"]).refused


def test_deny_and_allow_of_one_host_survive_the_lock_and_removing_the_deny_widens_row_109() -> None:
    before = plan(base(allow("*.a.example", deny=("x.a.example",))))
    lock = locks.from_plan("team", before)
    again = locks.decode(locks.encode(lock))
    assert again == lock and locks.encode(again) == locks.encode(lock)
    found = locks.review("team", again, plan(base(allow("*.a.example"))))
    assert [finding.removed_refusal for finding in found.findings] == [True]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (RuleKind.NEVER, "nonsense"),
        (RuleKind.NEVER, "host="),
        (RuleKind.NEVER, "weight=critical"),
        (RuleKind.NEVER, "category=nothing"),
        (RuleKind.NEVER, "host=https://a.example/"),
        (RuleKind.HOST, "category=network"),
        (RuleKind.EXPECTED, "acme=acme.example"),
        (RuleKind.EXPECTED, "docker.io/acme=*.example"),
    ],
)
def test_what_is_no_rule_is_refused_not_ignored(kind: RuleKind, text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        parse(kind, text)


LABEL = st.sampled_from(["a", "b", "example", "test"])
HOST = st.lists(LABEL, min_size=1, max_size=3).map(".".join)
PATTERN = st.one_of(HOST, HOST.map(lambda name: f"*.{name}"), HOST.map(lambda name: f"**.{name}"), st.just("*"))


@given(PATTERN, PATTERN)
def test_two_patterns_meet_the_same_way_round(one: str, other: str) -> None:
    assert hosts_meet(one, other) == hosts_meet(other, one)


@given(PATTERN, HOST)
def test_a_rule_is_never_narrower_than_its_pattern(rule: str, host: str) -> None:
    stem = rule.lstrip("*")
    reached = rule == "*" or host == rule or (stem != rule and host.endswith(stem))
    assert not reached or hosts_meet(rule, host)


@given(st.lists(PATTERN, min_size=1, max_size=3, unique=True), st.sampled_from(["never", "tick", "expected", "host"]))
def test_no_rule_takes_a_finding_away_or_makes_it_lighter(hosts: list[str], kind: str) -> None:
    after = plan(base(allow(*(f"{host}" for host in hosts))))
    text = "demo.invalid/x=example" if kind == "expected" else f"host={hosts[0]}"
    plain = {f.key: f for f in locks.review("team", None, after).findings}
    found = verdict(after, **{kind: [text]}).review
    assert {f.key for f in found.findings} == set(plain)
    assert all(f.weight >= plain[f.key].weight and f.widenings == plain[f.key].widenings for f in found.findings)
    assert found.needs_answer


@pytest.mark.parametrize(
    "rule",
    ["host=a..example", "host=.", "host=:443", "host=a.example:99999", "host=http:", "host=1.2.3",
     "type=*", "type=/", "type=Com.Docker/x@1", "type=com.docker.sandbox/port@x"],
)  # fmt: skip
def test_a_rule_that_nothing_could_meet_is_refused_where_it_is_written(rule: str) -> None:
    with pytest.raises(ValueError, match="must name a"):
        parse(RuleKind.NEVER, rule)


@pytest.mark.parametrize("rule", ["type=privileged", "type=privileged@1", "type=com.docker.sandbox/privileged"])
def test_a_type_may_be_written_by_its_own_name_alone(rule: str) -> None:
    found = verdict(plan(base(PRIVILEGED)), never=[rule])
    assert found.refused and "com.docker.sandbox/privileged" in found.refused[0]


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "BÜCHER.example."),
        ("::1", "[::1]:80"),
        ("[0:0::1]:80", "::1"),
        ("127.0.0.1", "[::ffff:127.0.0.1]:80"),
        ("A.example.", "a.EXAMPLE"),
        ("*.example", "a*b.example:443"),
    ],
)
def test_a_rule_means_a_host_however_it_is_spelled(rule: str, asked: str) -> None:
    assert hosts_meet(rule, asked) and hosts_meet(asked, rule)


LABEL = st.sampled_from(["a", "b", "*", "**", "a*", "*b", "ü", "xn--tda"])
PATTERN = st.builds(
    lambda labels, port: ".".join(labels) + port,
    st.lists(LABEL, min_size=1, max_size=4),
    st.sampled_from(["", ":80", ":443"]),
)
HOST = st.lists(st.sampled_from(["a", "b", "ab", "ü", "xn--tda"]), min_size=1, max_size=4).map(".".join)


@given(PATTERN, PATTERN, HOST, st.sampled_from([80, 443]))
def test_two_patterns_meet_wherever_the_network_would_let_both_name_a_host(
    one: str, other: str, host: str, port: int
) -> None:
    target = read_host(host)
    if read_pattern(one).matches(target, port) and read_pattern(other).matches(target, port):
        assert hosts_meet(one, other)


@given(PATTERN)
def test_a_rule_about_a_host_is_one_the_network_can_enforce(pattern: str) -> None:
    for deny in policy(host=[f"host={pattern}"]).host_denies():
        read_pattern(deny)
