"""The review: findings with attribution, what narrowed, what is not counted, the title."""

from __future__ import annotations

from hypothesis import given

from kitstudio.models import lock as locks
from kitstudio.models.changes import judge, kit_side
from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.models.lock import Lock
from kitstudio.models.plan import Member, Plan
from kitstudio.models.review import Review
from kitstudio.models.surface import diff_widenings, project_entries
from kitstudio.models.weights import Weight
from tests.models.configs import REQUESTS
from tests.models.sets import allow, base, member, plan


def granted(*members: Member) -> Lock:
    return locks.from_plan("team", plan(*members))


def review(before: Lock | None, after: Plan) -> Review:
    assert after.coherent, after.problems
    return locks.review("team", before, after)


GH = "requires: [base]\n"


def test_the_first_grant_lists_everything_and_says_so() -> None:
    found = review(None, plan(base(allow("a.example", deny=("m.example",)))))
    assert found.first_grant and found.title == "team asks for its first approval"
    assert [f.key for f in found.findings] == ["network.runtime.allow:a.example"]
    assert found.narrowed == () and found.unchanged == ()


def test_the_same_set_again_asks_for_nothing_more() -> None:
    found = review(granted(base(allow("a.example"))), plan(base(allow("a.example"))))
    assert not found.widens and len(found.unchanged) == 1
    assert found.title == "team asks for no more than you approved"


def test_the_title_is_the_fact_about_one_kit() -> None:
    before = granted(base(), member("gh:2.72.0", GH + allow("a.example")))
    more = review(before, plan(base(), member("gh:2.73.0", GH + allow("a.example", "b.example"))))
    assert more.title == "gh 2.73.0 asks for more than you approved for 2.72.0"
    same = review(before, plan(base(), member("gh:2.73.0", GH + allow("a.example"))))
    assert same.title == "gh 2.73.0 asks for no more than you approved for 2.72.0"


def test_an_unbounded_host_and_its_requests_are_one_finding() -> None:
    before = granted(base(), member("gh:1", GH))
    found = review(before, plan(base(), member("gh:2", GH + allow("b.example"))))
    assert [(f.key, len(f.widenings)) for f in found.findings] == [("network.runtime.allow:b.example", 1)]
    assert found.findings[0].weight is Weight.NOTICE


def test_a_removed_refusal_is_a_serious_finding_of_its_own() -> None:
    before = granted(base(), member("gh:1", GH + allow("a.example", deny=("m.example:80",))))
    found = review(before, plan(base(), member("gh:2", GH + allow("a.example"))))
    (finding,) = found.findings
    assert finding.removed_refusal and finding.weight is Weight.SERIOUS
    assert finding.permission.entry == "deny m.example:80"
    assert finding.permission.sentence.startswith("No longer refuses m.example on port 80.")
    assert [asker.kit for asker in finding.permission.askers] == ["demo.invalid/gh:1"]


def test_a_new_refusal_narrows() -> None:
    before = granted(base(allow("a.example")))
    found = review(before, plan(base(allow("a.example", deny=("m.example",)))))
    assert not found.widens
    assert [row.entry for row in found.narrowed] == ["deny m.example"]


def test_a_kit_that_asks_for_what_another_has_is_still_told() -> None:
    before = granted(base(allow("a.example")), member("gh:1", GH))
    found = review(before, plan(base(allow("a.example")), member("gh:2", GH + allow("a.example"))))
    (finding,) = found.findings
    assert "Another Kit of this set may already do so." in finding.permission.sentence


def test_a_new_kit_is_judged_against_nothing() -> None:
    before = granted(base(allow("a.example")))
    found = review(before, plan(base(allow("a.example")), member("gh:1", GH + allow("c.example"))))
    assert [f.key for f in found.findings] == ["network.runtime.allow:c.example"]
    assert found.title == "gh 1 is new in team and asks for more than you approved"


def test_a_kit_that_left_is_narrower_except_for_its_refusals() -> None:
    before = granted(base(), member("gh:1", GH + allow("a.example", deny=("m.example",))))
    found = review(before, plan(base()))
    assert [f.removed_refusal for f in found.findings] == [True]
    assert [row.sentence for row in found.narrowed] == ["No longer connects to a.example on any port for any purpose."]


def test_critical_findings_come_first_with_their_own_tick() -> None:
    ask = (
        "capabilities:\n- type: com.docker.sandbox/network-policy@1\n"
        "  config: {runtime: {allow: [a.example, '*.b.example']}}\n"
        "- {type: com.docker.sandbox/privileged@1}\n- {type: com.docker.sandbox/host-mount@1, config: {path: /m}}\n"
        "- {type: com.acme/x@1, config: {a: 1}}\n- {type: com.docker.sandbox/ssh-agent@1, config: {phase: runtime}}\n"
    )
    found = review(None, plan(base(ask)))
    assert [f.weight for f in found.findings] == [Weight.CRITICAL] * 4 + [Weight.SERIOUS, Weight.INFO]
    assert [str(f.permission.group) for f in found.findings[:4]] == [
        "SSH agent",
        "host files",
        "privileged",
        "services",
    ]
    assert all(bool(f.tick) == (f.weight is Weight.CRITICAL) for f in found.findings)
    assert all(f.tick.startswith("I accept that ") for f in found.findings[:4])
    assert list(found.counts()) == [Weight.CRITICAL, Weight.SERIOUS, Weight.INFO]


