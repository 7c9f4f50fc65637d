"""From settings and flags to the way out of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitstudio.services.app import Options, Studio
from kitstudio.services.network_settings import network_of
from kitstudio.services.settings import Settings, SettingsError
from tests.builders import kit_image
from tests.registry.servers import Answer, Double, Request, run_double
from tests.services.fakes import FakeBackend


@pytest.fixture
def double() -> Iterator[Double]:
    with run_double() as server:
        yield server


def test_nothing_set_is_the_systems_own_way() -> None:
    network = network_of(Settings())
    assert (network.ca_files, dict(network.proxies), network.no_proxy, dict(network.mirrors)) == ((), {}, (), {})


def test_every_setting_reaches_the_network(tmp_path: Path) -> None:
    settings = Settings()
    settings.set("registry.plain_http", "plain.example:5000")
    settings.set("registry.ca_files", [str(tmp_path / "ca.pem")])
    settings.set("registry.proxies", "http=http://one.example:3128, https=http://two.example:3128")
    settings.set("registry.no_proxy", ["inside.example", "10.0.0.0/8", "*.corp.example"])
    settings.set("registry.mirrors", ["docker.io=first.example", "docker.io=second.example:5000"])
    network = network_of(settings, ["flag.example"])
    assert network.plain_http == {"plain.example:5000", "flag.example"}
    assert network.ca_files == (tmp_path / "ca.pem",)
    assert network.proxies_for("https://a.example/") == {
        "http": "http://one.example:3128", "https": "http://two.example:3128"
    }  # fmt: skip
    for url in ("https://inside.example/", "https://10.1.2.3/", "https://x.corp.example/", "https://127.0.0.1/"):
        assert network.proxies_for(url) == {}
    assert network.mirrors["docker.io"] == ("first.example", "second.example:5000")


def test_proxies_are_not_shown_in_what_is_logged() -> None:
    settings = Settings()
    settings.set("registry.proxies", ["https=http://proxy.example"])
    assert "proxy.example" not in repr(network_of(settings))


@pytest.mark.parametrize("value", ["https=http://a:b@proxy.example", "https=http://token@proxy.example:1"])
def test_a_password_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings().set("registry.proxies", [value])
    assert "secrets" in str(caught.value)
    assert "a:b" not in str(caught.value) and "token" not in str(caught.value)


def test_a_damaged_line_in_the_file_is_named_and_the_others_apply(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[registry]\nproxies = ["nonsense"]\nmirrors = ["docker.io=mirror.example"]\n')
    settings = Settings(path)
    assert any("registry.proxies" in fault for fault in settings.faults)
    assert network_of(settings).mirrors == {"docker.io": ("mirror.example",)}


async def test_a_mirror_in_the_settings_is_asked_before_the_registry(
    tmp_path: Path, double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = kit_image()

    def answer(request: Request) -> Answer:
        if request.path.endswith("/tags/list"):
            return Answer(200, json.dumps({"tags": ["1.0"]}).encode())
        if "/manifests/" in request.path:
            return Answer(200, image.raw, {"Content-Type": image.media_type})
        return Answer(200, image.blobs[0])

    with run_double() as mirror:
        double.answer = mirror.answer = answer
        studio = await Studio.open(Options(home=tmp_path / "home"), FakeBackend())
        studio.settings.set("registry.mirrors", [f"{double.host}={mirror.host}"])
        artifact = await studio.catalog.artifact(f"{double.host}/acme/kit:1.0")
        assert artifact.digest == image.digest
        assert any("/manifests/" in request.path for request in mirror.requests)
        assert not any("/manifests/" in request.path for request in double.requests)
        await studio.close()
