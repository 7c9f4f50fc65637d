"""Limits and trouble: 429 in its forms, back-off with a clock of the test's own, few requests where few are enough."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading

import pytest

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.memory import RunMemory
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.session import Clock
from kitstudio.registry.source import Offline, RateLimited, Unreachable
from kitstudio.registry.threads import PER_HOST
from tests.registry.servers import Answer, Double, Request
from tests.registry.test_client import IMAGE, kit, serve


async def test_row_37_plain_text_and_bad_line_ends_are_a_countdown(double: Double, store: BlobStore) -> None:
    head = b"HTTP/1.1 429 Too Many Requests\nContent-Type: text/plain\nRetry-After: 60\nContent-Length: 10\n\n"
    double.answer = lambda request: Answer(raw=head + b"slow down\n")
    with pytest.raises(RateLimited) as refusal:
        await RegistrySource(double.host, store).artifact(kit(double))
    assert refusal.value.retry_after == 60
    assert "JSON" not in str(refusal.value)


async def test_row_38_limit_without_quota_headers_is_about_requests_from_here(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: Answer(429)
    with pytest.raises(RateLimited, match="too many requests from here") as refusal:
        await RegistrySource(double.host, store).artifact(kit(double))
    assert "quota" not in str(refusal.value)
    assert refusal.value.retry_after is None


async def test_while_a_stated_limit_runs_nothing_more_is_sent(double: Double, store: BlobStore) -> None:
    now = [100.0]
    double.answer = lambda request: Answer(429, b"", {"Retry-After": "60"})
    source = RegistrySource(double.host, store, clock=Clock(monotonic=lambda: now[0]))
    with pytest.raises(RateLimited):
        await source.tags("acme/kit")
    now[0] += 20
    with pytest.raises(RateLimited, match="too many") as refusal:
        await source.artifact(kit(double))
    assert refusal.value.retry_after == 40
    assert len(double.requests) == 1
    now[0] += 41
    double.answer = serve
    assert (await source.artifact(kit(double))).digest == IMAGE.digest


async def test_sign_in_ends_a_limit_and_the_tokens_of_who_asked_before(double: Double, store: BlobStore) -> None:
    double.answer = lambda request: Answer(429, b"", {"Retry-After": "60"})
    source = RegistrySource(double.host, store)
    with pytest.raises(RateLimited):
        await source.tags("acme/kit")
    source.renew()
    double.answer = lambda request: Answer(200, b'{"tags": ["1"]}')
    assert await source.tags("acme/kit") == ("1",)


async def test_silent_server_is_given_up_after_three_tries(
    double: Double, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kitstudio.registry.client.TIMEOUT", (0.2, 0.2))
    release = threading.Event()

    def stall(request: Request) -> Answer:
        release.wait(20)
        return Answer(404)

    double.answer = stall
    try:
        with pytest.raises(Unreachable, match="did not answer in time"):
            await RegistrySource(double.host, store, clock=Clock(wait=lambda stop, seconds: None)).tags("acme/kit")
    finally:
        release.set()
    assert len(double.requests) == 3


async def test_server_in_trouble_is_asked_three_times_with_growing_pauses(double: Double, store: BlobStore) -> None:
    waits: list[float] = []
    clock = Clock(wait=lambda stop, seconds: waits.append(seconds))
    double.answer = lambda request: Answer(503)
    with pytest.raises(RegistryError, match="in trouble"):
        await RegistrySource(double.host, store, clock=clock).artifact(kit(double))
    assert len(double.requests) == 3
    assert waits == [0.25, 0.75]
    waits.clear()
    double.answer = lambda request: Answer(503, b"", {"Retry-After": "3600"})
    with pytest.raises(RegistryError):
        await RegistrySource(double.host, store, clock=clock).artifact(kit(double))
    assert max(waits) <= 3


async def test_row_40_update_check_is_one_head_and_one_conditional_tag_list_a_repository(
    double: Double, store: BlobStore
) -> None:
    body = json.dumps({"tags": ["1", "2"]}).encode()
    mark = f'"{hashlib.sha256(body).hexdigest()}"'

    def answer(request: Request) -> Answer:
        if request.path.endswith("/tags/list"):
            same = request.headers.get("If-None-Match") == mark
            return Answer(304, b"", {"ETag": mark}) if same else Answer(200, body, {"ETag": mark})
        return serve(request)

    double.answer = answer
    memory = RunMemory()
    for round_number in range(2):
        source = RegistrySource(double.host, store, memory=memory)
        double.requests.clear()
        for number in range(20):
            assert await source.head(kit(double, f"acme/kit{number}:1")) == IMAGE.digest
            assert await source.tags(f"acme/kit{number}") == ("1", "2")
        assert [r.method for r in double.requests] == ["HEAD", "GET"] * 20
        conditional = ["If-None-Match" in r.headers for r in double.requests if r.method == "GET"]
        assert all(conditional) is bool(round_number)


async def test_tag_seen_before_is_asked_conditionally_and_its_bytes_come_from_the_store(
    double: Double, store: BlobStore
) -> None:
    mark = f'"{IMAGE.digest}"'

    def answer(request: Request) -> Answer:
        if request.headers.get("If-None-Match") == mark:
            return Answer(304, b"", {"ETag": mark})
        good = serve(request)
        return Answer(good.status, good.body, {**good.headers, "ETag": mark})

    double.answer = answer
    memory = RunMemory()
    source = RegistrySource(double.host, store, memory=memory)
    first = await source.artifact(kit(double))
    double.requests.clear()
    assert await source.artifact(kit(double)) == first
    assert [r.headers.get("If-None-Match") for r in double.requests] == [mark]
    offline = RegistrySource(double.host, store, memory=memory, offline=True)
    assert await offline.artifact(kit(double)) == first
    with pytest.raises(Offline):
        await offline.artifact(kit(double, "acme/kit:unseen"))
    double.requests.clear()
    emptied = RegistrySource(double.host, BlobStore(store.root / "empty"), memory=memory)
    assert await emptied.artifact(kit(double)) == first
    assert "If-None-Match" not in double.requests[0].headers


async def test_long_tag_list_is_never_answered_by_the_mark_of_its_first_page(double: Double, store: BlobStore) -> None:
    def answer(request: Request) -> Answer:
        if "last" in request.path:
            return Answer(200, b'{"tags": ["2"]}', {"ETag": '"b"'})
        return Answer(200, b'{"tags": ["1"]}', {"ETag": '"a"', "Link": '<?last=1>; rel="next"'})

    double.answer = answer
    source = RegistrySource(double.host, store)
    assert await source.tags("acme/kit") == await source.tags("acme/kit") == ("1", "2")
    assert all("If-None-Match" not in request.headers for request in double.requests)


async def test_only_a_few_requests_are_in_flight_to_one_host(double: Double, store: BlobStore) -> None:
    full = threading.Event()
    lock = threading.Lock()
    now, most = 0, 0

    def answer(request: Request) -> Answer:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
            if now == PER_HOST:
                full.set()
        full.wait(10)
        with lock:
            now -= 1
        return Answer(200, b'{"tags": ["1"]}')

    double.answer = answer
    source = RegistrySource(double.host, store)
    await asyncio.gather(*(source.tags(f"acme/kit{number}") for number in range(20)))
    assert most == PER_HOST
