"""Docker Hub as one double: its search, its lists, and its registry behind a proxy, with shapes as they were recorded.

``HubDouble.images`` holds what the registry serves: ``"acme/kit:1.0"`` → image. Every request is in ``requests``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from kitstudio.registry.blob_store import digest_of
from kitstudio.registry.hub import SEARCH_PATH
from kitstudio.registry.writer import Image
from kitstudio.services.settings import Settings
from tests.registry.servers import Answer, Double, Request, run_double

REGISTRY = "http://registry-1.docker.io/v2/"


@dataclass
class HubDouble:
    """What the Hub has. ``private``: repositories its registry wants a sign-in for; ``rows``: extra fields of a search
    row by repository; ``limited``: answer everything with 429."""

    server: Double
    images: Mapping[str, Image] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    rows: dict[str, dict[str, object]] = field(default_factory=dict)
    total: int | None = None
    limited: str = ""

    @property
    def paths(self) -> list[str]:
        """What was asked so far, the host left out, the query too."""
        return [urlsplit(request.path).path for request in self.server.requests]

    def settings(self, settings: Settings) -> None:
        """Point the settings here."""
        here = f"http://{self.server.host}"
        settings.set("hub.search_base", here + SEARCH_PATH)
        settings.set("hub.api_base", here)
        settings.set("registry.proxies", [f"http={here}"])
        settings.set("registry.plain_http", ["docker.io"])

    def answer(self, request: Request) -> Answer:
        """One answer."""
        if self.limited:
            return Answer(429, b"Too Many Requests\r\n", {"Content-Type": "text/plain", "Retry-After": self.limited})
        if request.path.startswith(REGISTRY):
            return self._registry(request, urlsplit(request.path).path.removeprefix("/v2/"))
        path = urlsplit(request.path).path
        if path == SEARCH_PATH:
            return self._search(request)
        if path.startswith("/v2/repositories/"):
            return self._namespace(path.split("/")[3])
        if path.startswith("/v2/namespaces/"):
            parts = path.split("/")
            return _json({"results": [{"name": tag} for tag in self._tags(f"{parts[3]}/{parts[5]}")]})
        return Answer(404)

    def _search(self, request: Request) -> Answer:
        asked = {key: values[0] for key, values in parse_qs(urlsplit(request.path).query).items()}
        if int(asked["from"]) > 0:
            return Answer(400, b'{"message": "no further"}')
        rows = [self._row(name) for name in self._repositories() if asked.get("query", "") in name]
        if asked.get("badges"):
            rows = [row for row in rows if row["badge"] == asked["badges"]]
        return _json({"total": self.total if self.total is not None else len(rows), "results": rows})

    def _row(self, repository: str) -> dict[str, object]:
        namespace, _, name = repository.partition("/")
        return {
            "id": repository,
            "name": f"The {name}",
            "slug": repository,
            "type": "sbx_kit",
            "badge": "verified_publisher",
            "publisher": {"id": namespace, "name": namespace.title()},
            "short_description": f"What the Hub says of {name}.",
            "star_count": 3,
            "logo_url": {"small": f"https://img.example/{name}.png"},
            "categories": [{"name": "Developer tools"}],
            "architectures": [{"name": "amd64"}, {"name": "arm64"}],
            "operating_systems": [{"name": "linux"}],
            "rate_plans": [{"repositories": [{"namespace": namespace, "name": name, "pull_count": 1234}]}],
            **self.rows.get(repository, {}),
        }

    def _namespace(self, namespace: str) -> Answer:
        rows = [
            {"namespace": namespace, "name": name.partition("/")[2], "content_types": ["sbx_kit"], "pull_count": 5}
            for name in self._repositories()
            if name.startswith(f"{namespace}/")
        ]
        return _json({"count": len(rows), "next": None, "results": rows})

    def _registry(self, request: Request, path: str) -> Answer:
        repository, _, rest = path.partition("/manifests/") if "/manifests/" in path else path.partition("/blobs/")
        if repository in self.private and "Authorization" not in request.headers:
            return Answer(401, b"{}", {"WWW-Authenticate": 'Basic realm="docker"'})
        if path.endswith("/tags/list"):
            return _json({"tags": self._tags(path.removesuffix("/tags/list"))})
        for name, image in self.images.items():
            if not name.startswith(f"{repository}:"):
                continue
            below = {digest_of(blob): blob for blob in image.blobs}
            if "/blobs/" in path and rest in below:
                return Answer(200, below[rest])
            if rest in (name.partition(":")[2], image.digest):
                return _manifest(image.raw, image.digest)
            if rest in below:
                return _manifest(below[rest], rest)
        return Answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')

    def _repositories(self) -> list[str]:
        return sorted({name.partition(":")[0] for name in self.images})

    def _tags(self, repository: str) -> list[str]:
        return [name.partition(":")[2] for name in self.images if name.startswith(f"{repository}:")]


@contextmanager
def run_hub(images: Mapping[str, Image]) -> Iterator[HubDouble]:
    """The Hub with these images."""
    with run_double() as server:
        hub = HubDouble(server, images)
        server.answer = hub.answer
        yield hub


def _json(document: object) -> Answer:
    return Answer(200, json.dumps(document).encode(), {"Content-Type": "application/json"})


def _manifest(raw: bytes, digest: str) -> Answer:
    kind = json.loads(raw).get("mediaType", "application/vnd.oci.image.manifest.v1+json")
    return Answer(200, raw, {"Content-Type": kind, "Docker-Content-Digest": digest})
