"""The runtime's side of the conformance text (§2.2): each verb through the services a person's own commands use.

A suite asks, the adapter says yes in its name (the records say who) and keeps what only ``create`` is told. What is
declined raises ``GateRefused`` or the runtime's ``SandboxRefused``; everything else that goes wrong is a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from kitstudio.models.descriptor import JsonValue
from kitstudio.models.errors import KitStudioError
from kitstudio.models.lock import ApprovedLock
from kitstudio.models.plan import Plan, ProblemKind
from kitstudio.models.words import repository
from kitstudio.runtime.backend import ExecResult, HostMountFolder, LaunchOptions, SandboxStatus, State
from kitstudio.runtime.host_agent import is_agent
from kitstudio.services.adapter_git import read_identity, write_identity
from kitstudio.services.adapter_kits import adopt, set_file
from kitstudio.services.adapter_records import OFF, AdapterRecords, Created
from kitstudio.services.adapter_turn import turn
from kitstudio.services.app import Studio
from kitstudio.services.approvals import GateRefused
from kitstudio.services.availability import Available, missing, requests, services
from kitstudio.services.composer import Composer
from kitstudio.services.composition import SetState
from kitstudio.services.settings import Settings

USER = "conformance suite (kitstudio adapter)"
"""Whose decisions the approval records say these are."""
SERVICE, SECRET, SKILL = "kit-tck", "KIT_TCK_BOUND_SECRET", "KIT_TCK_SKILL_NAME"
MARGIN = 5.0
STOPPING = 60.0
_FAILURES = (ProblemKind.UNREACHABLE, ProblemKind.MISSING_PLATFORM)
"""Problems of finding a Kit, not of what it asks for."""


class Declined(GateRefused):
    """A set that was read and understood and is not created."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of ``create``. ``skills_mode`` and ``skills_store`` empty: the most permissive, a seeded store."""

    kits: tuple[str, ...]
    args: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    skills_mode: str = ""
    skills_store: str = ""
    agent: str = ""
    known_hosts: str = ""
    git: str = ""
    rejected: tuple[str, ...] = ()


