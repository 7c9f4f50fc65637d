"""``Studio``: one home folder, one object per job family. Windows and commands get everything from here."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.runtime.capabilities import CLAIMED
from kitstudio.services.catalog import Catalog
from kitstudio.services.home import Home, open_home
from kitstudio.services.jobs import Jobs
from kitstudio.services.network_settings import NETWORK_KEYS
from kitstudio.services.places import Places
from kitstudio.services.policy import policy_of
from kitstudio.services.settings import Settings, SettingsError
from kitstudio.services.sign_in import SignIn

if TYPE_CHECKING:
    from kitstudio.models.lock import ApprovedLock
    from kitstudio.models.plan import Plan
    from kitstudio.registry.icons import Icons
    from kitstudio.registry.index import KitIndex
    from kitstudio.runtime.backend import Backend, LaunchOptions
    from kitstudio.runtime.proxy.kit_registry import KitShelf
    from kitstudio.runtime.skill_store import Skills
    from kitstudio.services.approvals import Approvals
    from kitstudio.services.cache_limits import CacheLimits
    from kitstudio.services.caches import Caches
    from kitstudio.services.composer import Composer
    from kitstudio.services.credentials import Credentials
    from kitstudio.services.ground import Judgement
    from kitstudio.services.publishing import Publishing
    from kitstudio.services.sandboxes import Sandboxes
    from kitstudio.services.updates import Updates

CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Options:
    """How the program was started (``cli.md``, global flags). ``home`` None = platformdirs. ``user``: who decides, in
    approval records; empty for the person's account name."""

    home: Path | None = None
    offline: bool = False
    plain_http: tuple[str, ...] = ()
    user: str = ""