def test_what_is_not_counted_is_told_and_needs_no_approval() -> None:
    def text(hook: str, passthrough: str, size: str) -> str:
        return (
            GH + "capabilities:\n"
            f"- {{type: com.docker.sandbox/lifecycle@1, config: {{startup: [{{command: '{hook}', user: root}}]}}}}\n"
            "- type: com.docker.sandbox/credential@1\n"
            f"  config: {{service: gh, phase: runtime, oauth: {{passthrough: {passthrough}}}}}\n"
            f"- {{type: com.docker.sandbox/volume@1, config: {{path: /d, size: {size}}}}}\n"
        )

    before = granted(base(), member("gh:1", text("a", "false", "1g")))
    found = review(before, plan(base(), member("gh:2", text("b", "true", "2g"))))
    assert not found.widens
    told = {u.sentence: u.weight for u in found.uncounted}
    assert told == {
        "Changed: Runs “b” as root at every start.": Weight.NOTICE,
        "New: Receives the real token of gh inside the sandbox.": Weight.SERIOUS,
        "Changed: Keeps /d on disk with 2g.": Weight.INFO,
    }


def test_notes_hold_no_secret_an_input_brings() -> None:
    text = (
        "args: {token: {required: true}}\ncapabilities:\n"
        "- {type: com.docker.sandbox/lifecycle@1, config: {install: [{command: 'login ${{ kit.args.token }}'}]}}\n"
    )
    secret = {("demo.invalid/base:1.0.0", "token"): "hunter2"}
    made = plan(base(text), secrets=secret)
    assert made.effective is not None and "hunter2" in repr(made.effective)
    assert "hunter2" not in repr(review(None, made)) and "hunter2" not in locks.encode(locks.from_plan("team", made))


def described(entries: list[Capability]) -> Descriptor:
    return Descriptor("3", "mixin", capabilities=tuple(entries))


@given(REQUESTS, REQUESTS)
def test_every_widening_is_carried_by_exactly_the_findings(old: list[Capability], new: list[Capability]) -> None:
    found = judge("gh", kit_side("x/gh:1", described(old)), kit_side("x/gh:2", described(new)))
    carried = {widening for finding in found.findings for widening in finding.widenings}
    assert carried == set(diff_widenings(project_entries(old), project_entries(new)))
    assert all(finding.widenings for finding in found.findings)


@given(REQUESTS)
def test_a_kit_against_itself_is_unchanged(entries: list[Capability]) -> None:
    side = kit_side("x/gh:1", described(entries))
    found = judge("gh", side, side)
    assert (found.findings, found.narrowed, found.uncounted) == ((), (), ())


def test_an_entry_that_moves_to_another_kit_is_told_as_moved() -> None:
    before = granted(base(), member("a:1", GH + allow("x.example", "y.example")), member("b:1", GH))
    found = review(before, plan(base(), member("a:2", GH + allow("y.example")), member("b:2", GH + allow("x.example"))))
    (only,) = found.findings
    assert only.moved_from == ("demo.invalid/a:1",) and only.permission.askers[0].kit == "demo.invalid/b:2"
    assert only.permission.sentence.endswith("Moved here from a 1: the set as a whole asks for no more.")


def test_an_entry_another_kit_still_has_is_not_told_as_moved() -> None:
    before = granted(base(), member("a:1", GH + allow("x.example")), member("b:1", GH))
    found = review(before, plan(base(), member("a:1", GH + allow("x.example")), member("b:2", GH + allow("x.example"))))
    assert found.findings[0].moved_from == ()


def test_an_entry_that_moves_and_widens_is_not_told_as_moved() -> None:
    before = granted(base(), member("a:1", GH + allow("x.example:443")), member("b:1", GH))
    found = review(before, plan(base(), member("a:2", GH), member("b:2", GH + allow("x.example"))))
    assert found.findings[0].moved_from == ()


def test_an_entry_is_known_by_the_widest_of_its_hosts_not_by_the_first() -> None:
    text = (
        "capabilities:\n- type: com.docker.sandbox/network-policy@2\n"
        "  config: {runtime: {allow: [{hosts: [a.example, '*', '**']}]}}\n"
    )
    (finding,) = review(None, plan(base(text))).findings
    assert finding.weight is Weight.CRITICAL
    assert finding.keys == ("network.runtime.allow:*", "network.runtime.allow:**") and finding.key == finding.keys[0]
    assert len(finding.widenings) == 3


def test_a_tag_that_stands_for_another_digest_is_told_though_it_asks_for_no_more() -> None:
    before, after = (base(allow("a.example"), digest=f"sha256:{mark * 64}") for mark in "ab")
    found = review(granted(before), plan(after))
    (told,) = found.uncounted
    assert not found.needs_answer and told.weight is Weight.SERIOUS
    assert "its tag stands for another digest now" in told.sentence and told.entry.endswith("b" * 64)
    other = base(allow("a.example"), "base:1.0.1", digest=f"sha256:{'b' * 64}")
    assert not review(granted(before), plan(other)).uncounted
