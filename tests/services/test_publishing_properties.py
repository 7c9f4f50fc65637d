"""Random sets, published to a real registry and pulled back: nothing is lost, added or moved on the way."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kitstudio.models import surface as surfaces
from kitstudio.models.artifact import conforms
from kitstudio.models.decode import decode
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.copy import RegistryDestination, copy
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import parse
from kitstudio.registry.registry import RegistrySource
from kitstudio.registry.source import ImageConfig, Platform
from kitstudio.registry.writer import Image
from kitstudio.services.app import Options, Studio
from kitstudio.services.artifact_checks import check_published
from kitstudio.services.publishing import Published
from tests.builders import AMD64, ARM64, layout
from tests.registry.servers import Server, run_registry
from tests.services.fakes import FakeBackend
from tests.services.published_kits import judged, mixin, published, set_text, workload

pytestmark = pytest.mark.registry
HOSTS = ("a.example", "b.example:443", "*.c.example", "d.example:8443")
PREFIX = "com.docker.sandbox"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@dataclass(frozen=True)
class Made:
    """One random Kit. ``needs``: names of Kits with a smaller number."""

    name: str
    workload: bool
    needs: tuple[str, ...]
    integrates: bool
    hosts: tuple[str, ...]
    bounded: bool
    optional: bool
    hooks: int
    port: bool
    guidance: bool
    files: int
    both: bool
    variables: tuple[tuple[str, str], ...]

    def image(self) -> Image:
        return published(
            (workload if self.workload else mixin)(self.name, self.text()),
            self.name,
            {f"opt/{self.name}/{number}": bytes([number]) * 64 for number in range(self.files)},
            platforms=self.platforms,
            config=ImageConfig(
                entrypoint=("/bin/sh",) if self.workload else (),
                env=tuple(f"{name}={value}" for name, value in self.variables),
            ),
            staged={"guide.md": f"About {self.name}.\n".encode()} if self.guidance else {},
        )

    @property
    def platforms(self) -> tuple[Platform, ...]:
        return (AMD64, ARM64) if self.both else (AMD64,)

    def text(self) -> str:
        field = "integrates" if self.integrates else "requires"
        lines = [f"{field}: [{', '.join(self.needs)}]"] if self.needs else []
        lines.append(f"licenses: [{'MIT' if self.port else 'Apache-2.0'}]")
        entries = [*self._network(), *self._lifecycle(), *self._others()]
        more = ", optional: true" if self.optional else ""
        lines += [
            "capabilities:",
            *(f"- {{type: {PREFIX}/{kind}, config: {config}{more}}}" for kind, config in entries),
        ]
        return "\n".join(lines if entries else lines[:-1]) + "\n"

    def _network(self) -> list[tuple[str, str]]:
        if not self.hosts:
            return []
        literal = [host for host in self.hosts if "*" not in host]
        shown = ", ".join(f'"{host}"' for host in (literal if self.bounded else self.hosts))
        if not self.bounded or not literal:
            return [("network-policy@1", f"{{runtime: {{allow: [{shown or HOSTS[0]}]}}}}")]
        rule = f"{{hosts: [{shown}], methods: [GET], paths: ['/v1/**']}}"
        return [("network-policy@2", f"{{runtime: {{allow: [{rule}]}}}}")]

    def _lifecycle(self) -> list[tuple[str, str]]:
        hooks = ", ".join(f"{{command: 'echo {self.name} {number}'}}" for number in range(self.hooks))
        return [("lifecycle@1", f"{{startup: [{hooks}]}}")] if self.hooks else []

    def _others(self) -> list[tuple[str, str]]:
        found = []
        if self.port:
            found.append(("port@1", f"{{container: {8000 + len(self.name) + ord(self.name[-1])}}}"))
        if self.guidance:
            place = f"/usr/share/sandbox/kit/{self.name}/guide.md"
            found.append(("agent-context@1", f"{{directory: /home/agent, filename: A.md, contentFile: {place}}}"))
        return found


@st.composite
def sets(draw: st.DrawFn) -> list[Made]:
    """Kits of a coherent set, the workload (if any) among them."""
    names = [f"kit-{letter}" for letter in "abcdef"[: draw(st.integers(1, 5))]]
    base = draw(st.none() | st.sampled_from(names))
    found = []
    for number, name in enumerate(names):
        earlier = names[:number]
        found.append(
            Made(
                name,
                name == base,
                tuple(draw(st.lists(st.sampled_from(earlier), unique=True, max_size=2))) if earlier else (),
                draw(st.booleans()),
                tuple(draw(st.lists(st.sampled_from(HOSTS), unique=True, max_size=3))),
                draw(st.booleans()),
                draw(st.booleans()),
                draw(st.integers(0, 2)),
                draw(st.booleans()),
                draw(st.booleans()),
                draw(st.integers(0, 2)),
                draw(st.booleans()),
                tuple(draw(st.lists(st.sampled_from([("PATH", f"/opt/{name}"), ("MODE", name)]), unique=True))),
            )
        )
    return draw(st.permutations(found))


_numbers = itertools.count()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kits=sets())
def test_a_random_set_arrives_as_it_was_previewed(server: Server, kits: list[Made]) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KITSTUDIO_DEMO", str(layout(Path(name) / "demo", {})))
        asyncio.run(_round_trip(server.host, kits, Path(name), f"run{next(_numbers)}"))


async def _round_trip(host: str, kits: list[Made], folder: Path, run: str) -> None:
    references = {kit.name: f"{host}/{run}/{kit.name}:1.0.0" for kit in kits}
    await _fill(host, {references[kit.name]: kit.image() for kit in kits}, folder)
    studio = await Studio.open(Options(home=folder / "home"), FakeBackend())
    try:
        plan = await judged(studio, set_text([references[kit.name] for kit in kits]), folder)
        preview = await studio.publishing.preview(plan, name="team")
        assert preview.ready, preview.problems
        made = await studio.publishing.publish(plan, f"{host}/{run}/team:1.0.0", name="team").wait()
        assert isinstance(made, Published) and made.digest == preview.digest
    finally:
        await studio.close()
    other = await Studio.open(Options(home=folder / "other"), FakeBackend())
    try:
        source = RegistrySource(host, BlobStore(folder / "fresh"))
        pulled = await source.artifact(parse(made.reference))
        descriptor = decode(pulled.descriptor_text).descriptor
        assert descriptor == preview.descriptor and surfaces.project(descriptor) == preview.surface
        # Without a workload a plan shows what its Kits ask for one by one.
        assert plan.choices or not plan.coherent or plan.surface == preview.surface
        assert [kit.ref for kit in descriptor.kits] == [references[kit.name] for kit in kits]
        assert tuple(map(str, pulled.platforms)) == preview.platforms
        for platform in pulled.platforms:
            one = await source.artifact(parse(made.reference), platform)
            expected = [
                layer.digest
                for reference in preview.order
                for layer in (await source.artifact(parse(reference), platform)).manifest.layers
            ]
            assert [layer.digest for layer in one.manifest.layers][:-1] == expected
            assert [row.digest for row in preview.layers if row.platform == str(platform)][:-1] == expected
        _in_order(preview.order, kits, references)
        for outcome in await check_published(other.places, source, pulled):
            assert conforms(outcome.checks), outcome.checks
    finally:
        await other.close()


async def _fill(host: str, images: Mapping[str, Image], folder: Path) -> None:
    source = LayoutSource(await asyncio.to_thread(layout, folder / "kits", images))
    target = RegistrySource(host, BlobStore(folder / "fill"))
    for reference in images:
        await copy(source, parse(reference), RegistryDestination(target, parse(reference)))


def _in_order(order: tuple[str, ...], kits: list[Made], references: Mapping[str, str]) -> None:
    """The workload's layers are lowest, every other Kit's above those it needs."""
    place = {reference: number for number, reference in enumerate(order)}
    for kit in kits:
        if kit.workload:
            assert place[references[kit.name]] == 0
            continue
        for need in kit.needs:
            assert place[references[need]] < place[references[kit.name]]
