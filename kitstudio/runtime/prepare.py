"""Pull, convert and compose: from an approved lock to the launch plan of a sandbox. Starts nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from kitstudio.models.canonical import plain_value
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.assemble import AssembledKit, Contract, assemble, show
from kitstudio.runtime.backend import ImageProvider, KitImage, LaunchOptions, LaunchPhase, SandboxError, SandboxRefused
from kitstudio.runtime.capabilities import CLAIMED, unclaimed
from kitstudio.runtime.capabilities.agent_context import Profile, plan_profile
from kitstudio.runtime.capabilities.agent_sessions import plan_sessions
from kitstudio.runtime.capabilities.agent_skills import plan_destinations, plan_skills
from kitstudio.runtime.capabilities.credential import plan_credentials
from kitstudio.runtime.capabilities.git_identity import plan_identity
from kitstudio.runtime.capabilities.host_mount import plan_mounts, wants_mounts
from kitstudio.runtime.capabilities.kit_registry import wants_registry
from kitstudio.runtime.capabilities.lifecycle import plan_lifecycle
from kitstudio.runtime.capabilities.long_running import idle_limit
from kitstudio.runtime.capabilities.port import plan_ports
from kitstudio.runtime.capabilities.privileged import is_privileged
from kitstudio.runtime.capabilities.resources import Host, Size, size_machine
from kitstudio.runtime.capabilities.ssh_agent import plan_agent
from kitstudio.runtime.capabilities.volume import plan_volumes
from kitstudio.runtime.host_mounts import why_not_shared
from kitstudio.runtime.inventory import EntryType, Inventory
from kitstudio.runtime.launch import LaunchPlan, StatedOptions, hide
from kitstudio.runtime.layers import ConvertedLayer, LayerCache
from kitstudio.runtime.policy import build_policy, policy_rules
from kitstudio.runtime.workdir_layer import workdir_layer

Tell = Callable[[LaunchPhase, str, float | None], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The plan, and every optional request that was left out, in words."""

    plan: LaunchPlan
    skipped: tuple[str, ...]


def refuse_unclaimed(approved: ApprovedLock) -> None:
    """A required type that nobody here enforces ends the create, by name."""
    missing = unclaimed(approved.effective)
    if missing:
        raise SandboxRefused(
            f"This set requires {', '.join(missing)}, which this program does not enforce yet.",
            where=approved.lock.name,
            remedy="Remove the Kit that asks for it, or choose a version where it is optional.",
        )


def refuse_own_folders(workspace: Path | None, own: Sequence[Path]) -> None:
    """The guest writes where the workspace is: never where approvals, plans or layers of any sandbox lie."""
    if workspace is None:
        return
    try:
        real = workspace.resolve()
    except (OSError, RuntimeError) as error:
        raise SandboxError(
            f"The workspace cannot be used: {error}.", where=str(workspace), remedy="Choose a folder that exists."
        ) from error
    for folder in own:
        kept = folder.resolve()
        if real.is_relative_to(kept) or kept.is_relative_to(real):
            raise SandboxError(
                "The workspace would show the sandbox Kit Studio's own files, and it could change what was approved.",
                where=str(workspace),
                remedy=f"Choose a folder that neither holds nor lies in {folder}.",
            )


