"""The registry of local Kits: what it serves, what it does not, and how it is reached through the proxy."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitstudio.models.annotations import DESCRIPTOR
from kitstudio.runtime.policy import EgressPolicy, Phase
from kitstudio.runtime.proxy.kit_registry import HOST, KitRegistry, KitShelf, Reply, ServedKit
from kitstudio.runtime.proxy.log import DecisionLog, read_decisions
from kitstudio.runtime.proxy.server import Proxy

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


class Store:
    """Blobs below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "blobs/sha256").mkdir(parents=True)

    def put(self, content: bytes | dict[str, Any]) -> str:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        name = hashlib.sha256(data).hexdigest()
        (self.root / "blobs/sha256" / name).write_bytes(data)
        return f"sha256:{name}"

    def part(self, content: bytes) -> dict[str, Any]:
        return {"mediaType": "application/octet-stream", "digest": self.put(content), "size": len(content)}

    def image(self, layer: bytes, *, kit: bool = True) -> str:
        stated: dict[str, Any] = {"mediaType": MANIFEST, "config": self.part(b"{}"), "layers": [self.part(layer)]}
        if kit:
            stated["annotations"] = {DESCRIPTOR: "kind: mixin"}
        return self.put(stated)

    def index(self, *digests: str) -> str:
        return self.put({"mediaType": INDEX, "manifests": [{"digest": digest, "size": 1} for digest in digests]})


async def body(reply: Reply) -> bytes:
    return b"".join([piece async for piece in reply.pieces()])


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def registry(store: Store, **kits: str) -> KitRegistry:
    served = tuple(ServedKit(f"a.example/{name}", "1.0", digest) for name, digest in kits.items())
    return KitRegistry(KitShelf((store.root,), served))


async def test_a_kit_is_read_by_tag_by_digest_and_part_by_part(tmp_path: Path) -> None:
    store = Store(tmp_path)
    image = store.image(b"layer")
    root = store.index(image, store.image(b"attestation", kit=False))
    served = registry(store, tool=root)
    for item in ("1.0", root):
        reply = await served.reply("GET", f"/v2/a.example/tool/manifests/{item}")
        assert reply.status == 200 and dict(reply.headers)["Content-Type"] == INDEX
        assert digest_of(await body(reply)) == root == dict(reply.headers)["Docker-Content-Digest"]
    found = json.loads(await body(await served.reply("GET", f"/v2/a.example/tool/manifests/{image}")))
    blob = await served.reply("GET", f"/v2/a.example/tool/blobs/{found['layers'][0]['digest']}")
    assert blob.status == 200 and await body(blob) == b"layer"
    assert json.loads(await body(await served.reply("GET", "/v2/_catalog"))) == {"repositories": ["a.example/tool"]}
    tags = await body(await served.reply("GET", "/v2/a.example/tool/tags/list"))
    assert json.loads(tags) == {"name": "a.example/tool", "tags": ["1.0"]}


async def test_what_is_no_kits_is_not_served_though_it_lies_beside(tmp_path: Path) -> None:
    store = Store(tmp_path)
    plain, loose = store.image(b"plain", kit=False), store.put(b"loose")
    kit, other = store.image(b"layer"), store.image(b"other layer")
    attestation = store.image(b"attestation", kit=False)
    served = registry(store, tool=store.index(kit, attestation), other=other, plain=plain)
    refused = [
        f"/v2/a.example/plain/manifests/{plain}",
        "/v2/a.example/plain/manifests/1.0",
        f"/v2/a.example/plain/blobs/{digest_of(b'plain')}",
        f"/v2/a.example/tool/manifests/{attestation}",
        f"/v2/a.example/tool/blobs/{digest_of(b'attestation')}",
        f"/v2/a.example/tool/blobs/{loose}",
        f"/v2/a.example/tool/blobs/{kit}",
        f"/v2/a.example/tool/manifests/{other}",
        f"/v2/a.example/tool/blobs/{digest_of(b'other layer')}",
        "/v2/a.example/tool/blobs/uploads",
        "/v2/b.example/tool/manifests/1.0",
        "/v2/../../etc/passwd",
        "/v2/a.example/tool/blobs/..%2f..%2f" + "a" * 64,
        f"/v2/a.example/tool/blobs/sha256:../{'a' * 61}",
        "/",
        "/v2/a.example/tool/manifests/latest",
    ]
    for path in refused:
        reply = await served.reply("GET", path)
        assert reply.status == 404 and "errors" in json.loads(await body(reply)), path


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE", "OPTIONS"])
async def test_nothing_can_be_written(tmp_path: Path, method: str) -> None:
    store = Store(tmp_path)
    reply = await registry(store, tool=store.image(b"x")).reply(method, "/v2/a.example/tool/blobs/uploads/")
    assert reply.status == 405


