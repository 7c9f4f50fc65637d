"""The registry of local Kits as it is seen from inside a real machine (kit-registry@1)."""

from __future__ import annotations

import hashlib
from pathlib import Path

from kitstudio.runtime.proxy.kit_registry import KitShelf, ServedKit
from tests.runtime.bench import bench, vm
from tests.runtime.proxy.test_kit_registry import Store
from tests.runtime.runtime_sets import capability

pytestmark = vm


async def test_a_kit_is_pulled_from_inside_and_its_neighbours_are_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    image, loose = store.image(b"the layer\n"), store.put(b"not a Kit's\n")
    layer = "sha256:" + hashlib.sha256(b"the layer\n").hexdigest()

    async def kits() -> KitShelf:
        return KitShelf((store.root,), (ServedKit("a.example/tool", "1.0", image),))

    async with bench(tmp_path / "home") as b:
        b.backend._kits = kits
        hook = {
            "command": "wget -qO /var/early $KIT_REGISTRY_URL/v2/a.example/tool/manifests/1.0",
            "env": ["KIT_REGISTRY_URL"],
        }
        b.kits(capability("kit-registry@1"), capability("lifecycle@1", {"install": [hook]}))
        await b.create()
        url = "$KIT_REGISTRY_URL/v2/a.example/tool"
        assert (await b.sh("echo $KIT_REGISTRY")) == "kits.internal\n"
        assert f"{image[7:]} " in await b.sh("sha256sum /var/early")
        assert f"{image[7:]} " in await b.sh(f"wget -qO- {url}/manifests/1.0 | sha256sum")
        assert await b.sh(f"wget -qO- {url}/blobs/{layer}") == "the layer\n"
        # By the relay, too, where a program knows no proxy.
        assert await b.sh(f"unset http_proxy HTTP_PROXY; wget -qO- {url}/blobs/{layer}") == "the layer\n"
        for path in (f"blobs/{loose}", "manifests/2.0", "../other/manifests/1.0", f"manifests/{layer}"):
            assert "404" in await b.sh(f"wget -qO- {url}/{path}"), path
        write = "printf 'PUT /v2/a.example/tool/manifests/1 HTTP/1.1\\r\\nHost: kits.internal\\r\\n\\r\\n'"
        assert "405" in await b.sh(f"{write} | nc -w 5 kits.internal 80")
        # The endpoint and nothing else.
        for other in (
            f"http://run.test:{b.port}/",
            "http://kits.internal:5000/v2/",
            "http://127.0.0.1:3128/v2/_catalog",
        ):
            said = await b.sh(f"wget -qO- {other} && echo reached")
            assert "reached" not in said, other
        assert b.asked == []
        rows = [d for d in await b.backend.decisions("box") if d.host == "kits.internal" and d.port == 80]
        assert rows and all(row.method for row in rows)


async def test_without_the_grant_there_is_no_route_and_no_announcement(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")

    async def kits() -> KitShelf:
        return KitShelf((store.root,), (ServedKit("a.example/tool", "1.0", store.image(b"x")),))

    async with bench(tmp_path / "home") as b:
        b.backend._kits = kits
        b.kits()
        await b.create()
        assert "KIT_REGISTRY" not in await b.sh("env")
        said = await b.sh("wget -qO- http://kits.internal/v2/ && echo reached")
        assert "reached" not in said
        refused = [d for d in await b.backend.decisions("box") if d.host == "kits.internal"]
        assert refused and all(d.verdict == "refused" for d in refused)
