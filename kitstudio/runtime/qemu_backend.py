"""``QemuBackend``: sandboxes as virtual machines on this computer, one folder and one supervisor process each."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from kitstudio.models import surface as surfaces
from kitstudio.models.lock import ApprovedLock, encode
from kitstudio.models.selection_json import records_json
from kitstudio.runtime import control, ports, sessions, state
from kitstudio.runtime.attendance import START_AGAIN, Tell, halt, launch, restore_upper, settle, status_of, stopped
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
    SecretSource,
    State,
    Terminal,
)
from kitstudio.runtime.capabilities import CLAIMED
from kitstudio.runtime.capabilities.agent_sessions import Verb, session_argv
from kitstudio.runtime.capabilities.credential import wanted_services
from kitstudio.runtime.capabilities.volume import plan_volumes
from kitstudio.runtime.codec import to_json
from kitstudio.runtime.files import SandboxFiles
from kitstudio.runtime.guest.image import find_guest_image
from kitstudio.runtime.host_agent import is_agent
from kitstudio.runtime.host_mounts import list_mounts, remove_mount, why_not_shared
from kitstudio.runtime.launch import LaunchPlan, Origin
from kitstudio.runtime.layers import LayerCache
from kitstudio.runtime.logs import read_logs
from kitstudio.runtime.prepare import (
    Prepared,
    effective_yaml,
    options_of,
    prepare,
    refuse_own_folders,
    refuse_unclaimed,
)
from kitstudio.runtime.proxy.kit_registry import KitShelf
from kitstudio.runtime.proxy.log import read_decisions
from kitstudio.runtime.qemu.disk import create_disk
from kitstudio.runtime.qemu.probe import acceleration
from kitstudio.runtime.shelf import claim, marks, paths, sweep
from kitstudio.runtime.skill_store import OFF, Skills
from kitstudio.runtime.state import SandboxFolder, check_name, read_or_none
from kitstudio.runtime.storage import check_volumes, list_volumes, make_volumes

UPPER_MIB = 8192

Probe = Callable[[], Awaitable[tuple[str, str]]]


class QemuBackend:
    """``backend.Backend`` on QEMU. ``home``: folder with ``sandboxes/``; ``cache``: folder with ``layers/``.

    ``probe``: finds (acceleration, why); injected in tests. ``secrets``: what the host holds for
    services (credential@1). ``agent``: the socket of the person's SSH agent, empty for none; ``agent_keys``: the
    fingerprints of it that may be used, None for all; ``skills``: the person's own; ``kits``: what the
    registry inside serves (kit-registry@1). All asked at each start.
    """

    def __init__(
        self,
        home: Path,
        cache: Path,
        *,
        probe: Probe | None = None,
        secrets: SecretSource | None = None,
        agent: Callable[[], str] = lambda: "",
        agent_keys: Callable[[], frozenset[str] | None] = lambda: None,
        skills: Callable[[], Skills] = Skills,
        kits: Callable[[], Awaitable[KitShelf]] | None = None,
    ) -> None:
        self._sandboxes = home / "sandboxes"
        self._state = cache
        self._mounts = home / "mounts"
        self._own = (self._sandboxes, self._mounts, home / "locks", home / "studio.db", cache)
        self._layers = LayerCache(cache / "layers")
        self._probe = probe or self._really_probe
        self._secrets = secrets or _no_secrets
        self._agent = agent
        self._agent_keys = agent_keys
        self._said_skills = skills
        self._kits = kits or _no_kits
        self._acceleration: tuple[str, str] | None = None

    def capabilities(self) -> frozenset[str]:
        """Capability types enforced here."""
        return CLAIMED

    async def acceleration(self) -> tuple[str, str]:
        """(``kvm`` | ``tcg``, why)."""
        if self._acceleration is None:
            self._acceleration = await self._probe()
        return self._acceleration

    async def create(
        self,
        approved: ApprovedLock,
        options: LaunchOptions,
        images: ImageProvider,
        progress: Callable[[Progress], None],
    ) -> SandboxStatus:
        """A new running sandbox, or nothing but cached layers."""
        name = check_name(options.name)
        refuse_unclaimed(approved)
        await asyncio.to_thread(refuse_own_folders, options.workspace, self._own)
        tell = _teller(progress)
        claiming = asyncio.ensure_future(asyncio.to_thread(claim, self._sandboxes, name, approved, options))
        try:
            folder, lock = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            folder, lock = await claiming  # the thread cannot be stopped, so what it took is given back
            await self._discard(folder)
            os.close(lock)
            raise
        try:
            tell(LaunchPhase.PULL, "finding out what this computer can do", None)
            accel = options.accel or (await self.acceleration())[0]
            held = await self._secrets(wanted_services(approved))
            agent = await self._live_agent(options.ssh_agent)
            prepared = await prepare(
                approved, options, accel, images, self._layers, tell, bound=held, agent=bool(agent)
            )
            await self._lay_out(folder, approved, prepared)
            await asyncio.to_thread(_fix_ports, folder, prepared.plan, options.ports)
            await make_volumes(folder.path, prepared.plan.volumes)
            await create_disk(folder.upper, UPPER_MIB, "upper")
            await self._launch(folder, prepared.plan, tell, first=True, secrets=held, agent=agent)
        except BaseException:
            await asyncio.shield(self._discard(folder))
            raise
        finally:
            os.close(lock)
        return await self.status(name)

    async def start(self, name: str, progress: Callable[[Progress], None]) -> SandboxStatus:
        """Boot it again."""
        folder = self._folder(name)
        async with folder.operating("start"):
            record = await asyncio.to_thread(read_or_none, folder)
            # While we hold its lock a sandbox counts as worked on, and a record without a supervisor as true.
            if record is not None and state.is_alive(record.supervisor):
                status = await status_of(folder)
                if status.state is State.RUNNING:
                    return status
            await settle(folder)
            plan = state.read_json(LaunchPlan, folder.launch)
            await asyncio.to_thread(refuse_own_folders, plan.workspace, self._own)
            missing = [p for p in plan.layers if not p.is_file()]
            if missing:
                raise SandboxError(
                    "A converted layer of this sandbox has left the cache.",
                    where=str(missing[0]),
                    remedy="Recreate the sandbox: its layers are fetched again, its writable layer starts afresh.",
                )
            agent = plan.agent_socket or self._agent()
            held = await self._held(plan)
            await self._launch(folder, plan, _teller(progress), first=False, secrets=held, agent=agent)
        return await self.status(name)

    async def stop(self, name: str) -> None:
        """Power off. Works while it is starting, too; does nothing to a stopped one."""
        folder = self._folder(name)
        await halt(folder)
        record = folder.read()
        if record.state in (State.STARTING, State.RUNNING) and (handle := folder.try_lock()) is not None:
            try:
                folder.write(stopped(record))
            finally:
                os.close(handle)

    async def recreate(
        self,
        name: str,
        approved: ApprovedLock,
        images: ImageProvider,
        progress: Callable[[Progress], None],
        *,
        anew: bool = False,
    ) -> SandboxStatus:
        """A fresh writable layer under the same lock, or under one decided ``anew``; when that fails the old layer and
        the old lock are put back."""
        folder = self._folder(name)
        tell = _teller(progress)
        async with folder.operating("recreate"):
            record = folder.read()
            if approved.sha256 != record.lock_sha256 and not anew:
                raise SandboxError(
                    "The approved lock is not the one this sandbox was created from.",
                    where=name,
                    remedy="Create another sandbox from the new lock.",
                )
            refuse_unclaimed(approved)
            old = state.read_json(LaunchPlan, folder.launch)
            if sorted(approved.secrets) != sorted(old.secrets):
                # No lock tells secrets apart: another sandbox of the same lock may have been given others since.
                raise SandboxError(
                    "This sandbox was given other secrets than the set holds now.",
                    where=name,
                    remedy="Launch the set anew and give the values this sandbox is to have.",
                )
            await asyncio.to_thread(refuse_own_folders, old.workspace, self._own)
            await asyncio.to_thread(check_volumes, folder.path, plan_volumes(approved.effective)[0])
            await halt(folder)
            await settle(folder)
            accel = old.options.accel or (await self.acceleration())[0]
            held = await self._secrets(wanted_services(approved))
            agent = await self._live_agent(old.agent_socket)
            prepared = await prepare(
                approved, options_of(old), accel, images, self._layers, tell, bound=held, agent=bool(agent)
            )
            described = (folder.launch, folder.record, folder.lock, folder.effective, folder.selection)
            old_texts = {path: path.read_text(encoding="utf-8") for path in described if path.exists()}
            os.replace(folder.upper, folder.previous_upper)
            try:
                await self._lay_out(folder, approved, prepared)
                await make_volumes(folder.path, prepared.plan.volumes)
                await create_disk(folder.upper, UPPER_MIB, "upper")
                folder.hooks.unlink(missing_ok=True)
                await self._launch(folder, prepared.plan, tell, first=True, secrets=held, agent=agent)
            except BaseException:
                await asyncio.shield(halt(folder))
                for path, text in old_texts.items():
                    state.write_text(path, text)
                restore_upper(folder)
                raise
        return await self.status(name)

    async def remove(self, name: str) -> None:
        """Stop it and leave nothing of it."""
        folder = self._folder(name)
        async with folder.operating("remove"):
            await self._discard(folder)

    async def repair(self, name: str) -> SandboxStatus:
        """Do what ``status.repair`` says: clean up after a dead supervisor, or start again."""
        folder = self._folder(name)
        status = await status_of(folder)
        if status.state is not State.BROKEN:
            return status
        async with folder.operating("repair"):
            await halt(folder)
            await settle(folder)
        if status.repair == START_AGAIN:
            return await self.start(name, lambda step: None)
        return await self.status(name)

    async def list(self) -> tuple[SandboxStatus, ...]:
        """Every sandbox by name. Half-made ones whose maker has died are taken away first."""
        await asyncio.to_thread(sweep, self._sandboxes)
        found: list[SandboxStatus] = []
        for path in await asyncio.to_thread(paths, self._sandboxes):
            folder = SandboxFolder(path)
            if not await self._reconcile(folder):
                with suppress(FileNotFoundError):
                    found.append(await status_of(folder))
        return tuple(found)

    async def status(self, name: str) -> SandboxStatus:
        """One sandbox."""
        return await status_of(self._folder(name))

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
        """Run a command; an empty one is the headless launch argv (§8)."""
        return await sessions.execute(
            self._folder(name).path,
            command,
            stdin=stdin,
            user=user,
            env=env or {},
            timeout=timeout,
            on_output=on_output,
        )

    async def terminal(self, name: str, command: Sequence[str], *, columns: int, rows: int, user: str = "") -> Terminal:
        """A PTY; an empty command is the interactive launch argv (§8)."""
        return await sessions.SocketTerminal.open(
            self._folder(name).path, command, columns=columns, rows=rows, user=user
        )

    async def launch_commands(self, name: str) -> Mapping[str, tuple[str, ...]]:
        """The argvs of §8 a sandbox can be opened with."""
        plan = await asyncio.to_thread(state.read_json, LaunchPlan, self._folder(name).launch)
        contract = plan.contract
        return {
            "interactive": contract.argv(plan.lifecycle.interactive, terminal=True),
            "headless": contract.argv(None, terminal=False),
            "shell": (contract.shell,) if contract.shell else (),
        }

    def files(self, name: str, user: str = "") -> SandboxFiles:
        """The files of a running sandbox."""
        return SandboxFiles(self._folder(name).path, user)

    async def session_command(self, name: str, verb: str, value: str = "") -> tuple[str, ...]:
        """The command behind a verb of agent-sessions@1, built on the headless launch argv (§8)."""
        plan = await asyncio.to_thread(state.read_json, LaunchPlan, self._folder(name).launch)
        launch = plan.contract.argv(plan.lifecycle.interactive, terminal=False)
        return session_argv(plan.sessions, launch, Verb(verb), value)

    async def rebind(self, service: str) -> tuple[str, ...]:
        """Hand a service's secret as it is now to every running sandbox that signs in to it; their names."""
        told: list[str] = []
        for status in await self.list():
            folder = SandboxFolder(self._sandboxes / status.name)
            plan = await asyncio.to_thread(_plan_or_none, folder)
            if plan is None or status.state is not State.RUNNING:
                continue
            services = [each.service for each in plan.credentials]
            if service in services:
                held = await self._secrets(services)
                async with control.request(folder.path, "bind", secrets=dict(held)) as channel:
                    await channel.receive_json()
                told.append(status.name)
        return tuple(told)

    async def renewed(self, name: str) -> Mapping[str, str]:
        """Tokens a provider renewed since the last time somebody came for them, by service."""
        folder = self._folder(name)
        try:
            async with control.request(folder.path, "renewed") as channel:
                found = (await channel.receive_json())["secrets"]
        except SandboxError:
            return {}
        return {str(service): str(text) for service, text in found.items()}

    async def _launch(
        self,
        folder: SandboxFolder,
        plan: LaunchPlan,
        tell: Tell,
        *,
        first: bool,
        secrets: Mapping[str, str],
        agent: str,
    ) -> None:
        keys, skills = self._keys(plan), await self._skills(plan)
        kits = await self._kits() if plan.kit_registry else KitShelf()
        await launch(folder, tell, first=first, secrets=secrets, agent=agent, keys=keys, skills=skills, kits=kits)

    def _keys(self, plan: LaunchPlan) -> frozenset[str] | None:
        """The agent's keys a sandbox may use: those it was created with, else what the person says now."""
        return self._agent_keys() if plan.agent_keys is None else frozenset(plan.agent_keys)

    async def _skills(self, plan: LaunchPlan) -> Skills:
        """The person's own skills for a start, and why they are not shown where they must not or cannot be."""
        said = Skills(str(plan.skills_store or ""), plan.skills_mode) if plan.skills_mode else self._said_skills()
        if said.mode == OFF or not said.folder or not plan.skill_places:
            return Skills()
        try:
            await asyncio.to_thread(refuse_own_folders, Path(said.folder), self._own)
        except SandboxError:
            return Skills(why="the folder holds Kit Studio’s own files, or lies among them")
        account = plan.contract.account
        unable = await why_not_shared(account.uid, account.gid)
        return Skills(why=f"this computer cannot show it: {unable}") if unable else said

    async def _live_agent(self, stated: str) -> str:
        path = stated or self._agent()
        return path if await asyncio.to_thread(is_agent, path) else ""

    async def _held(self, plan: LaunchPlan) -> Mapping[str, str]:
        """The secrets of a sandbox that starts again; ``SandboxError`` where a required one is gone."""
        held = await self._secrets([each.service for each in plan.credentials])
        for each in plan.credentials:
            if each.required and each.service not in held:
                raise SandboxError(
                    f"No secret is bound to the service {each.service} any more.",
                    where=each.kit or plan.name,
                    remedy=f"Bind one: kitstudio credentials set {each.service} --stdin",
                )
        return held

    async def ports(self, name: str) -> tuple[PublishedPort, ...]:
        """The published ports, running or not."""
        folder = self._folder(name)
        plan = await asyncio.to_thread(state.read_json, LaunchPlan, folder.launch)
        choices = await asyncio.to_thread(ports.read_choices, folder.path)
        bound: dict[str, int] = {}
        with suppress(SandboxError):
            async with control.request(folder.path, "ports") as channel:
                bound = (await channel.receive_json())["bound"]
        return ports.described(plan.ports, choices, bound)

    async def set_port(self, name: str, container: str, host_port: int) -> tuple[PublishedPort, ...]:
        """Publish a port where the person wants it, at once if the sandbox runs."""
        folder = self._folder(name)
        plan = await asyncio.to_thread(state.read_json, LaunchPlan, folder.launch)
        ports.check_choice(plan.ports, container, host_port)
        if (await status_of(folder)).state in (State.RUNNING, State.STARTING):
            async with control.request(folder.path, "port", container=container, host_port=host_port) as channel:
                await channel.receive_json()
        else:
            async with folder.operating("change a port of"):
                await asyncio.to_thread(_fix_ports, folder, plan, {container: host_port})
        return await self.ports(name)

    async def environment(self, name: str) -> Mapping[str, str]:
        """The overrides it was created with."""
        plan = await asyncio.to_thread(state.read_json, LaunchPlan, self._folder(name).launch)
        return plan.options.env

    async def storage(self, name: str) -> tuple[OwnStorage, ...]:
        """The sandbox's own volumes."""
        folder = self._folder(name)
        plan = await asyncio.to_thread(state.read_json, LaunchPlan, folder.launch)
        return await asyncio.to_thread(list_volumes, folder.path, plan.volumes)

    async def mounts(self) -> tuple[HostMountFolder, ...]:
        """Folders kept for host-mount@1."""
        users = [
            (status.name, status.state in (State.STARTING, State.RUNNING, State.WAITING), plan.mounts)
            for status in await self.list()
            if (plan := await asyncio.to_thread(_plan_or_none, SandboxFolder(self._sandboxes / status.name)))
        ]
        return await asyncio.to_thread(list_mounts, self._mounts, users)

    async def remove_mount(self, id: str) -> None:
        """Delete one of them."""
        found = next((each for each in await self.mounts() if each.id == id), None)
        if found is None:
            raise SandboxError(f"There is no shared folder {id[:80]!r}.", remedy="List them with: kitstudio mounts")
        await asyncio.to_thread(remove_mount, self._mounts, found)

    async def hooks(self, name: str) -> tuple[HookRun, ...]:
        """Hook runs since create, oldest first."""
        path = self._folder(name).hooks
        return await asyncio.to_thread(state.read_json, tuple[HookRun, ...], path) if path.exists() else ()

    async def decisions(self, name: str) -> tuple[Decision, ...]:
        """The latest egress decisions, oldest first."""
        return await asyncio.to_thread(read_decisions, self._folder(name).decisions)

    async def log(self, name: str) -> str:
        """The supervisor's log and the guest's console, control characters taken out."""
        folder = self._folder(name)
        return await asyncio.to_thread(read_logs, folder)

    async def details(self, name: str) -> Mapping[str, str]:
        """Lock, effective descriptor, selection records, QEMU command line, paths."""
        folder = self._folder(name)

        def read() -> dict[str, str]:
            texts = {"effective": folder.effective, "selection": folder.selection, "qemu": folder.command_line}
            found = {key: path.read_text(encoding="utf-8") for key, path in texts.items() if path.exists()}
            if folder.lock.exists():
                found["lock"] = state.read_json(Origin, folder.lock).text
            return found | {"folder": str(folder.path), "console": str(folder.machine / "console.log")}

        return await asyncio.to_thread(read)

    async def events(self) -> AsyncIterator[str]:
        """Names whose files changed, whoever changed them: this process, a supervisor, another window."""
        seen = await asyncio.to_thread(marks, self._sandboxes)
        while True:
            await asyncio.sleep(0.5)
            now = await asyncio.to_thread(marks, self._sandboxes)
            for name in sorted(now.keys() | seen.keys()):
                if now.get(name) != seen.get(name):
                    yield name
            seen = now

    async def _really_probe(self) -> tuple[str, str]:
        self._state.mkdir(parents=True, exist_ok=True)
        found = await acceleration(find_guest_image(), self._state)
        return found.kind, found.reason

    def _folder(self, name: str) -> SandboxFolder:
        folder = SandboxFolder(self._sandboxes / check_name(name))
        if not folder.path.is_dir():
            raise SandboxError(f"There is no sandbox named {name}.", where=name, remedy="List them with: kitstudio ls")
        return folder

    async def _lay_out(self, folder: SandboxFolder, approved: ApprovedLock, prepared: Prepared) -> None:
        plan = prepared.plan

        def write() -> None:
            state.write_json(folder.launch, to_json(plan))
            state.write_json(folder.lock, to_json(Origin(approved.lock.name, approved.sha256, encode(approved.lock))))
            state.write_text(folder.effective, effective_yaml(approved))
            chosen = {"selection": records_json(approved.records), "surface": surfaces.to_json(approved.lock.surface)}
            state.write_json(folder.selection, chosen)
            folder.write(
                dataclasses.replace(
                    folder.read(),
                    lock_sha256=approved.sha256,
                    accel=plan.accel,
                    memory_limit=plan.memory,
                    skipped=prepared.skipped,
                )
            )

        await asyncio.to_thread(write)

    async def _discard(self, folder: SandboxFolder) -> None:
        await halt(folder)
        gone = folder.path.with_name(f".gone-{secrets.token_hex(6)}")
        os.rename(folder.path, gone)
        await asyncio.to_thread(shutil.rmtree, gone, ignore_errors=True)

    async def _reconcile(self, folder: SandboxFolder) -> bool:
        """Take a half-made sandbox away if nobody is making it any more; True when it is gone."""
        record = await asyncio.to_thread(read_or_none, folder)
        if record is None or record.created:
            return False
        lock = folder.try_lock() if folder.path.exists() else None
        if lock is None:
            return False
        try:
            record = read_or_none(folder)
            if record is None or record.created:
                return False
            await self._discard(folder)
            return True
        finally:
            os.close(lock)


async def _no_kits() -> KitShelf:
    return KitShelf()


async def _no_secrets(services: Collection[str]) -> Mapping[str, str]:
    return {}


def _fix_ports(folder: SandboxFolder, plan: LaunchPlan, wanted: Mapping[str, int]) -> None:
    """Keep the host ports a person chose; 0 takes a choice back."""
    if not wanted:
        return
    choices = ports.read_choices(folder.path)
    fixed = dict(choices.fixed)
    for container, host_port in wanted.items():
        ports.check_choice(plan.ports, container, host_port)
        fixed.pop(container, None)
        if host_port:
            fixed[container] = host_port
    ports.write_choices(folder.path, dataclasses.replace(choices, fixed=fixed))


def _plan_or_none(folder: SandboxFolder) -> LaunchPlan | None:
    try:
        return state.read_json(LaunchPlan, folder.launch)
    except SandboxError:
        return None


def _teller(progress: Callable[[Progress], None]) -> Tell:
    begun = time.monotonic()

    def tell(phase: LaunchPhase, text: str = "", fraction: float | None = None) -> None:
        progress(Progress(phase, text, fraction, round(time.monotonic() - begun, 3)))

    return tell
