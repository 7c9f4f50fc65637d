"""Which services sets and sandboxes sign in to."""

from __future__ import annotations

import yaml

from kitstudio.models.lock import Lock
from kitstudio.models.surface import Surface
from kitstudio.services.credential_uses import CREDENTIAL, uses_in, wanted_services


def lock(name: str, *services: str) -> Lock:
    return Lock(name, (), Surface(credentials_runtime=services), "")


def test_services_are_listed_with_the_sets_that_ask_for_them() -> None:
    found = wanted_services([lock("b", "acme", "github"), lock("a", "acme"), lock("c")])
    assert [(each.service, each.sets) for each in found] == [("acme", ("a", "b")), ("github", ("b",))]


def test_how_a_service_is_used_is_read_from_the_effective_descriptor() -> None:
    key = {"name": "ACME_KEY", "inject": [{"domain": "api.acme.example"}]}
    entries = [
        {"type": CREDENTIAL, "config": {"service": "acme", "phase": ["install", "runtime"], "apiKey": key}},
        {
            "type": CREDENTIAL,
            "optional": True,
            "config": {"service": "login", "phase": "runtime", "oauth": {"resourceHosts": ["api.login.example"]}},
        },
        {"type": CREDENTIAL, "config": {"service": "only", "phase": "runtime", "apiKey": {"inject": key["inject"]}}},
        {"type": CREDENTIAL, "config": 3},
        {"type": "com.docker.sandbox/volume@1", "config": {"path": "/x"}},
    ]
    acme, login, only = uses_in(yaml.safe_dump({"capabilities": entries}))
    assert (acme.phases, acme.how, acme.hosts, acme.optional) == (
        ("install", "runtime"),
        ("variable",),
        ("api.acme.example",),
        False,
    )
    assert (login.how, login.optional, login.hosts) == (("tokens",), True, ("api.login.example",))
    assert only.how == ("key",)


def test_what_cannot_be_read_names_no_service() -> None:
    for text in ("", "[", "- 1", "capabilities: 3"):
        assert uses_in(text) == ()