async def prepare(
    approved: ApprovedLock,
    options: LaunchOptions,
    accel: str,
    images: ImageProvider,
    layers: LayerCache,
    tell: Tell,
    *,
    bound: Collection[str] = (),
    agent: bool = False,
) -> Prepared:
    """Everything before the boot. ``bound``: services that a secret is bound to; ``agent``: an SSH agent is there."""
    refuse_unclaimed(approved)
    host = this_host()
    cpus = 1 if accel == "tcg" else min(2, host.cpus)
    await asyncio.to_thread(_check_workspace, options.workspace)
    with _declining():
        size = size_machine(approved.effective, host, memory=options.memory, cpus=options.cpus, default_cpus=cpus)
        lifecycle = plan_lifecycle(approved)
        identity, without_identity = plan_identity(approved.effective, options.git_name, options.git_email)
        volumes, without_volumes = plan_volumes(approved.effective)
        ports, without_ports = plan_ports(approved.effective)
        credentials, without_secret = plan_credentials(approved, bound, options.name)
        grants, without_agent = plan_agent(approved.effective, agent)
        policy = build_policy(approved, frozenset(options.private_names))
    kits, converted = await _fetch(approved, images, layers, tell)
    tell(LaunchPhase.COMPOSE, "", None)
    with _declining():
        contract = await asyncio.to_thread(assemble, kits, approved, options.env)
    if options.workspace is not None and contract.workdir == "/":
        raise SandboxError(
            "The image names no working directory, so there is no place for the workspace.",
            where=approved.lock.name,
            remedy="Launch without a workspace.",
        )
    account = contract.account
    unable = await why_not_shared(account.uid, account.gid) if wants_mounts(approved) else ""
    with _declining():
        mounts, without_mounts = plan_mounts(approved, volumes, contract.workdir if options.workspace else "", unable)
    stack = [inventory for kit in kits for inventory in kit.inventories]
    added = await workdir_layer(contract, stack, layers, [layer.inventory for layer in converted])
    with _declining():
        profile = plan_profile(approved, contract.workdir)
        _check_bodies(profile, stack)
        skills, without_skills = plan_skills(approved.effective, lambda path: _is_file(stack, path))
    plan = LaunchPlan(
        name=options.name,
        layers=tuple(layer.path for layer in (*converted, *((added,) if added else ()))),
        memory=size.memory,
        cpus=size.cpus,
        accel=accel,
        contract=contract,
        lifecycle=lifecycle,
        profile=profile,
        rules=policy_rules(policy),
        workspace=options.workspace.resolve() if options.workspace else None,
        hosts=dict(options.private_names),
        private_names=frozenset(options.private_names),
        secrets=approved.secrets,
        options=StatedOptions(options.memory, options.cpus, options.accel, dict(options.env), options.idle),
        identity=identity,
        skills=skills,
        skill_places=plan_destinations(approved.effective),
        skills_store=options.skills_store,
        skills_mode=options.skills_mode,
        sessions=plan_sessions(approved.effective),
        credentials=credentials,
        agent=grants,
        agent_socket=options.ssh_agent,
        agent_keys=options.ssh_keys,
        known_hosts=options.ssh_known_hosts,
        volumes=volumes,
        mounts=mounts,
        ports=ports,
        privileged=is_privileged(approved.effective),
        kit_registry=wants_registry(approved.effective),
        idle=idle_limit(approved.effective, options.idle),
    )
    without = (
        *without_identity,
        *without_secret,
        *without_agent,
        *without_skills,
        *without_volumes,
        *without_mounts,
        *without_ports,
    )
    return Prepared(plan, (*_skipped(approved, size, profile, contract), *without))


def effective_yaml(approved: ApprovedLock) -> str:
    """The enforced descriptor as YAML, secret inputs left out."""
    return yaml.safe_dump(
        _hidden(plain_value(approved.effective), approved.secrets), sort_keys=False, allow_unicode=True
    )


def options_of(plan: LaunchPlan) -> LaunchOptions:
    """The options a plan was made from, for making it again."""
    stated = plan.options
    return LaunchOptions(
        plan.name,
        plan.workspace,
        stated.memory,
        stated.cpus,
        stated.env,
        stated.accel,
        private_names=plan.hosts,
        ssh_agent=plan.agent_socket,
        ssh_known_hosts=plan.known_hosts,
        ssh_keys=plan.agent_keys,
        skills_store=plan.skills_store,
        skills_mode=plan.skills_mode,
        git_name=plan.identity.name if plan.identity else "",
        git_email=plan.identity.email if plan.identity else "",
        idle=stated.idle,
    )


