"""credential@1: the plan, and how a secret is presented."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.descriptor import Capability, JsonValue
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.credential import (
    CredentialPlan,
    Tokens,
    check_secret,
    plan_credentials,
    variables,
    wanted_services,
)
from kitstudio.runtime.policy import Phase
from kitstudio.runtime.proxy.credentials import CredentialPresenter
from kitstudio.runtime.proxy.request import Unacceptable
from tests.runtime.runtime_sets import approve, capability


def entry(phase: JsonValue = "runtime", *, optional: bool = False, **parts: JsonValue) -> Capability:
    return capability("credential@1", {"service": "acme", "phase": phase, **parts}, optional=optional)


def plans(*entries: Capability, bound: tuple[str, ...] = ("acme",)) -> tuple[CredentialPlan, ...]:
    return plan_credentials(approve({"kit:1": entries}), bound, "box")[0]


def sent(entry_: Capability, secret: str, host: str = "api.test", **headers: str) -> dict[str, str]:
    presenter = CredentialPresenter(plans(entry_), {"acme": secret})
    stated = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    found = presenter.present(Phase.RUNTIME, host, 443, stated, secure=True)
    names = [name.lower() for name, _ in found]
    assert len(names) == len(set(names))
    return {name.decode(): value.decode() for name, value in found}


@pytest.mark.parametrize(
    ("rule", "header", "value"),
    [
        ({}, "Authorization", "Bearer k"),
        ({"header": "X-Key"}, "X-Key", "k"),
        ({"header": "X-Key", "format": "token=%s;"}, "X-Key", "token=k;"),
        ({"header": "authorization"}, "authorization", "Bearer k"),
        ({"format": "token %s"}, "Authorization", "token k"),
        ({"scheme": "basic", "username": "u"}, "Authorization", "Basic " + base64.b64encode(b"u:k").decode()),
        ({"username": "u"}, "Authorization", "Basic " + base64.b64encode(b"u:k").decode()),
    ],
)
def test_a_key_is_presented_as_its_rule_says(rule: dict[str, JsonValue], header: str, value: str) -> None:
    made = entry(apiKey={"inject": [{"domain": "api.test", **rule}]})
    assert sent(made, "k", Accept="x") == {"Accept": "x", header: value}
    assert sent(made, "k", **{header: "mine"}) == {header: value}
    assert sent(made, "k", host="other.test", Accept="x") == {"Accept": "x"}


def test_bearer_tokens_go_to_resource_hosts_only() -> None:
    made = entry(oauth={"resourceHosts": ["api.test"], "sentinels": {"accessToken": "stand-in"}})
    tokens = Tokens("real", "again").written()
    assert sent(made, tokens) == {"Authorization": "Bearer real"}
    assert sent(made, tokens, x_api_key="stand-in") == {"x-api-key": "real"}
    assert sent(made, tokens, host="other.test", x_api_key="stand-in") == {"x-api-key": "stand-in"}


def test_nothing_is_sent_without_encryption_but_to_this_computer_itself() -> None:
    rules = [{"domain": "api.test"}, {"domain": "localhost:80"}]
    presenter = CredentialPresenter(plans(entry(apiKey={"inject": rules})), {"acme": "k"})
    with pytest.raises(Unacceptable, match="without encryption"):
        presenter.present(Phase.RUNTIME, "api.test", 80, [], secure=False)
    assert presenter.present(Phase.RUNTIME, "localhost", 80, [], secure=False) == [(b"Authorization", b"Bearer k")]


def test_phases_bound_variables_and_looks() -> None:
    made = plans(entry("install", apiKey={"name": "K", "proxyManaged": True, "inject": [{"domain": "api.test"}]}))
    presenter = CredentialPresenter(made, {"acme": "k"})
    assert presenter.covers(Phase.INSTALL, "api.test", 443)
    assert not presenter.covers(Phase.RUNTIME, "api.test", 443)
    assert not presenter.covers(Phase.CLOSED, "api.test", 443)
    assert list(variables(made, {"acme": "k"}, Phase.INSTALL)) == ["K"]
    assert variables(made, {"acme": "k"}, Phase.INSTALL)["K"] not in ("", "k")
    assert variables(made, {"acme": "k"}, Phase.RUNTIME) == {}
    handed = plans(entry(apiKey={"name": "K"}))
    assert variables(handed, {"acme": "k"}, Phase.RUNTIME) == {"K": "k"}
    assert variables(plans(entry(apiKey={"inject": [{"domain": "a.test"}]})), {"acme": "k"}, Phase.RUNTIME) == {}


@pytest.mark.parametrize(
    ("parts", "bound", "why"),
    [
        ({"apiKey": {"name": "K"}}, (), "no secret is bound"),
        ({"oauth": {"passthrough": True}}, ("acme",), "handed into the sandbox"),
        ({"apiKey": {"inject": [{"domain": "a", "scheme": "digest"}]}}, ("acme",), "scheme 'digest'"),
        ({"apiKey": {"inject": [{"domain": "a", "header": "X Y"}]}}, ("acme",), "no header's name"),
        ({"apiKey": {"inject": [{"domain": "a", "format": "a\r\nX: %s"}]}}, ("acme",), "no header can carry"),
    ],
)
def test_what_cannot_be_wired_refuses_or_is_skipped(
    parts: dict[str, JsonValue], bound: tuple[str, ...], why: str
) -> None:
    with pytest.raises(SandboxError, match=why):
        plans(entry(**parts), bound=bound)
    found, skipped = plan_credentials(approve({"kit:1": [entry(optional=True, **parts)]}), bound, "box")
    assert found == () and why in skipped[0]


@given(st.text(max_size=30))
def test_no_secret_that_would_break_a_header_is_taken(secret: str) -> None:
    try:
        check_secret(secret)
    except ValueError:
        return
    assert sent(entry(apiKey={"inject": [{"domain": "api.test"}]}), secret)["Authorization"].isprintable()


def test_the_services_of_a_set_are_named_once() -> None:
    both = approve({"kit:1": [entry("install", apiKey={"name": "A"}), entry("runtime", apiKey={"name": "A"})]})
    assert wanted_services(both) == ("acme",)
