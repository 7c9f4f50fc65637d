"""A runtime that runs nothing, and a small demo catalog: what the services are tested on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kitstudio.models.descriptor import Arg, Capability, Descriptor
from kitstudio.models.lock import ApprovedLock
from kitstudio.registry.source import ImageConfig
from kitstudio.registry.writer import build_image
from kitstudio.runtime.backend import (
    Decision,
    ExecResult,
    HookRun,
    HostMountFolder,
    ImageProvider,
    LaunchOptions,
    LaunchPhase,
    OwnStorage,
    Progress,
    PublishedPort,
    SandboxError,
    SandboxStatus,
    State,
    Terminal,
)
from kitstudio.runtime.capabilities.agent_sessions import AgentSessions, Verb, session_argv
from kitstudio.runtime.files import Files
from tests.builders import AMD64, descriptor, kit_image, layer, layout, network

V2 = "application/vnd.docker.sandbox.kit.v2"
CLAIMED = frozenset(
    f"com.docker.sandbox/{name}"
    for name in ("network-policy@1", "lifecycle@1", "resources@1", "sbx@1", "agent-context@1", "volume@1")
)


def volume(path: str, *, optional: bool = False) -> Capability:
    """A ``volume@1`` request."""
    return Capability("com.docker.sandbox/volume@1", {"path": path}, True, optional=optional, optional_stated=optional)


def workload(version: str = "1.0.0", **fields: object) -> Descriptor:
    """A workload that offers ``base``."""
    return descriptor("workload", version=version, display_name="Base", provides=("base",), **fields)


def tool(version: str = "1.0.0", **fields: object) -> Descriptor:
    """A mixin that needs ``base`` and asks for one host."""
    stated: dict[str, object] = {
        "version": version,
        "display_name": "Tool",
        "description": "Does one thing with base.",
        "provides": ("tool",),
        "requires": ("base",),
        "capabilities": (network(["a.example"]),),
    }
    return descriptor(**{**stated, **fields})


KITS: Mapping[str, Descriptor] = {
    "demo.invalid/base:1.0.0": workload(),
    "demo.invalid/base:1.1.0": workload("1.1.0"),
    "demo.invalid/tool:1.0.0": tool(),
    "demo.invalid/tool:2.0.0": tool("2.0.0", capabilities=(network(["a.example", "b.example"]),)),
    "demo.invalid/tool:0.9.0": tool("0.9.0", capabilities=()),
    "demo.invalid/wild:1.0.0": descriptor(display_name="Wild", capabilities=(network(["*"]),)),
    "demo.invalid/rival:1.0.0": descriptor(display_name="Rival", conflicts=("tool",)),
    "demo.invalid/keeper:1.0.0": descriptor(display_name="Keeper", capabilities=(volume("/data", optional=True),)),
    "demo.invalid/asking:1.0.0": descriptor(
        display_name="Asking",
        args={
            "level": Arg(default="low", enum=("low", "high")),
            "api_token": Arg(description="Token of the service", env="API_TOKEN"),
        },
    ),
    "demo.invalid/asking:2.0.0": descriptor(
        version="2.0.0", display_name="Asking", args={"level": Arg(default="low", enum=("low", "high"))}
    ),
    "demo.invalid/machine:1.0.0": descriptor(
        display_name="Machine", capabilities=(Capability("com.docker.sandbox/privileged@1"),)
    ),
}
"""The demo catalog of these tests."""


def demo_layout(root: Path) -> Path:
    """``KITS``, a v2 artifact and a plain image in an OCI layout."""
    images = {name: kit_image(about) for name, about in KITS.items()}
    config = ImageConfig(platform=AMD64)
    images["demo.invalid/old:0.9.0"] = build_image([layer({"spec.yaml": b"v2"})], config, artifact_type=V2)
    images["demo.invalid/plain:1.0.0"] = build_image([layer()], config)
    return layout(root, images)


class FakeBackend:
    """``Backend`` in memory. ``fail``: what the next create raises; ``gate``: create waits for it."""

    def __init__(self) -> None:
        self.shown_files: Files | None = None
        self.boxes: dict[str, SandboxStatus] = {}
        self.created: list[tuple[ApprovedLock, LaunchOptions]] = []
        self.recreated: list[ApprovedLock] = []
        self.rebound: list[str] = []
        self.fresh: dict[str, Mapping[str, str]] = {}
        self.fail: SandboxError | None = None
        self.gate: asyncio.Event | None = None
        self.decided: tuple[Decision, ...] = ()
        self.published: dict[str, PublishedPort] = {}
        self.shared: tuple[HostMountFolder, ...] = ()
        self.own: tuple[OwnStorage, ...] = ()

    def capabilities(self) -> frozenset[str]:
        return CLAIMED

    async def acceleration(self) -> tuple[str, str]:
        return "tcg", "tests have no KVM"

    async def create(
        self,
        approved: ApprovedLock,
        options: LaunchOptions,
        images: ImageProvider,
        progress: Callable[[Progress], None],
    ) -> SandboxStatus:
        for kit in approved.lock.kits:
            image = await images.image(kit.reference, kit.digest)
            for blob in image.layers:
                await images.layer(kit.reference, blob, lambda done, total: None)
        progress(Progress(LaunchPhase.PULL, "2 layers", 0.5, 0.1))
        if self.gate is not None:
            await self.gate.wait()
        if self.fail is not None:
            raise self.fail
        self.created.append((approved, options))
        progress(Progress(LaunchPhase.READY, "", 1.0, 0.2))
        status = SandboxStatus("id-1", options.name, State.RUNNING, approved.lock.name, approved.sha256, 1000.0)
        self.boxes[options.name] = status
        return status

    async def start(self, name: str, progress: Callable[[Progress], None]) -> SandboxStatus:
        return self._put(name, State.RUNNING)

    async def stop(self, name: str) -> None:
        self._put(name, State.STOPPED)

    async def recreate(
        self,
        name: str,
        approved: ApprovedLock,
        images: ImageProvider,
        progress: Callable[[Progress], None],
        *,
        anew: bool = False,
    ) -> SandboxStatus:
        self.recreated.append(approved)
        return self._put(name, State.RUNNING)

    async def remove(self, name: str) -> None:
        self._find(name)
        del self.boxes[name]

    async def ports(self, name: str) -> tuple[PublishedPort, ...]:
        self._find(name)
        return tuple(self.published.values())

    async def set_port(self, name: str, container: str, host_port: int) -> tuple[PublishedPort, ...]:
        if container not in self.published:
            raise SandboxError(f"The sandbox publishes no port {container}.")
        old = self.published[container]
        self.published[container] = replace(old, host_port=host_port or 5000, fixed=host_port)
        return await self.ports(name)

    async def environment(self, name: str) -> Mapping[str, str]:
        found = [options.env for _, options in self.created if options.name == name]
        return found[-1] if found else {}

    async def storage(self, name: str) -> tuple[OwnStorage, ...]:
        self._find(name)
        return self.own

    async def mounts(self) -> tuple[HostMountFolder, ...]:
        return self.shared

    async def remove_mount(self, id: str) -> None:
        if id not in {each.id for each in self.shared}:
            raise SandboxError(f"There is no shared folder {id!r}.")
        self.shared = tuple(each for each in self.shared if each.id != id)

    async def repair(self, name: str) -> SandboxStatus:
        return self._put(name, State.STOPPED)

    async def list(self) -> tuple[SandboxStatus, ...]:
        return tuple(self.boxes.values())

    async def status(self, name: str) -> SandboxStatus:
        return self._find(name)

    async def execute(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        user: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: Callable[[bool, bytes], None] | None = None,
    ) -> ExecResult:
        self._find(name)
        status, printed = 7 if command[0] == "false" else 0, " ".join(command).encode() + stdin
        if on_output is not None:
            on_output(False, printed)
            return ExecResult(status, b"", b"")
        return ExecResult(status, printed, b"")

    async def terminal(self, name: str, command: Sequence[str], *, columns: int, rows: int, user: str = "") -> Terminal:
        raise SandboxError("No terminals here.")

    async def launch_commands(self, name: str) -> Mapping[str, tuple[str, ...]]:
        return {"interactive": ("agent",), "headless": (), "shell": ("/bin/sh",)}

    def files(self, name: str, user: str = "") -> Files:
        self._find(name)
        if self.shown_files is None:
            raise SandboxError("No files here.")
        return self.shown_files

    async def renewed(self, name: str) -> Mapping[str, str]:
        return self.fresh.pop(name, {})

    async def rebind(self, service: str) -> tuple[str, ...]:
        self.rebound.append(service)
        return tuple(self.boxes)

    async def session_command(self, name: str, verb: str, value: str = "") -> tuple[str, ...]:
        self._find(name)
        stated = AgentSessions(prompt=("-p", "{{.Prompt}}"), list=("agent-ls",))
        return session_argv(stated, ("agent",), Verb(verb), value)

    async def hooks(self, name: str) -> tuple[HookRun, ...]:
        return ()

    async def decisions(self, name: str) -> tuple[Decision, ...]:
        return self.decided

    async def log(self, name: str) -> str:
        return "one\ntwo\n"

    async def details(self, name: str) -> Mapping[str, str]:
        return {}

    async def events(self) -> AsyncIterator[str]:
        nothing: tuple[str, ...] = ()
        for name in nothing:
            yield name

    def _find(self, name: str) -> SandboxStatus:
        if name not in self.boxes:
            raise SandboxError(f"There is no sandbox {name}.", where=name, remedy="See kitstudio ls.")
        return self.boxes[name]

    def _put(self, name: str, state: State) -> SandboxStatus:
        self.boxes[name] = replace(self._find(name), state=state)
        return self.boxes[name]