class Studio:
    """Open with ``await Studio.open(options)``, end with ``await close()``."""

    def __init__(self, home: Home, options: Options, backend: Backend | None = None) -> None:
        self.home = home
        self.options = options
        self.jobs = Jobs()
        self.settings = Settings(home.settings)
        self.places = Places(home, self.settings, offline=options.offline, plain_http=options.plain_http)
        self.catalog = Catalog(self.places, self.settings)
        self.sign_in = SignIn(self.places)
        self._icons: Icons | None = None
        self._backend = backend
        self._sandboxes: Sandboxes | None = None
        self._publishing: Publishing | None = None
        self._credentials: Credentials | None = None
        self.settings.changed.subscribe(self._network_changed)
        self._housekeeping: asyncio.Task[None] | None = None
        self._update_watch: asyncio.Task[None] | None = None

    @cached_property
    def cache_limits(self) -> CacheLimits:
        """What keeps the caches within their limits, on first use; ``start`` runs it."""
        from kitstudio.services.cache_limits import CacheLimits

        made = CacheLimits(self.home, self.settings, self._open_digests)
        self.settings.changed.subscribe(made.note_setting)
        self.jobs.changed.subscribe(made.note_job)
        return made

    @cached_property
    def caches(self) -> Caches:
        """Sizes of the caches and emptying them, on first use."""
        from kitstudio.services.caches import Caches

        return Caches(self.home, self.cache_limits, lambda: self.kit_index, lambda: self.icons)

    @cached_property
    def judgement(self) -> Judgement:
        """What sets are judged by, on first use."""
        from kitstudio.services.ground import Judgement

        return Judgement(self.places, self._claims, self.catalog.offers)

    @cached_property
    def approvals(self) -> Approvals:
        """The gate, on first use."""
        from kitstudio.services.approvals import Approvals
        from kitstudio.services.ground import relock

        return Approvals(
            self.home,
            self.judgement.again,
            rebuild=lambda lock, document: relock(self.judgement, lock, document),
            policy=lambda: policy_of(self.settings),
            user=self.options.user,
        )

    @cached_property
    def updates(self) -> Updates:
        """Newer versions of approved Kits, on first use."""
        from kitstudio.services.ground import relock
        from kitstudio.services.updates import Updates

        return Updates(
            self.approvals,
            lambda reference: self.places.of(reference).source,
            lambda lock, document: relock(self.judgement, lock, document),
            lambda: policy_of(self.settings),
            self.settings,
        )

    @cached_property
    def composer(self) -> Composer:
        """The set that is open, on first use."""
        return self.new_composer()

    @property
    def publishing(self) -> Publishing:
        """Sending new Kits out, on first use: reading needs none of it."""
        if self._publishing is None:
            from kitstudio.services.publishing import Publishing

            self._publishing = Publishing(self.places, self.jobs, self.home.blobs)
        return self._publishing

    @property
    def credentials(self) -> Credentials:
        """Secrets bound to services, on first use."""
        if self._credentials is None:
            from kitstudio.services.credentials import Credentials

            self._credentials = Credentials(lambda: self.places.sign_ins().stores, self.home.data / "bindings.json")
        return self._credentials

    @property
    def sandboxes(self) -> Sandboxes:
        """Sandboxes, on first use: most commands need no machine."""
        if self._sandboxes is None:
            from kitstudio.services.images import Images
            from kitstudio.services.sandboxes import Sandboxes

            if self._backend is None:
                from kitstudio.runtime.qemu_backend import QemuBackend

                self._backend = QemuBackend(
                    self.home.data,
                    self.home.cache,
                    secrets=self.credentials.held,
                    agent=self.ssh_agent,
                    agent_keys=self._ssh_keys,
                    skills=self._skills,
                    kits=self._served_kits,
                )
            self._sandboxes = Sandboxes(
                self._backend,
                Images(self.places),
                self.jobs,
                self._reapprove,
                self._settled,
                self._renew,
                self.approvals.granted,
            )
        return self._sandboxes

    @property
    def icons(self) -> Icons:
        """Icons from the network, fetched the way out that the settings say."""
        if self._icons is None:
            from kitstudio.registry.icons import Icons

            self._icons = Icons(self.home.icons, network=self.places.network(), offline=self.options.offline)
        return self._icons

    @property
    def kit_index(self) -> KitIndex:
        """The index of Kits seen, opened on first use; its methods block (``registry.threads.in_thread``)."""
        return self.places.index()

    async def load_gate(self) -> None:
        """Read the modules of composer and gate in a thread, so that their first use does not wait for them."""
        for name in ("ground", "composer", "approvals", "updates", "caches"):
            await asyncio.to_thread(importlib.import_module, f"kitstudio.services.{name}")

    async def load_runtime(self) -> None:
        """The same for the runtime and ``sandboxes``."""
        await asyncio.to_thread(importlib.import_module, "kitstudio.services.sandboxes")
        if self._backend is None:
            await asyncio.to_thread(importlib.import_module, "kitstudio.runtime.qemu_backend")

    @classmethod
    async def open(cls, options: Options, backend: Backend | None = None) -> Studio:
        """Open the home: no network, no listing; the first view asks for what it shows."""
        home = await asyncio.to_thread(open_home, options.home)
        return cls(home, options, backend)

    async def start(self) -> None:
        """For a program that stays: show what is kept, watch folders, keep the caches within their limits. Once; ended
        by ``close``."""
        await self.load_gate()
        if self._housekeeping is None:
            loop = asyncio.get_running_loop()
            self._housekeeping = loop.create_task(self.cache_limits.run(), name="keep the caches within their limits")
            self._update_watch = loop.create_task(self.updates.run(), name="look for newer versions of approved Kits")
            await self.catalog.start()

    def new_composer(self) -> Composer:
        """A composer of its own, for a command or a second set."""
        from kitstudio.services.composer import Composer

        return Composer(self.judgement)

    async def close(self) -> None:
        """Cancel jobs, wait at most three seconds, leave running sandboxes to their supervisors."""
        for task in filter(None, (self._housekeeping, self._update_watch)):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        closing = [self.jobs.close(CLOSE_SECONDS), self.catalog.close()]
        if "composer" in self.__dict__:
            closing.append(self.composer.close())
        await asyncio.gather(*closing)
        self.places.close()

    async def _reapprove(self, lock_sha256: str, environment: Mapping[str, str] | None = None) -> ApprovedLock:
        from kitstudio.services.ground import relock

        if (made := self.approvals.made(lock_sha256)) is not None:
            return made
        lock, document = await self.approvals.granted(lock_sha256)
        return await self.approvals.again(lock_sha256, await relock(self.judgement, lock, document, environment))

    def ssh_agent(self) -> str:
        """The socket of the person's SSH agent; empty where there is none, it is switched off or not known."""
        if self.settings.fault("ssh."):
            return ""
        stated = self.settings.text("ssh.agent")
        return os.environ.get("SSH_AUTH_SOCK", "") if stated == "system" else stated

    def _ssh_keys(self) -> frozenset[str] | None:
        """The fingerprints Kits may use, None for all."""
        kept = self.settings.texts("ssh.keys")
        return None if kept == ("all",) else frozenset(kept)

    def _skills(self) -> Skills:
        """The person's own skills, as they are shared now; off where the settings cannot be read."""
        from kitstudio.runtime.skill_store import Skills

        if self.settings.fault("skills."):
            return Skills()
        folder = self.settings.text("skills.folder")
        return Skills(str(Path(folder).expanduser()) if folder else "", self.settings.text("skills.mode"))

    async def _served_kits(self) -> KitShelf:
        """What the registry inside a sandbox serves (kit-registry@1)."""
        from kitstudio.services.served_kits import served_kits

        return await served_kits(self.approvals, self.places)

    async def ungrantable(self, plan: Plan) -> dict[str, bool]:
        """Choices that leave out the optional requests, and their groups, that this computer has nothing for now: no
        identity, agent or secret (§7.1.1). What is required is refused later, by name."""
        from kitstudio.runtime.host_agent import is_agent
        from kitstudio.services.availability import Available, missing, services

        identity = bool(self.settings.text("git.name").strip() and self.settings.text("git.email").strip())
        held = frozenset(await self.credentials.held(services(plan)))
        agent = self.ssh_agent()
        return missing(plan, Available(identity, bool(agent) and await asyncio.to_thread(is_agent, agent), held))

    async def _renew(self, service: str, text: str) -> None:
        await self.credentials.renew(service, text)

    def _settled(self, options: LaunchOptions) -> LaunchOptions:
        """What the settings say of every new sandbox, and of this one where the person left it open."""
        return replace(
            options,
            memory=options.memory or self.settings.number("sandbox.memory"),
            cpus=options.cpus or self.settings.number("sandbox.cpus"),
            accel=options.accel or self.settings.text("sandbox.accel"),
            git_name=self.settings.text("git.name"),
            git_email=self.settings.text("git.email"),
            idle=self.settings.number("sandbox.idle_minutes") * 60.0,
        )

    def _network_changed(self, key: str) -> None:
        if key in NETWORK_KEYS:
            self._icons = None

    def _open_digests(self) -> frozenset[str]:
        """Kits of the set that is open, in no lock yet."""
        if "composer" not in self.__dict__:
            return frozenset()
        return frozenset(member.digest for member in self.composer.value.plan.members if member.digest)

    def _claims(self) -> frozenset[str]:
        claimed = CLAIMED if self._backend is None else self._backend.capabilities()
        try:
            policy = policy_of(self.settings)
        except SettingsError:
            # The gate lets nothing through while the rules cannot be read; the set can still be looked at.
            return claimed
        return frozenset(type_ for type_ in claimed if policy.withheld(type_) is None)
