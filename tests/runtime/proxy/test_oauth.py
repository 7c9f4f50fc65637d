"""The token endpoint answered on the host: stand-ins go in, tokens stay, the provider sees the real ones."""

import asyncio
import json
from urllib.parse import parse_qs

import pytest

from kitstudio.models.descriptor import JsonValue
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.credential import CredentialPlan, Tokens, plan_credentials
from kitstudio.runtime.capabilities.credential_file import render_file
from kitstudio.runtime.policy import Phase
from kitstudio.runtime.proxy.credentials import CredentialPresenter
from kitstudio.runtime.proxy.oauth import Reply, answer
from tests.runtime.proxy.test_inspection import rule, site
from tests.runtime.runtime_sets import approve, capability

SENTINELS = {"accessToken": "stand-in-a", "refreshToken": "stand-in-r"}


def plan(**oauth: JsonValue) -> CredentialPlan:
    config: dict[str, JsonValue] = {
        "tokenEndpoint": {"host": "auth.test", "path": "/token"},
        "resourceHosts": ["api.test"],
        "sentinels": SENTINELS,
        **oauth,
    }
    entry = capability("credential@1", {"service": "acme", "phase": "runtime", "oauth": config})
    return plan_credentials(approve({"kit:1": [entry]}), ["acme"], "box")[0][0]


class Provider:
    """The real endpoint."""

    def __init__(self, status: int = 200, **document: object) -> None:
        self.status, self.document = status, document
        self.asked: list[bytes] = []

    async def __call__(self, content_type: str, body: bytes) -> tuple[int, bytes]:
        self.asked.append(body)
        return self.status, json.dumps(self.document).encode()


async def refreshed(
    provider: Provider,
    tokens: Tokens,
    body: bytes = b"grant_type=refresh_token&refresh_token=stand-in-r&client_id=c",
    **o: JsonValue,
) -> tuple[Reply, Tokens]:
    return await answer(plan(**o), tokens, "POST", "application/x-www-form-urlencoded", body, provider, lambda: 1000.0)


async def test_a_refresh_is_done_with_the_real_token_and_answered_with_stand_ins() -> None:
    provider = Provider(access_token="new-a", refresh_token="new-r", expires_in=600, id_token="who", scope="x y")
    reply, after = await refreshed(provider, Tokens("old-a", "old-r", 1010))
    assert parse_qs(provider.asked[0].decode()) == {
        "grant_type": ["refresh_token"],
        "refresh_token": ["old-r"],
        "client_id": ["c"],
    }
    assert after == Tokens("new-a", "new-r", 1600, ("x", "y"))
    assert reply == Reply(
        200,
        {
            "access_token": "stand-in-a",
            "token_type": "Bearer",
            "refresh_token": "stand-in-r",
            "expires_in": 600,
            "scope": "x y",
        },
    )


async def test_a_token_that_still_holds_is_not_refreshed() -> None:
    provider = Provider()
    reply, after = await refreshed(provider, Tokens("a", "r", 2000))
    assert provider.asked == [] and after == Tokens("a", "r", 2000) and reply.document["expires_in"] == 1000
    reply, _ = await refreshed(provider, Tokens("a"))
    assert provider.asked == [] and reply.status == 200 and "refresh_token" not in reply.document


async def test_json_bodies_and_the_provider_s_own_field_names() -> None:
    provider = Provider(accessToken="new-a", expiresIn=5)
    body = json.dumps({"grant_type": "authorization_code", "code": "c", "old": "stand-in-a", "n": 1}).encode()
    reply, after = await answer(
        plan(responseFields={"accessToken": "accessToken", "expiresIn": "expiresIn"}),
        Tokens("a", "r"),
        "POST",
        "application/json; charset=utf-8",
        body,
        provider,
        lambda: 1000.0,
    )
    assert json.loads(provider.asked[0])["old"] == "a"
    assert after == Tokens("new-a", "r", 1005) and reply.document["accessToken"] == "stand-in-a"


@pytest.mark.parametrize("status", [200, 400, 401, 503, 302])
async def test_of_a_refusal_only_the_error_words_pass(status: int) -> None:
    provider = Provider(status, error="invalid_grant", error_description="token old-r is no longer good", other="x")
    reply, after = await refreshed(provider, Tokens("old-a", "old-r", 1))
    assert after == Tokens("old-a", "old-r", 1)
    assert reply.status >= 400 and set(reply.document) == {"error"} and b"old-r" not in reply.body