class Adapter:
    """``tell``: takes a line of diagnostics."""

    def __init__(self, studio: Studio, tell: Callable[[str], None]) -> None:
        self._studio = studio
        self._tell = tell
        self._records = AdapterRecords(studio.home.data)

    def begin(self) -> None:
        """Take the home; raises where a person uses it."""
        self._records.begin()

    async def create(self, asked: Asked) -> str:
        """Compose, approve and start; the new sandbox's id."""
        name = f"tck-{secrets.token_hex(5)}"
        created = Created(
            "",
            asked.rejected,
            environment=dict(asked.environment),
            git=_absolute(asked.git),
            agent=_absolute(asked.agent),
            known_hosts=_absolute(asked.known_hosts),
            skills=str(self._skills(name, asked.skills_store)),
            skills_mode={"": "readwrite"}.get(asked.skills_mode, asked.skills_mode),
            idle=self._studio.settings.number("sandbox.idle_minutes") * 60.0,
        )
        async with turn(self._records.folder):
            await self._bind(created)
            composer = self._studio.new_composer()
            try:
                await self._list(composer, asked)
                approved = await self._approved(name, composer, created)
                document, set_args = composer.value.state.text, dict(composer.value.state.set_args)
            finally:
                await composer.close()
            created = replace(created, document=document, set_args=set_args)
            self._records.keep(name, created)
            settings = self._studio.settings
            options = LaunchOptions(
                name,
                memory=settings.number("sandbox.memory"),
                cpus=settings.number("sandbox.cpus"),
                env=created.environment,
                accel=settings.text("sandbox.accel"),
                ssh_agent=created.agent,
                ssh_known_hosts=created.known_hosts,
            )
            try:
                status = await self._studio.sandboxes.launch(approved, options).wait()
            except BaseException:
                self._forget(name)
                raise
        for left_out in status.skipped:
            self._tell(f"left out: {left_out}")
        return name

    async def execute(self, name: str, command: Sequence[str]) -> ExecResult:
        """Run a command as the sandbox's agent, without a terminal and without input."""
        created = self._records.read(name)
        before = _identity(self._studio.settings)
        result = await self._studio.sandboxes.execute(name, command)
        # What the sandbox's processes did to the settings, if they could, is on disk.
        after = _identity(Settings(self._studio.home.settings))
        if after != before and created.git not in ("", OFF):
            write_identity(Path(created.git), *after)
        return result

    async def stop(self, name: str) -> None:
        """Stop it, keeping everything."""
        await self._studio.sandboxes.stop(name).wait()

    async def start(self, name: str) -> None:
        """Start it again: what was selected at create stays."""
        created = self._records.read(name)
        async with turn(self._records.folder):
            await self._bind(created)
            await self._studio.sandboxes.start(name).wait()

    async def recreate(self, name: str) -> None:
        """A fresh writable layer, and a fresh answer to every optional request."""
        created = self._records.read(name)
        async with turn(self._records.folder):
            await self._bind(created)
            composer = self._studio.new_composer()
            try:
                state = SetState(created.document, set_args=created.set_args, environment=created.environment)
                composer.restore(state, created.document, name, None)
                approved = await self._approved(name, composer, created)
            finally:
                await composer.close()
            await self._studio.sandboxes.recreate(name, approved).wait()

    async def remove(self, name: str) -> None:
        """Discard it. What its Kits share on this computer stays."""
        self._records.read(name)
        await self._studio.sandboxes.remove(name).wait()
        self._forget(name)

    async def status(self, name: str) -> str:
        """``running`` or ``stopped``; a broken one is an error."""
        found = await self._studio.sandboxes.status(name)
        if found.state is State.BROKEN:
            raise KitStudioError(f"The sandbox is broken: {found.broken}", where=name, remedy=found.repair)
        return "stopped" if found.state is State.STOPPED else "running"

    async def wait_idle(self, name: str) -> None:
        """Connect and disconnect as each kind of client does, and after each let the idle period pass."""
        period = self._records.read(name).idle
        for connect in (self._command, self._terminal):
            if await self.status(name) == "stopped":
                return
            await connect(name)
            if period:
                await self._let_pass(name, period)

    async def selection(self, name: str) -> dict[str, JsonValue]:
        """What was selected and skipped when it was created, as the runtime keeps it, and the surface it enforces."""
        self._records.read(name)
        kept = (await self._studio.sandboxes.details(name)).get("selection")
        if kept is None:
            raise KitStudioError("The sandbox has no record of its selection.", where=name)
        found: dict[str, JsonValue] = json.loads(kept)
        return found

    def answer(self, name: str, rejected: Sequence[str]) -> None:
        """What the next recreation's selection is answered; nothing is taken from the sandbox as it is."""
        self._records.keep(name, replace(self._records.read(name), rejected=tuple(rejected)))

    async def host_mounts(self, kit: str) -> list[JsonValue]:
        """The folders kept for a Kit, whatever its version."""
        owner = repository(await adopt(self._studio, kit))
        return [
            {"id": each.id, "path": each.path, "hostPath": each.folder}
            for each in await self._studio.sandboxes.mounts()
            if each.owner == owner
        ]

    async def host_mount_file(self, id: str, path: str) -> bytes:
        """A file of such a folder, read here and not through a sandbox."""
        folder = await self._mount(id)
        return await asyncio.to_thread(_read_below, Path(folder.folder), path)

    async def host_mount_remove(self, id: str) -> None:
        """Delete one."""
        await self._studio.sandboxes.remove_mount((await self._mount(id)).id)

    async def _list(self, composer: Composer, asked: Asked) -> None:
        """The Kits into the set, by digest; the values to whoever declares them."""
        listed: dict[str, str] = {}
        for kit in asked.kits:
            if len(asked.kits) == 1 and (path := await set_file(kit)) is not None:
                await composer.open(path)
                continue
            reference = await adopt(self._studio, kit)
            name, _, digest = reference.partition("@")
            if listed.setdefault(name, digest) != digest:
                raise KitStudioError("Two different Kits have one name and version here.", where=f"{kit}: {name}")
            composer.add(reference)
        await composer.settled()
        plan = composer.value.plan
        _refuse_failures(plan)
        for name, value in asked.args:
            owners = [each.kit for each in composer.value.plan.inputs if each.name == name]
            if not owners:
                raise Declined(f"No Kit of this set declares the input {name}.", where=f"--arg {name}")
            for owner in owners:
                composer.set_arg(owner, name, value)
        state = composer.value.state
        composer.apply(replace(state, environment=dict(asked.environment)))
        composer.pin(*(member.reference for member in composer.value.plan.members))
        await composer.settled()

    async def _approved(self, name: str, composer: Composer, created: Created) -> ApprovedLock:
        """Judge, answer the selection, and say yes."""
        await composer.settled()
        _refuse(composer.value.plan)
        plan = composer.value.plan
        identity = all(value.strip() for value in _identity(self._studio.settings))
        held = frozenset(await self._studio.credentials.held(services(plan)))
        agent = await asyncio.to_thread(is_agent, created.agent) if created.agent else False
        off = missing(plan, Available(identity, agent, held)) | _rejections(plan, created.rejected)
        if off:
            composer.apply(replace(composer.value.state, choices=off))
            _refuse(composer.value.plan)
        request = await self._studio.approvals.request(name, composer.value.plan)
        return await self._studio.approvals.approve(request, frozenset(each.key for each in request.critical))

    async def _bind(self, created: Created) -> None:
        """What this sandbox is given of the host, as a person would state it: settings, and the bound secret."""
        settings = self._studio.settings
        name, email = ("", "") if created.git in ("", OFF) else read_identity(Path(created.git))
        if not name.strip() or not email.strip():
            name = email = ""
        settings.set("git.name", name)
        settings.set("git.email", email)
        settings.set("ssh.agent", "")
        settings.set("skills.folder", created.skills)
        settings.set("skills.mode", created.skills_mode)
        secret = os.environ.get(SECRET, "")
        if secret and (await self._studio.credentials.held((SERVICE,))).get(SERVICE) != secret:
            await self._studio.credentials.bind(SERVICE, secret, "file")

    def _skills(self, name: str, store: str) -> Path:
        """The folder that stands for a person's own skills. Seeded with a marker unless asked otherwise."""
        own = self._records.folder / f"{name}.skills"
        if store == "missing":
            return own
        if store == "empty":
            own.mkdir(mode=0o700)
            return own
        shared = self._records.folder / "skills"
        shared.mkdir(mode=0o700, exist_ok=True)
        if marker := os.environ.get(SKILL, ""):
            if PurePosixPath(marker).name != marker or marker in (".", ".."):
                raise KitStudioError("This is not the name of a skill.", where=f"{SKILL}={marker[:80]}")
            (shared / marker).mkdir(exist_ok=True)
            text = f"---\nname: {marker}\ndescription: A marker of the conformance suite.\n---\n"
            if not (shared / marker / "SKILL.md").exists():
                (shared / marker / "SKILL.md").write_text(text, encoding="utf-8")
        return shared

    def _forget(self, name: str) -> None:
        self._records.forget(name)
        shutil.rmtree(self._records.folder / f"{name}.skills", ignore_errors=True)

    async def _mount(self, id: str) -> HostMountFolder:
        found = next((each for each in await self._studio.sandboxes.mounts() if each.id == id), None)
        if found is None:
            raise KitStudioError("There is no shared folder of that id.", where=id[:80])
        return found

    async def _command(self, name: str) -> None:
        await self._studio.sandboxes.execute(name, ("true",))

    async def _terminal(self, name: str) -> None:
        terminal = await self._studio.sandboxes.terminal(name, (), columns=80, rows=24)
        try:
            await asyncio.sleep(0.5)
        finally:
            await terminal.close()

    async def _let_pass(self, name: str, period: float) -> None:
        """The idle period and a margin; where the runtime means to stop it, until it has. Only its state is read."""
        await asyncio.sleep(period + MARGIN)
        deadline = time.monotonic() + STOPPING
        while time.monotonic() < deadline:
            found: SandboxStatus = await self._studio.sandboxes.status(name)
            if found.state is not State.RUNNING or not found.idle_stop:
                return
            await asyncio.sleep(0.2)