async def test_damaged_swapped_and_missing_content_does_not_leave(tmp_path: Path) -> None:
    store = Store(tmp_path)
    image = store.image(b"layer")
    served = registry(store, tool=image)
    layer = digest_of(b"layer")
    path = f"/v2/a.example/tool/blobs/{layer}"
    file = store.root / "blobs/sha256" / layer[7:]
    assert (await served.reply("HEAD", path)).status == 200
    for content in (b"other", b"longer than it was", b""):
        file.write_bytes(content)
        assert (await served.reply("GET", path)).status == 404
    file.unlink()
    file.symlink_to("/etc/passwd")
    assert (await served.reply("GET", path)).status == 404
    file.unlink()
    store.put(b"layer")
    assert await body(await served.reply("GET", path)) == b"layer"


async def test_a_manifest_that_comes_later_is_found_and_hostile_ones_are_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    late = json.dumps({"mediaType": MANIFEST, "annotations": {DESCRIPTOR: "x"}, "config": {}, "layers": 3}).encode()
    nested = store.put(b"[" * 100_000)
    odd = store.put({"mediaType": MANIFEST, "annotations": [DESCRIPTOR]})
    loop = store.put({"mediaType": INDEX, "manifests": [{"digest": "sha256:../../x"}, 3, {}]})
    served = registry(store, late=digest_of(late), nested=nested, odd=odd, loop=loop)
    for name in ("late", "nested", "odd", "loop"):
        assert (await served.reply("GET", f"/v2/a.example/{name}/manifests/1.0")).status == 404
    store.put(late)
    assert (await served.reply("GET", "/v2/a.example/late/manifests/1.0")).status == 200


def test_names_and_digests_that_are_none_are_left_out(tmp_path: Path) -> None:
    shelf = KitShelf((), (ServedKit("../x", "1", "sha256:" + "a" * 64), ServedKit("a/b", "1", "sha256:zz")))
    assert KitRegistry(shelf)._repositories == {}


Ask = Callable[[bytes], Any]


async def through(proxy: Proxy, sent: bytes) -> bytes:
    """What the proxy answers to one client."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await proxy.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(sent)
    writer.write_eof()
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    server.close()
    return answer


async def test_it_is_reached_by_name_only_where_it_is_granted_and_in_an_open_phase(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    log = DecisionLog(tmp_path / "decisions")
    proxy = Proxy(EgressPolicy(()), log)
    proxy.kits = registry(store, tool=store.image(b"layer" * 200_000))
    blob = f"/v2/a.example/tool/blobs/{digest_of(b'layer' * 200_000)}"
    plain = f"GET http://{HOST}{blob} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
    inner = (
        f"HEAD /v2/ HTTP/1.1\r\nHost: {HOST}\r\n\r\nGET {blob} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    )
    tunnel = f"CONNECT {HOST}:80 HTTP/1.1\r\nHost: {HOST}:80\r\n\r\n{inner}".encode()
    assert b"403" in (await through(proxy, plain))[:20]  # closed
    for phase in (Phase.INSTALL, Phase.RUNTIME):
        await proxy.switch(phase)
        assert (await through(proxy, plain)).endswith(b"layer" * 200_000)
        assert (await through(proxy, tunnel)).endswith(b"layer" * 200_000)
    for other in (f"CONNECT {HOST}:443", f"CONNECT {HOST}:5000", "CONNECT other.internal:80", f"CONNECT x.{HOST}:80"):
        answer = await through(proxy, f"{other} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 40"), other
    mixed = f"CONNECT {HOST}:80 HTTP/1.1\r\nHost: {HOST}\r\n\r\nGET /v2/ HTTP/1.1\r\nHost: other.example\r\n\r\n"
    assert b"400" in await through(proxy, mixed.encode())
    put = f"PUT http://{HOST}/v2/a.example/tool/manifests/1 HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 5\r\n\r\nhello"
    assert (await through(proxy, put.encode())).startswith(b"HTTP/1.1 405")
    proxy.kits = None
    assert (await through(proxy, plain)).startswith(b"HTTP/1.1 403")
    decisions = read_decisions(tmp_path / "decisions")
    assert {d.verdict for d in decisions if d.method == "PUT"} == {"refused"}
    assert any(d.host == HOST and d.verdict == "allowed" and d.url_path == blob for d in decisions)
