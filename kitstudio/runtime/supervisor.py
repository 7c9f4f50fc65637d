"""The process that owns one sandbox: its machine, its control connection, its proxy. ``python -m … FOLDER``.

It outlives the window that started it, answers over the folder's socket, and takes the machine down with it. A
launch belongs to the connection that asked for it: when that goes away before ready, the sandbox is taken down.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import logging.handlers
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import asyncssh

from kitstudio.models.errors import KitStudioError
from kitstudio.runtime import control, state
from kitstudio.runtime.agent_socket import AgentSocket
from kitstudio.runtime.assemble import PROXY_PORT
from kitstudio.runtime.backend import Decision, HookRun, LaunchPhase, SandboxError, State
from kitstudio.runtime.capabilities.credential import variables
from kitstudio.runtime.capabilities.lifecycle import Hook
from kitstudio.runtime.capabilities.long_running import Sessions
from kitstudio.runtime.codec import from_json, to_json
from kitstudio.runtime.control import Channel
from kitstudio.runtime.files import serve_files
from kitstudio.runtime.guest.image import find_guest_image
from kitstudio.runtime.host_mounts import mount_shares, mounts_root
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.lifecycle import HookLog, run_hook, write_profile, write_start_files
from kitstudio.runtime.policy import Phase, read_policy
from kitstudio.runtime.ports import LOOPBACK, Publisher
from kitstudio.runtime.presence import expose_skills, set_identity, trust_authority, write_credential_files
from kitstudio.runtime.proxy.authority import Authority
from kitstudio.runtime.proxy.credentials import CredentialPresenter
from kitstudio.runtime.proxy.dial import resolver_with
from kitstudio.runtime.proxy.kit_registry import VARIABLES, KitRegistry, KitShelf
from kitstudio.runtime.proxy.log import DecisionLog
from kitstudio.runtime.proxy.server import Proxy
from kitstudio.runtime.qemu.guest_session import GuestSession
from kitstudio.runtime.qemu.keys import load_or_create_keys
from kitstudio.runtime.qemu.machine import Exit, Machine, MachineExit, MachineSpec, Share
from kitstudio.runtime.sessions import serve_exec, serve_terminal
from kitstudio.runtime.skill_store import NOTE, Skills, Store, mount_store
from kitstudio.runtime.state import Record, SandboxFolder
from kitstudio.runtime.storage import volume_disks

CONNECT_SECONDS = 120.0
ORPHAN_SECONDS = 60.0
# A guest that answers nothing for so long has lost its connection, whatever the pipe says.
KEEPALIVE_SECONDS, KEEPALIVE_COUNT = 20, 3
_RECONNECTS = 3
IDLE_LOOK = 1.0
"""Seconds between looks whether somebody is connected."""
IDLE_NOTED = 30.0
"""Seconds a countdown may have moved before its record is written anew."""

log = logging.getLogger("kitstudio.supervisor")


class AnyMachine(Protocol):
    """The verbs of ``Machine`` that the supervisor uses."""

    @property
    def pid(self) -> int: ...
    @property
    def command_line(self) -> tuple[str, ...]: ...
    async def start(self, spec: MachineSpec) -> None: ...
    async def connect(self, timeout: float = ...) -> asyncssh.SSHClientConnection: ...
    async def stop(self, grace: float = ...) -> MachineExit: ...
    async def wait(self) -> MachineExit: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """What a supervisor is made of; tests put other parts in."""

    machine: Callable[[], AnyMachine] = Machine
    session: Callable[[asyncssh.SSHClientConnection], GuestSession] = GuestSession
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Supervisor:
    """One sandbox for the length of one boot."""

    def __init__(self, path: Path, parts: Parts | None = None) -> None:
        self.folder = SandboxFolder(path)
        self._parts = parts or Parts()
        self._plan: LaunchPlan = state.read_json(LaunchPlan, self.folder.launch)
        self._record: Record = self.folder.read()
        self._decisions = DecisionLog(self.folder.decisions)
        self._secrets: dict[str, str] = {}
        self._fresh: set[str] = set()
        self._skills = Skills()
        self._store = Store()
        self._trust: dict[str, str] = {}
        self._authority = Authority.load_or_create(self.folder.authority, self._plan.name)
        self._proxy = Proxy(
            read_policy(self._plan.rules, self._plan.private_names),
            self._decisions,
            resolver=resolver_with(self._plan.hosts),
            presenter=CredentialPresenter(self._plan.credentials, self._secrets, self._renewed),
            authority=self._authority,
        )
        self._agent = AgentSocket(
            self._plan.agent,
            self._plan.contract.account,
            Path(self._plan.known_hosts or "~/.ssh/known_hosts").expanduser(),
            self._note_signature,
        )
        self._hooks = HookLog(self._earlier_hooks(), self._hooks_changed)
        self._machine: AnyMachine | None = None
        self._connection: asyncssh.SSHClientConnection | None = None
        self._session: GuestSession | None = None
        self._sessions = Sessions(self._plan.idle, self._parts.clock)
        self._publisher = Publisher(self.folder.path, self._plan.ports, lambda: self._session, self._sessions)
        self._background: set[asyncio.Task[None]] = set()
        self._launching = False
        self._asked = asyncio.Event()
        self._booted = asyncio.Event()
        self._launched = asyncio.Event()
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until the machine ends or somebody asks to stop; the record says how it ended."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop.set)
        me = state.identify(os.getpid())
        self._note(state=State.STARTING, supervisor=me, machine=None, broken="", repair="", started_at=0.0, note="")
        server = control.ControlServer(self._answer)
        await server.start(self.folder.path)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(ORPHAN_SECONDS):
                    await _first(self._asked.wait(), self._stop.wait())
            if self._launching:
                await self._launched.wait()
                await self._watch()
        finally:
            await self._take_down(server)

    async def _watch(self) -> None:
        """Wait for the end: asked for, or the machine's own, or a control connection that stays lost."""
        while not self._stop.is_set():
            machine, connection = self._machine, self._connection
            if machine is None:
                await self._stop.wait()
                return
            lost = connection.wait_closed() if connection is not None else asyncio.Event().wait()
            await _first(self._stop.wait(), machine.wait(), lost)
            if self._stop.is_set() or await _ended(machine) is not None:
                return
            if connection is not None and connection is self._connection and not await self._reconnect(machine):
                self._note(broken="The sandbox no longer answers on its control connection.", repair="Start again")
                return

    async def _reconnect(self, machine: AnyMachine) -> bool:
        log.warning("control connection lost")
        for _ in range(_RECONNECTS):
            try:
                await self._attach(await machine.connect(CONNECT_SECONDS))
            except (SandboxError, OSError, asyncssh.Error) as error:
                log.warning("reconnect: %s", error)
                if await _ended(machine) is not None:
                    return True
                continue
            return True
        return False

    async def _take_down(self, server: control.ControlServer) -> None:
        """Stop everything; write how it ended, last of all."""
        for task in self._background:
            task.cancel()
        await self._publisher.close()
        await self._proxy.switch(Phase.CLOSED)
        end: MachineExit | None = None
        if self._machine is not None:
            end = await _ended(self._machine)
            if end is None:
                end = await self._machine.stop()
                if self._stop.is_set():
                    end = dataclasses.replace(end, kind=Exit.STOPPED)
            log.info("machine ended: %s %s", end.kind, end.text)
        await server.close()
        broken = self._record.broken
        if not broken and end is not None and end.kind != Exit.STOPPED:
            broken = f"The sandbox's machine ended by itself: {end.text}"
        self._note(
            state=State.BROKEN if broken else State.STOPPED,
            broken=broken,
            repair="Start again" if broken else "",
            phase="",
            started_at=0.0,
            supervisor=None,
            machine=None,
            ports=(),
            idle_stop=0.0,
        )

    async def _answer(self, request: dict[str, Any], channel: Channel) -> None:
        """One request of the control socket."""
        match request.get("op"):
            case "launch":
                self._bind(request.get("secrets"))
                self._agent.backing = str(request.get("agent", ""))
                keys = request.get("keys", ())
                if self._plan.kit_registry:
                    self._proxy.kits = KitRegistry(from_json(KitShelf, request.get("kits", {})))
                self._skills = from_json(Skills, request.get("skills", {}))
                self._agent.keys = None if keys is None else frozenset(map(str, keys))
                await self._serve_launch(channel, first=request.get("first") is True)
            case "renewed":
                fresh = {name: self._secrets[name] for name in self._fresh if name in self._secrets}
                await channel.send_json({"secrets": fresh})
                self._fresh.difference_update(fresh)
                self._note(renewed=len(self._fresh))
            case "bind":
                self._bind(request.get("secrets"))
                await channel.send_json({"bound": sorted(self._secrets)})
            case "status":
                await channel.send_json(
                    {"refused": self._decisions.refused, "phase": self._record.phase, "idle": self._idle_stop()}
                )
            case "stop":
                self._stop.set()
                await channel.send_json({"stopping": True})
            case "exec":
                with self._in_session():
                    await serve_exec(self._running(), self._plan, request, channel, self._variables(Phase.RUNTIME))
            case "terminal":
                with self._in_session():
                    await serve_terminal(self._running(), self._plan, request, channel, self._variables(Phase.RUNTIME))
            case "files":
                with self._in_session():
                    await serve_files(self._running(), self._plan, request, channel)
            case "ports":
                await channel.send_json({"bound": self._publisher.bound})
            case "port":
                await self._publisher.move(str(request.get("container", "")), int(request.get("host_port", 0)))
                self._note_ports()
                await channel.send_json({"bound": self._publisher.bound})
            case op:
                raise SandboxError(f"The sandbox's supervisor does not know {str(op)[:40]!r}.")

    @contextmanager
    def _in_session(self) -> Iterator[None]:
        self._sessions.begin()
        try:
            yield
        finally:
            self._sessions.end()

    async def _stop_when_idle(self) -> None:
        """End the sandbox once nobody has been connected for its limit (long-running@1 sets none)."""
        while (left := self._sessions.left()) is None or left > 0:
            self._note_idle()
            await self._parts.sleep(IDLE_LOOK if left is None else min(IDLE_LOOK, left))
        minutes = max(1, round(self._plan.idle / 60))
        words = f"Stopped after {minutes} minute{'s' if minutes > 1 else ''} without a session."
        log.info("%s", words)
        self._note(note=words)
        self._stop.set()

    def _idle_stop(self) -> float:
        left = self._sessions.left()
        return 0.0 if left is None else time.time() + left

    def _note_idle(self) -> None:
        """When it would be stopped. Those who ask are told exactly; the record, which everybody watches, only moves
        with what matters: a burst of commands must not write it for each."""
        at, noted = self._idle_stop(), self._record.idle_stop
        if bool(at) != bool(noted) or abs(at - noted) > IDLE_NOTED:
            self._note(idle_stop=at)

    def _note_ports(self) -> None:
        self._note(ports=tuple(f"{LOOPBACK}:{host}->{key}" for key, host in self._publisher.bound.items()))

    def _bind(self, given: object) -> None:
        """Take the secrets of this sandbox's services in place of those before; others are not kept."""
        wanted = {plan.service for plan in self._plan.credentials}
        found = given if isinstance(given, dict) else {}
        self._secrets.clear()
        self._secrets |= {str(name): str(text) for name, text in found.items() if name in wanted}

    def _note_signature(self, relayed: bool, text: str) -> None:
        """One request to the agent, beside the decisions of the network."""
        phase = self._proxy.phase.value
        verdict = "allowed" if relayed else "refused"
        self._decisions.add(Decision(time.time(), phase, "ssh-agent", 0, verdict, reason=text))

    def _renewed(self, service: str) -> None:
        """A provider gave new tokens: whoever keeps them on the host is to come for them."""
        self._fresh.add(service)
        self._note(renewed=len(self._fresh))

    def _variables(self, phase: Phase) -> dict[str, str]:
        own = self._trust | self._agent.variables(phase)
        if self._plan.kit_registry:
            own |= VARIABLES
        return own | variables(self._plan.credentials, self._secrets, phase)

    def _running(self) -> GuestSession:
        if self._session is None or self._record.state is not State.RUNNING:
            raise SandboxError("The sandbox is still starting.", where=self._record.name)
        return self._session

    async def _serve_launch(self, channel: Channel, *, first: bool) -> None:
        if self._launching:
            raise SandboxError("The sandbox is already being started.", where=self._record.name)
        self._launching = True
        self._asked.set()
        launch = asyncio.create_task(self._launch(channel, first))
        others = [
            asyncio.create_task(channel.receive()),
            asyncio.create_task(self._stop.wait()),
            asyncio.create_task(self._crash()),
        ]
        try:
            await asyncio.wait({launch, *others}, return_when=asyncio.FIRST_COMPLETED)
            if not launch.done():
                launch.cancel()
                await asyncio.wait({launch})
                crash = others[2]
                if not crash.done():
                    self._stop.set()
                    raise SandboxError("The launch was stopped.", where=self._record.name)
                raise SandboxError(f"The machine ended during the launch: {crash.result()}", where=self._record.name)
            await launch
        except (Exception, asyncio.CancelledError) as error:
            failure = error if isinstance(error, KitStudioError) else None
            if failure is None:
                log.exception("launch failed")
                failure = SandboxError(f"The launch failed: {type(error).__name__}: {error}.")
            log.warning("launch failed: %s", failure)
            if self._record.created and not self._stop.is_set():
                self._note(broken=f"The last start failed: {failure}", repair="Start again")
            with suppress(ConnectionError):
                await channel.send_json({"error": control.error_to_json(failure)})
            self._stop.set()
        finally:
            for task in others:
                task.cancel()
            self._launched.set()

    async def _crash(self) -> str:
        await self._booted.wait()
        assert self._machine is not None
        return (await self._machine.wait()).text

    async def _launch(self, channel: Channel, first: bool) -> None:
        """Boot, files, install hooks under install grants, closed, profile, startup hooks under runtime grants."""
        plan = self._plan

        async def tell(phase: LaunchPhase, text: str = "", fraction: float | None = None) -> None:
            self._note(phase=phase.value)
            log.info("%s %s", phase.value, text)
            await channel.send_json({"progress": {"phase": phase.value, "text": text, "fraction": fraction}})

        await tell(LaunchPhase.BOOT, f"{plan.accel}, {plan.memory} MiB, {plan.cpus} CPU")
        session = await self._boot()
        await write_start_files(session, plan)
        await set_identity(session, plan)
        self._trust = await trust_authority(session, plan, self._authority.pem)
        await write_credential_files(session, plan, self._secrets)
        left_out = await expose_skills(session, plan, self._store.places)
        before = (text for text in self._record.skipped if not text.startswith(NOTE))
        self._note(skipped=tuple(dict.fromkeys((*before, *self._store.notes, *left_out))))
        if first:
            install = plan.lifecycle.install
            await tell(LaunchPhase.INSTALL, "" if install else "none declared")
            await self._proxy.switch(Phase.INSTALL)
            await self._agent.enter(session, Phase.INSTALL)
            for number, hook in enumerate(install):
                await tell(LaunchPhase.INSTALL, plan.hide(_hook_text(hook)), number / len(install))
                await run_hook(session, hook, plan, self._hooks, self._variables(Phase.INSTALL))
            cut = self._proxy.connections
            await self._proxy.switch(Phase.CLOSED)
            self._agent.leave()
            await tell(LaunchPhase.CLOSE, f"install grants closed, {cut} connections cut")
        await write_profile(session, plan)
        await self._proxy.switch(Phase.RUNTIME)
        await self._agent.enter(session, Phase.RUNTIME)
        await self._publisher.publish()
        self._note_ports()
        await tell(LaunchPhase.STARTUP, "" if plan.lifecycle.startup else "none declared")
        for number, hook in enumerate(plan.lifecycle.startup):
            await tell(LaunchPhase.STARTUP, plan.hide(_hook_text(hook)), number / len(plan.lifecycle.startup))
            if hook.background:
                self._spawn(run_hook(session, hook, plan, self._hooks, self._variables(Phase.RUNTIME)))
            else:
                await run_hook(session, hook, plan, self._hooks, self._variables(Phase.RUNTIME))
        if first:
            self.folder.previous_upper.unlink(missing_ok=True)
        self._note(state=State.RUNNING, created=True, phase="", started_at=time.time())
        self._sessions.ready()
        if self._plan.idle:
            self._keep(self._stop_when_idle())
        await channel.send_json({"progress": {"phase": LaunchPhase.READY.value, "text": "", "fraction": 1.0}})
        await channel.send_json({"ready": True})

    async def _boot(self) -> GuestSession:
        plan, folder = self._plan, self.folder
        account = plan.contract.account
        shares = list(await asyncio.to_thread(mount_shares, mounts_root(folder.path), plan.mounts))
        if plan.workspace:
            shares.append(Share(plan.workspace, "workspace", False, plan.contract.workdir))
        taken = [share.guest_path for share in shares] + [each.path for each in plan.volumes]
        self._store = await asyncio.to_thread(mount_store, self._skills, plan.skill_places, plan.skills, taken)
        shares += self._store.shares
        disks, ram = await asyncio.to_thread(volume_disks, folder.path, plan.volumes)
        machine = self._parts.machine()
        await machine.start(
            MachineSpec(
                folder=folder.machine,
                guest=find_guest_image(),
                layers=plan.layers,
                upper=folder.upper,
                memory_mib=plan.memory,
                cpus=plan.cpus,
                accel=plan.accel,
                keys=load_or_create_keys(folder.keys),
                hostname=plan.hostname,
                shares=tuple(shares),
                disks=disks,
                ram=ram,
                privileged=plan.privileged,
                share_uid=account.uid,
                share_gid=account.gid,
            )
        )
        self._machine = machine
        self._note(machine=state.identify(machine.pid))
        state.write_text(folder.command_line, "\n".join(machine.command_line) + "\n")
        connecting = asyncio.create_task(machine.connect(CONNECT_SECONDS))
        ended = asyncio.create_task(machine.wait())
        try:
            await asyncio.wait({connecting, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                raise SandboxError(
                    f"The machine ended while it started: {ended.result().text}",
                    where=self._record.name,
                    remedy="The console output is in the sandbox's log.",
                )
            session = await self._attach(connecting.result())
            self._booted.set()
            return session
        finally:
            connecting.cancel()
            ended.cancel()

    async def _attach(self, connection: asyncssh.SSHClientConnection) -> GuestSession:
        session = self._parts.session(connection)

        async def out(reader: Any, writer: Any, host: str, port: int) -> None:
            with suppress(asyncssh.Error):
                await self._proxy.serve(reader, writer)

        connection.set_keepalive(KEEPALIVE_SECONDS, KEEPALIVE_COUNT)
        await session.forward(PROXY_PORT, out)
        again = self._session is not None
        self._connection, self._session = connection, session
        if again:
            await self._agent.enter(session, self._proxy.phase)
        return session

    def _spawn(self, work: Awaitable[HookRun]) -> None:
        async def detached() -> None:
            with suppress(SandboxError):  # recorded with its output in the hook log, which is where people look
                await work

        self._keep(detached())

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        """A task that ends with the sandbox at the latest."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _note(self, **changes: Any) -> None:
        self._record = dataclasses.replace(self._record, **changes)
        if not self.folder.path.exists():
            return
        try:
            self.folder.write(self._record)
        except SandboxError as error:
            if self._record.state is not State.RUNNING:
                raise
            log.warning("the record was not written: %s", error)  # what runs goes on running

    def _hooks_changed(self, runs: tuple[HookRun, ...]) -> None:
        state.write_json(self.folder.hooks, to_json(runs[-500:]))

    def _earlier_hooks(self) -> tuple[HookRun, ...]:
        if not self.folder.hooks.exists():
            return ()
        return state.read_json(tuple[HookRun, ...], self.folder.hooks)


def main(argv: list[str]) -> int:
    """Run the supervisor of one folder."""
    folder = Path(argv[1])
    handler = logging.handlers.RotatingFileHandler(SandboxFolder(folder).log, maxBytes=1 << 20, backupCount=1)
    logging.basicConfig(handlers=[handler], level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("asyncssh").setLevel(logging.WARNING)
    asyncio.run(Supervisor(folder).run())
    return 0


async def _first(*waits: Any) -> None:
    tasks = {asyncio.ensure_future(wait) for wait in waits}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _ended(machine: AnyMachine) -> MachineExit | None:
    """How the machine ended, if it has."""
    waiting = asyncio.ensure_future(machine.wait())
    done, _ = await asyncio.wait({waiting}, timeout=0.05)
    if done:
        return waiting.result()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    return None


def _hook_text(hook: Hook) -> str:
    return f"{hook.kit or 'the set'}: {hook.description or ' '.join(hook.command)[:120]}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