async def test_what_is_no_request_for_a_token_never_reaches_the_provider() -> None:
    provider = Provider()
    for method, kind, body in (
        ("GET", "", b""),
        ("POST", "application/json", b"{"),
        ("POST", "application/json", b"[]"),
    ):
        reply, _ = await answer(plan(), Tokens("a", "r"), method, kind, body, provider)
        assert reply.status in (400, 405)
    assert provider.asked == []


async def test_the_endpoint_is_answered_without_a_policy_entry_and_nothing_else_there_is() -> None:
    async with site(rule("api.test")) as s:
        values = {"acme": Tokens("real-a", "real-r", 99_999_999_999).written()}
        s.proxy._presenter = CredentialPresenter([plan()], values)
        body = b"grant_type=refresh_token&refresh_token=stand-in-r"
        head = f"Host: auth.test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}"
        reader, writer = await s.open("auth.test")
        writer.write(f"POST /token HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
        assert b'"stand-in-a"' in await reader.readuntil(b"}")
        writer.write(b"GET /other HTTP/1.1\r\nHost: auth.test\r\n\r\n")
        assert b" 403 " in await reader.readuntil(b"\r\n")
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await s.open("auth.test", 8443, tls=False)
        answer_ = await s.ask("api.test", "GET /x HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer stand-in-a")
        assert answer_.endswith("ok") and "Bearer real-a" in s.heads[0] and "stand-in" not in s.heads[0]
        s.proxy.phase = Phase.INSTALL
        with pytest.raises(ConnectionRefusedError):
            await s.open("auth.test", tls=False)


async def test_a_provider_is_asked_from_the_host_and_its_new_token_is_kept() -> None:
    async with site(rule("api.test")) as s:
        told: list[str] = []
        values = {"acme": Tokens("old-a", "old-r", 1).written()}
        s.proxy._presenter = CredentialPresenter([plan(tokenEndpoint={"host": "api.test"})], values, told.append)

        async def grant(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            s.heads.append((await reader.readuntil(b"old-r")).decode())
            body = b'{"access_token": "new-a", "expires_in": 3600}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(grant, "127.0.0.1", 0, ssl=s.origin.context("api.test"))
        s.port = server.sockets[0].getsockname()[1]
        async with server:
            body = "grant_type=refresh_token&refresh_token=stand-in-r"
            reader, writer = await s.open("api.test")
            writer.write(f"POST /t HTTP/1.1\r\nHost: api.test\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            assert b"stand-in-a" in await asyncio.wait_for(reader.readuntil(b"}"), 10)
            writer.close()
        assert Tokens.read(values["acme"]).access == "new-a" and Tokens.read(values["acme"]).refresh == "old-r"
        assert told == ["acme"] and "refresh_token=old-r" in s.heads[0]


def test_the_file_is_rendered_with_stand_ins_in_native_types() -> None:
    structure: JsonValue = {
        "oauth": {"a": "{{.AccessToken}}", "r": "{{.RefreshToken}}", "at": "{{.ExpiresAt}}", "s": "{{.Scopes}}"},
        "key": "{{.PrimaryApiKey}}",
        "text": "Bearer {{.AccessToken}}",
        "none": None,
    }
    made = plan(credentialFile={"path": "~/.acme/auth.json", "structure": structure})
    file = render_file(made, Tokens("real-a", "real-r", 99, ("x",)).written(), "/home/agent")
    assert file is not None and file.path == "/home/agent/.acme/auth.json" and "real" not in file.content
    assert json.loads(file.content) == {
        "oauth": {"a": "stand-in-a", "r": "stand-in-r", "at": 99, "s": ["x"]},
        "text": "Bearer stand-in-a",
        "none": None,
    }
    toml = plan(
        credentialFile={"path": "/etc/acme.toml", "format": "toml", "structure": {"t": {"a": "{{.ExpiresAt}}"}}}
    )
    rendered = render_file(toml, Tokens("a", "", 7, (), "k").written(), "/home/agent")
    assert rendered is not None and rendered.content == "[t]\na = 7\n"
    unknown = plan(credentialFile={"path": "/x", "structure": {"a": "{{.Nope}}"}})
    with pytest.raises(SandboxError, match="stands for nothing"):
        render_file(unknown, "a", "/home/agent")
    assert render_file(plan(), "a", "/home/agent") is None
