"""The lock: deterministic, strict, without secrets; the gate and recreation."""

from __future__ import annotations

import json

import pytest

from kitstudio.models import lock as locks
from kitstudio.models.errors import DescriptorError
from kitstudio.models.lock import Answer
from kitstudio.models.plan import Plan
from tests.models.sets import allow, base, member, plan

SECRET = {("demo.invalid/base:1.0.0", "token"): "hunter2"}
WITH_TOKEN = "args: {token: {required: true, env: TOKEN}, team: {default: alpha}}\n" + allow("a.example")


def made(**stated: object) -> Plan:
    return plan(base(WITH_TOKEN), member("gh", "requires: [base]\n"), secrets=SECRET, **stated)


def test_a_lock_reads_back_and_is_the_same_bytes_each_time() -> None:
    lock = locks.from_plan("team", made())
    text = locks.encode(lock)
    assert locks.decode(text) == lock
    assert locks.encode(locks.decode(text)) == text == locks.encode(locks.from_plan("team", made()))


def test_it_lists_kits_in_composition_order_with_args_but_no_secret() -> None:
    text = locks.encode(locks.from_plan("team", made()))
    document = json.loads(text)
    assert [kit["reference"] for kit in document["kits"]] == ["demo.invalid/base:1.0.0", "demo.invalid/gh:1.0.0"]
    assert document["kits"][0]["args"] == {"team": "alpha", "token": {"secret": True}}
    assert "hunter2" not in text


def test_another_secret_is_the_same_lock() -> None:
    other = plan(base(WITH_TOKEN), member("gh", "requires: [base]\n"), secrets={next(iter(SECRET)): "correct horse"})
    assert locks.encode(locks.from_plan("team", other)) == locks.encode(locks.from_plan("team", made()))


def test_an_input_marked_as_secret_is_one_whatever_its_name() -> None:
    secret = {**SECRET, ("demo.invalid/base:1.0.0", "team"): "beta"}
    lock = locks.from_plan("team", plan(base(WITH_TOKEN), secrets=secret))
    assert lock.kits[0].args == {"team": None, "token": None}


def test_a_kits_input_answered_by_a_secret_of_the_set_is_secret() -> None:
    inner = base("args: {key: {required: true}}\n", args={"key": "${{ kit.args.password }}"})
    lock = locks.from_plan(
        "team", plan(inner, text="args: {password: {required: true}}", set_args={"password": "pw-1"})
    )
    assert lock.kits[0].args == {"key": None} and lock.set_args == {"password": None}
    assert "pw-1" not in locks.encode(lock)


def test_a_hook_is_shown_as_it_will_run_but_for_what_is_secret() -> None:
    hook = "{install: [{command: 'join ${{ kit.args.team }} ${{ kit.args.token }}'}]}"
    text = WITH_TOKEN + f"- type: com.docker.sandbox/lifecycle@1\n  config: {hook}\n"
    judged = plan(base(text, args={"team": "beta"}), secrets=SECRET)
    (note,) = [each for each in locks.review("team", None, judged).uncounted if "join" in each.sentence]
    assert "join beta ${{ kit.args.token }}" in note.sentence and "as root" in note.sentence
    assert "hunter2" not in locks.encode(locks.from_plan("team", judged))


def test_a_set_that_is_not_coherent_cannot_be_locked() -> None:
    with pytest.raises(DescriptorError):
        locks.from_plan("team", plan(member("gh", "requires: [base]\n")))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(extra=1),
        lambda d: d.update(version=2),
        lambda d: d.update(format="other"),
        lambda d: d["kits"][0].update(granted=True),
        lambda d: d["kits"][0].pop("digest"),
        lambda d: d["kits"][0]["args"].update(team=5),
        lambda d: d["surface"].update(everything=True),
        lambda d: d["selection"].update(x="yes"),
        lambda d: d.update(kits={}),
        lambda d: d.update(name="\ud800"),
        lambda d: d.update(answers=[{"key": "network.runtime.allow:\udfff", "answer": "approved"}]),
        lambda d: d.update(answers=[{"key": "network.runtime.allow:a.example", "answer": "granted by Kit Studio"}]),
        lambda d: d.update(answers=[{"key": "Nothing to see here", "answer": "approved"}]),
    ],
)
def test_anything_that_is_not_exactly_a_lock_is_refused(change: object) -> None:
    document = json.loads(locks.encode(locks.from_plan("team", made())))
    change(document)  # type: ignore[operator]
    with pytest.raises(DescriptorError):
        locks.decode(json.dumps(document))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "kitstudio lock", "format": "x"}', "[" * 100_000])
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(DescriptorError):
        locks.decode(text)


def test_recreation_needs_the_same_set() -> None:
    lock = locks.from_plan("team", made())
    assert locks.verify_recreate(lock, made()) == ()
    moved = plan(base(WITH_TOKEN, digest="sha256:" + "f" * 64), member("gh", "requires: [base]\n"), secrets=SECRET)
    assert "another digest" in locks.verify_recreate(lock, moved)[0]
    wider = plan(base(WITH_TOKEN.replace("a.example", "b.example")), member("gh", "requires: [base]\n"), secrets=SECRET)
    assert any("other permissions" in text for text in locks.verify_recreate(lock, wider))
    other = plan(base(WITH_TOKEN, args={"team": "beta"}), member("gh", "requires: [base]\n"), secrets=SECRET)
    assert locks.verify_recreate(lock, other)[0].endswith("other inputs: team")


def test_answers_do_not_make_a_difference() -> None:
    lock, key = locks.from_plan("team", made()), "network.runtime.allow:a.example"
    answered = locks.decode(
        locks.encode(lock).replace('"answers": []', f'"answers": [{{"key": "{key}", "answer": "approved"}}]')
    )
    assert answered.answers == (Answer(key, "approved"),)
    assert locks.differences(lock, answered) == ()


def test_the_gate_is_silent_within_what_was_granted() -> None:
    lock = locks.from_plan("team", made())
    assert locks.gate(lock, made()) == ()
    narrower = plan(base(WITH_TOKEN.replace("['a.example']", "[]")), member("gh", "requires: [base]\n"), secrets=SECRET)
    assert locks.gate(lock, narrower) == ()
    assert [w.category for w in locks.gate(None, made())] == ["network.runtime.allow"]
