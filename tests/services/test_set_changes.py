"""Entries that a refusal suggests, and the set of a sandbox as it was approved."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models import set_file
from kitstudio.models.surface import diff_widenings, project
from kitstudio.runtime.backend import Decision
from kitstudio.services.set_changes import propose

EMPTY = 'schemaVersion: "3"\nkind: set  # ours\nkits:\n- ref: a.example/x:1\n'
REFUSED = Decision(1.0, "runtime", "up.example", 443, "refused", reason="no entry names up.example:443")
BOUNDED = replace(
    REFUSED, kit="hub.example/gh:2", path="capabilities[0].config.runtime.allow[0]", method="PUT", url_path="/a/b?x=1",
    reason="no entry allows PUT /a/b",
)  # fmt: skip


def test_the_exact_host_and_port_are_proposed_for_the_phase_that_was_refused() -> None:
    found, _ = propose(REFUSED)
    assert found is not None and found.text == "up.example:443"
    assert found.config == {"runtime": {"allow": ["up.example:443"]}}


def test_a_bounded_host_gets_one_method_and_one_path() -> None:
    found, _ = propose(BOUNDED)
    assert found is not None and found.text == "PUT up.example:443/a/b"
    assert found.config == {
        "runtime": {"allow": [{"hosts": ["up.example:443"], "methods": ["PUT"], "paths": ["/a/b"]}]}
    }


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (replace(BOUNDED, path="capabilities[0].config.runtime.deny[0]", reason="denied by x"), "refusal is stronger"),
        (replace(REFUSED, phase="closed"), "closed in this phase"),
        (replace(REFUSED, host="*.example"), "no host name"),
        (replace(REFUSED, host="10.0.0.1\u202e"), "no host name"),
        (replace(REFUSED, host="ssh-agent", port=0), "no host name"),
        (replace(REFUSED, reason="it is a private address"), "not refused for want"),
        (replace(BOUNDED, method=None), "method and path"),
        (replace(BOUNDED, url_path="/a/**"), "method and path"),
    ],
)
def test_where_no_entry_helps_it_is_said_why(decision: Decision, why: str) -> None:
    found, said = propose(decision)
    assert found is None and why in said


@pytest.mark.parametrize("decision", [REFUSED, BOUNDED])
@pytest.mark.parametrize("text", [EMPTY, EMPTY + "capabilities:\n- type: com.docker.sandbox/privileged@1\n"])
def test_the_set_asks_for_that_and_nothing_else_and_keeps_its_text(decision: Decision, text: str) -> None:
    found, _ = propose(decision)
    assert found is not None
    made = set_file.add_capability(text, found.type, found.config)
    assert made.startswith(text)
    before, after = set_file.parse(text).descriptor, set_file.parse(made).descriptor
    wider = diff_widenings(project(before), project(after))
    assert len(wider) == 1 and "up.example" in wider[0].detail


@given(st.text(max_size=40), st.integers(-5, 70_000), st.text(max_size=40), st.text(max_size=8))
def test_nothing_a_guest_asks_for_makes_a_pattern(host: str, port: int, path: str, method: str) -> None:
    for decision in (replace(REFUSED, host=host, port=port), replace(BOUNDED, method=method, url_path=path)):
        found, why = propose(decision)
        assert (found is None) == bool(why)
        assert found is None or "*" not in found.text