def this_host() -> Host:
    """This computer's memory in MiB and processors."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return Host(memory, len(os.sched_getaffinity(0)))


async def _fetch(
    approved: ApprovedLock, images: ImageProvider, cache: LayerCache, tell: Tell
) -> tuple[list[AssembledKit], list[ConvertedLayer]]:
    found: list[tuple[KitImage, list[Path]]] = []
    locked = approved.lock.kits
    for number, kit in enumerate(locked):
        tell(LaunchPhase.PULL, kit.reference, number / len(locked))
        image = await images.image(kit.reference, kit.digest)
        if not image.layers:
            raise SandboxError(
                "The Kit's image has no layer.",
                where=kit.reference,
                remedy="Its publisher must publish it again: every Kit carries at least its own descriptor (§10).",
            )
        blobs: list[Path] = []
        for layer in image.layers:

            def pulled(done: int, total: int, image: KitImage = image, layer_digest: str = layer.digest) -> None:
                tell(LaunchPhase.PULL, f"{image.reference} {layer_digest[7:19]}", done / total if total else None)

            blobs.append(await images.layer(kit.reference, layer, pulled))
        found.append((image, blobs))
    converted: list[ConvertedLayer] = []
    kits: list[AssembledKit] = []
    below: list[Path] = []
    for image, blobs in found:
        inventories: list[Inventory] = []
        for layer, blob in zip(image.layers, blobs, strict=True):

            def moved(done: int, total: int, layer_digest: str = layer.digest) -> None:
                tell(LaunchPhase.CONVERT, layer_digest[7:19], done / total if total else None)

            tell(LaunchPhase.CONVERT, layer.digest[7:19], None)
            ready = await cache.ensure(layer, blob, tuple(below), moved)
            converted.append(ready)
            below.append(ready.inventory)
            inventories.append(await asyncio.to_thread(Inventory.load, ready.inventory))
        kits.append(AssembledKit(image, tuple(inventories)))
    return kits, converted


@contextmanager
def _declining() -> Iterator[None]:
    """What a type's plan raises is a refusal: what is asked was read, and cannot be given here."""
    try:
        yield
    except SandboxRefused:
        raise
    except SandboxError as error:
        raise SandboxRefused(error.what, where=error.where, remedy=error.remedy) from error


def _check_workspace(workspace: Path | None) -> None:
    if workspace is None:
        return
    try:
        real = workspace.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise SandboxError(
            f"The workspace cannot be used: {error}.", where=str(workspace), remedy="Choose a folder that exists."
        ) from error
    if not real.is_dir() or not os.access(real, os.R_OK | os.X_OK):
        raise SandboxError("The workspace is not a folder you can read.", where=str(workspace))
    if real == Path("/"):
        raise SandboxError("The whole computer cannot be a workspace.", where=str(workspace))


def _check_bodies(profile: Profile, stack: Sequence[Inventory]) -> None:
    for body in profile.bodies:
        if body.text is None and show(stack, body.path) is None:
            raise SandboxError(
                f"The Kit's guidance file {body.path} is not in its image.",
                where=body.kit,
                remedy="Its publisher must publish it again.",
            )


def _is_file(stack: Sequence[Inventory], path: str) -> bool:
    found = show(stack, path)
    return found is not None and found.type in (EntryType.FILE, EntryType.HARDLINK)


def _skipped(approved: ApprovedLock, size: Size, profile: Profile, contract: Contract) -> tuple[str, ...]:
    found = [f"{place}: not selected" for place, chosen in approved.lock.selection.items() if not chosen]
    found += [f"{e.type}: not enforced here" for e in approved.effective.entries() if e.type not in CLAIMED]
    found += size.skipped
    if not profile.path and profile.bodies:
        found.append("agent-context: no Kit of this set names a file the agent reads, so guidance is listed nowhere")
    return tuple(found)


def _hidden(value: JsonValue, secrets: tuple[str, ...]) -> JsonValue:
    if isinstance(value, str):
        return hide(value, secrets)
    if isinstance(value, list):
        return [_hidden(item, secrets) for item in value]
    if isinstance(value, dict):
        return {key: _hidden(item, secrets) for key, item in value.items()}
    return value