def _identity(settings: Settings) -> tuple[str, str]:
    return settings.text("git.name"), settings.text("git.email")


def _absolute(path: str) -> str:
    return path if path in ("", OFF) else str(Path(path).absolute())


def _refuse_failures(plan: Plan) -> None:
    failed = [problem for problem in plan.problems if problem.kind in _FAILURES]
    if failed:
        raise KitStudioError("\n".join(f"{p.message} {p.detail}".strip() for p in failed))


def _refuse(plan: Plan) -> None:
    _refuse_failures(plan)
    problems = (*plan.problems, *plan.runtime_problems)
    if problems:
        raise Declined("\n".join(f"{p.kind.value}: {p.message} {p.detail}".strip() for p in problems))
    if not plan.launchable:
        raise KitStudioError("The set could not be judged.")


def _rejections(plan: Plan, rejected: Sequence[str]) -> dict[str, bool]:
    """The choices that answer no for these types. Declined where a required request is one of them."""
    off: dict[str, bool] = {}
    required: list[str] = []
    for kit, record, path, entry in requests(plan):
        if entry.type in rejected:
            off[f"{kit}#{path}"] = False
            if not record.optional:
                group = f" (group “{record.name}”)" if record.name and path != record.path else ""
                required.append(f"{kit or 'the set'} requires {entry.type} at {path}{group}, and it was refused")
    if required:
        raise Declined("\n".join(required))
    return off


def _read_below(root: Path, path: str) -> bytes:
    """A regular file below ``root``. No link is followed: a sandbox writes there, and could point anywhere."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        raise KitStudioError("This is not a path inside the shared folder.", where=path[:200])
    handles = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        for part in parts[:-1]:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            handles.append(os.open(part, flags, dir_fd=handles[-1]))
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handles.append(os.open(parts[-1], flags, dir_fd=handles[-1]))
        if not stat.S_ISREG(os.fstat(handles[-1]).st_mode):
            raise KitStudioError("This is not a file.", where=path[:200])
        with os.fdopen(handles.pop(), "rb") as stream:
            return stream.read()
    except OSError as error:
        raise KitStudioError(f"The file cannot be read: {error.strerror}.", where=path[:200]) from error
    finally:
        for handle in handles:
            os.close(handle)
