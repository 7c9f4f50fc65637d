"""Signing in to a service in the browser, against a provider on this computer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest

from kitstudio.registry.transport import Network
from kitstudio.services.oauth_sign_in import OAuthError, Provider, authorization_address, read_token_file, sign_in
from tests.registry.servers import Answer, Authority, Double, Request, run_double

Visitor = Callable[[str], Awaitable[bytes]]


async def visit(address: str, *, method: str = "GET", host: str = "") -> bytes:
    """What a browser does with an address of this computer; the whole answer."""
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: {host or parts.netloc}\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


def asked(address: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address).query))


def back(address: str, **fields: str) -> str:
    """Where the provider sends the browser."""
    ours = asked(address)
    return f"{ours['redirect_uri']}?{urlencode({'state': ours['state'], **fields})}"


def provider(double: Double, scheme: str = "http", **fields: object) -> Provider:
    base = f"{scheme}://{double.host}"
    return Provider(f"{base}/authorize?audience=x", f"{base}/token", "client", **fields)  # type: ignore[arg-type]


def tokens(**fields: object) -> Callable[[Request], Answer]:
    body = json.dumps({"access_token": "acc-1", "token_type": "Bearer", **fields}).encode()
    return lambda request: Answer(200, body, {"Content-Type": "application/json"})


async def test_the_code_is_exchanged_with_the_verifier_of_this_run_over_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with run_double(authority.server()) as double:
        double.answer = tokens(refresh_token="ref-1", expires_in=60, scope="read write")
        seen: list[str] = []

        async def browser(address: str) -> bool:
            seen.append(address)
            page = await visit(back(address, code="the-code"))
            assert page.startswith(b"HTTP/1.1 200") and b"no-store" in page and b"the-code" not in page
            return True

        network = Network(ca_files=(authority.path,))
        kept = json.loads(await sign_in(provider(double, "https", scopes=("read", "write")), browser, network))
    assert kept["accessToken"] == "acc-1" and kept["refreshToken"] == "ref-1" and kept["scopes"] == ["read", "write"]
    assert kept["expiresAt"] > 1_700_000_000
    ours = asked(seen[0])
    form = {name: values[0] for name, values in parse_qs(double.requests[0].body.decode()).items()}
    challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
    assert (ours["code_challenge"], ours["code_challenge_method"]) == (challenge, "S256")
    assert form["code"] == "the-code" and form["redirect_uri"] == ours["redirect_uri"] and form["client_id"] == "client"
    assert (
        ours["redirect_uri"].startswith("http://127.0.0.1:") and ours["audience"] == "x" and "client_secret" not in form
    )


async def test_who_comes_with_another_state_is_turned_away_and_the_wait_goes_on() -> None:
    with run_double() as double:
        double.answer = tokens()

        async def browser(address: str) -> bool:
            right = back(address, code="the-code")
            root = asked(address)["redirect_uri"]
            wrong = [
                visit(f"{root}?state=guess&code=evil"),
                visit(f"{root}?code=evil"),
                visit(f"{root}?state=guess&error=access_denied"),
                visit(f"{right}&code=evil"),
                visit(right, method="POST"),
                visit(right, host="attacker.example"),
                visit(right.replace("/callback", "/other")),
            ]
            for answer in await asyncio.gather(*wrong):
                assert answer.split(b" ")[1] in (b"400", b"404")
            await visit(right)
            return True

        assert json.loads(await sign_in(provider(double), browser, Network()))["accessToken"] == "acc-1"
    assert len(double.requests) == 1 and b"evil" not in double.requests[0].body


async def test_a_refusal_of_the_service_ends_it_in_plain_words() -> None:
    with run_double() as double:

        async def browser(address: str) -> bool:
            await visit(back(address, error="access_denied<script>"))
            return True

        with pytest.raises(OAuthError, match="access_deniedscript"):
            await sign_in(provider(double), browser, Network())
    assert double.requests == []


async def test_nobody_comes_back_and_no_browser_opens() -> None:
    with run_double() as double:

        async def idle(address: str) -> bool:
            return True

        async def none(address: str) -> bool:
            return False

        with pytest.raises(OAuthError, match="Nobody came back"):
            await sign_in(provider(double), idle, Network(), seconds=0.01)
        with pytest.raises(OAuthError, match="No browser"):
            await sign_in(provider(double), none, Network())


async def test_cancelling_closes_the_port() -> None:
    opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def browser(address: str) -> bool:
        opened.set_result(asked(address)["redirect_uri"])
        return True

    with run_double() as double:
        task = asyncio.create_task(sign_in(provider(double), browser, Network()))
        redirect = await opened
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with pytest.raises(OSError):
            await visit(redirect)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(400, b'{"error": "invalid_grant", "error_description": "the-code"}'), "invalid_grant"),
        (Answer(302, b"", {"Location": "http://127.0.0.1:1/"}), "status 302"),
        (Answer(200, b"[" * 100_000), "no token"),
        (Answer(200, b'{"token_type": "bearer"}'), "no token"),
        (Answer(200, b'{"access_token": "a", "token_type": "mac"}'), "kind"),
        (Answer(200, b'{"access_token": "a\\nb"}'), "cannot be kept"),
        (Answer(200, b" " * 2_000_000), "too large"),
    ],
)
async def test_an_answer_that_is_no_token_is_told_without_the_code(answer: Answer, says: str) -> None:
    with run_double() as double:
        double.answer = lambda request: answer

        async def browser(address: str) -> bool:
            await visit(back(address, code="the-code"))
            return True

        with pytest.raises(OAuthError, match=says) as caught:
            await sign_in(provider(double), browser, Network())
    assert "the-code" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        Provider("http://login.example/a", "https://login.example/t", "c"),
        Provider("https://login.example/a", "ftp://login.example/t", "c"),
        Provider("https://me:secret@login.example/a", "https://login.example/t", "c"),
        Provider("https://login.example/a#x", "https://login.example/t", "c"),
        Provider("https://login.example/a", "https://login.example:99999/t", "c"),
        Provider("https://login.example/a", "https://login.example/t", " "),
    ],
)
async def test_an_address_that_would_leave_unencrypted_is_refused_before_a_browser_opens(wrong: Provider) -> None:
    async def browser(address: str) -> bool:
        raise AssertionError

    with pytest.raises(OAuthError) as caught:
        await sign_in(wrong, browser, Network())
    assert "secret" not in str(caught.value)


def test_the_providers_own_parameters_cannot_replace_ours() -> None:
    odd = Provider("https://login.example/a?state=theirs&tenant=t", "https://login.example/t", "c")
    found = parse_qs(urlsplit(authorization_address(odd, "http://127.0.0.1:1/callback", "ours", "v")).query)
    assert found["state"] == ["ours"] and found["tenant"] == ["t"]


@pytest.mark.parametrize(
    ("document", "kept"),
    [
        ({"accessToken": "a", "refreshToken": "r", "expiresAt": 1_800_000_000_000}, ("a", "r", 1_800_000_000)),
        ({"acme": {"access_token": "a", "expires_at": 1_800_000_000}}, ("a", "", 1_800_000_000)),
        ({"other": 1, "login": {"accessToken": "a", "scopes": ["x"]}}, ("a", "", 0)),
    ],
)
async def test_a_token_file_is_read(tmp_path: Path, document: object, kept: tuple[str, str, int]) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps(document))
    found = json.loads(await read_token_file(file))
    assert (found["accessToken"], found.get("refreshToken", ""), found.get("expiresAt", 0)) == kept


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"accessToken": 1}', b'{"a": {"b": {"accessToken": "x"}}}'])
async def test_a_file_without_tokens_is_refused_and_not_repeated(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "tokens.json"
    file.write_bytes(content)
    with pytest.raises(OAuthError, match="No tokens"):
        await read_token_file(file)


async def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path("/dev/zero")):
        with pytest.raises(OAuthError):
            await read_token_file(path)
    large = tmp_path / "large"
    large.write_bytes(b"x" * 70_000)
    with pytest.raises(OAuthError, match="larger"):
        await read_token_file(large)
