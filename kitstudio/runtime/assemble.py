"""From Kit images to one launch contract (§10): the workload's entrypoint, user and working directory, merged
environment and labels, and the check that no two Kits ship one file. Pure; layers are seen through inventories only.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kitstudio.models.descriptor import Descriptor
from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.accounts import Account, default_account, resolve_account
from kitstudio.runtime.backend import KitImage, SandboxError
from kitstudio.runtime.capabilities import SBX
from kitstudio.runtime.inventory import EntryType, Inventory, InventoryEntry, lookup, read_small_file

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROXY = "http://127.0.0.1:3128"
"""Where the guest finds the proxy; ``PROXY_PORT`` is the forwarded port behind it."""
PROXY_PORT = 3128

_LINKS = 40
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class AssembledKit:
    """One Kit's image with the inventories of its layers, lowest first."""

    image: KitImage
    inventories: tuple[Inventory, ...]


@dataclass(frozen=True, slots=True)
class Contract:
    """How the composed image launches. ``under_bash``: sbx@1 is in force. ``env`` is the container environment."""

    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...]
    account: Account
    workdir: str
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    under_bash: bool = False
    shell: str = ""

    def argv(self, interactive: tuple[str, ...] | None, *, terminal: bool) -> tuple[str, ...]:
        """The launch argv of §8; empty when the image states none. ``interactive`` replaces the command."""
        tail = self.cmd if interactive is None or not terminal else interactive
        argv = self.entrypoint + tail
        if not argv:
            return ()
        return ("/bin/bash", "-c", 'exec "$@"', "bash", *argv) if self.under_bash else argv


def assemble(kits: Sequence[AssembledKit], approved: ApprovedLock, overrides: Mapping[str, str]) -> Contract:
    """The contract of Kits in composition order, the workload among them. ``SandboxError`` names what is wrong."""
    workloads = [kit for kit in kits if kit.image.kind == "workload"]
    if len(workloads) != 1:
        raise SandboxError(f"A sandbox needs exactly one workload, this set has {len(workloads)}.")
    for kit in kits:
        if not kit.image.layers:
            raise SandboxError(
                "The Kit's image has no layer.",
                where=kit.image.reference,
                remedy="Its publisher must publish it again: every Kit carries at least its own descriptor (§10).",
            )
    _refuse_collisions(kits)
    workload = workloads[0]
    ordered = [workload, *(kit for kit in kits if kit is not workload)]
    stack = [inventory for kit in ordered for inventory in kit.inventories]
    image = workload.image
    in_force = _declares(approved.effective, SBX)
    account = _account(image, stack, in_force)
    shell = next((path for path in ("/bin/bash", "/bin/sh") if _is_program(stack, path)), "")
    if in_force:
        for program in ("/bin/sh", "/bin/bash"):
            if not _is_program(stack, program):
                raise SandboxError(f"{SBX} needs {program}, which the image does not ship.", where=image.reference)
    workdir = image.workdir or "/"
    if not workdir.startswith("/"):
        raise SandboxError(f"The image's working directory {workdir!r} is not absolute.", where=image.reference)
    env = _environment(ordered)
    env.update(approved.environment)
    env.update(overrides)
    env.setdefault("PATH", DEFAULT_PATH)
    labels: dict[str, str] = {}
    for kit in ordered:
        for name, value in kit.image.labels.items():
            labels.setdefault(name, value)
    return Contract(image.entrypoint, image.cmd, account, posixpath.normpath(workdir), env, labels, in_force, shell)


def session_env(contract: Contract, account: Account, hostname: str) -> dict[str, str]:
    """Everything a process of the sandbox sees by default: the container environment, who and where it is, the proxy.

    Local names bypass the proxy: the guest's own loopback is the guest's.
    """
    env = {"HOME": account.home, "USER": account.name, "LOGNAME": account.name, "HOSTNAME": hostname}
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        env[name] = env[name.lower()] = PROXY
    env["NO_PROXY"] = env["no_proxy"] = "localhost,127.0.0.1,::1"
    return env | dict(contract.env)


def show(stack: Sequence[Inventory], path: str) -> InventoryEntry | None:
    """What ``path`` is once links are followed, None where nothing is (or where links do not end)."""
    parts = [part for part in path.split("/") if part]
    done: list[str] = []
    links = 0
    while parts:
        part = parts.pop(0)
        if part == ".":
            continue
        if part == "..":
            done = done[:-1]
            continue
        entry = lookup(stack, "/".join([*done, part]))
        if entry is None:
            return None
        if entry.type is EntryType.SYMLINK:
            links += 1
            if links > _LINKS:
                return None
            if entry.target.startswith("/"):
                done = []
            parts = [piece for piece in entry.target.split("/") if piece] + parts
            continue
        if entry.type is EntryType.HARDLINK:
            entry = lookup(stack, entry.target.lstrip("/")) or entry
        done.append(part)
        if not parts:
            return entry
    return lookup(stack, "/".join(done))


def _declares(effective: Descriptor, kind: str) -> bool:
    return any(entry.type == kind for entry in effective.entries())


def _account(image: KitImage, stack: Sequence[Inventory], in_force: bool) -> Account:
    passwd, group = read_small_file(stack, "etc/passwd"), read_small_file(stack, "etc/group")
    if not image.user:
        if in_force:
            raise SandboxError(f"{SBX} needs a user in the image's config, and it names none.", where=image.reference)
        return default_account(passwd, group)
    try:
        account = resolve_account(image.user, passwd, group)
        if in_force and not account.known:
            raise LookupError(f"/etc/passwd of the image has no row for uid {account.uid}")
    except LookupError as error:
        raise SandboxError(f"The image's user {image.user!r} does not resolve: {error}.", where=image.reference) from (
            error
        )
    return account


def _environment(ordered: Sequence[AssembledKit]) -> dict[str, str]:
    """The workload's variables, then those the mixins add; PATH grows by the elements a mixin brings."""
    env: dict[str, str] = {}
    for position, kit in enumerate(ordered):
        for statement in kit.image.env:
            name, equals, value = statement.partition("=")
            if not equals or not name:
                raise SandboxError(f"The image's variable {name!r} has no value.", where=kit.image.reference)
            if name == "PATH" and position and "PATH" in env:
                known = env["PATH"].split(":")
                value = ":".join([*known, *(part for part in value.split(":") if part and part not in known)])
            env[name] = value
    return env


def _refuse_collisions(kits: Sequence[AssembledKit]) -> None:
    """A path that one Kit ships as anything but a folder belongs to that Kit alone."""
    owners: dict[str, tuple[int, InventoryEntry, str]] = {}
    clashes: dict[tuple[int, int], list[str]] = {}
    for number, kit in enumerate(kits):
        mine: dict[str, tuple[int, InventoryEntry, str]] = {}
        for inventory in kit.inventories:
            for path, entry in inventory.entries.items():
                if entry.type is EntryType.WHITEOUT or entry.implied:
                    continue
                mine[path] = (number, entry, inventory.digest)
        for path, (_, entry, digest) in mine.items():
            other = owners.get(path)
            if other is None:
                owners[path] = (number, entry, digest)
            elif not _compatible(entry, digest, other[1], other[2]):
                clashes.setdefault((other[0], number), []).append("/" + path)
    if clashes:
        (first, second), shared = next(iter(clashes.items()))
        more = f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else ""
        raise SandboxError(
            f"Two Kits ship the same file: {', '.join(sorted(shared)[:_SHOWN])}{more}.",
            where=f"{kits[first].image.reference}, {kits[second].image.reference}",
            remedy="Remove one of the two Kits from the set.",
        )


def _compatible(one: InventoryEntry, one_layer: str, other: InventoryEntry, other_layer: str) -> bool:
    if one_layer == other_layer:
        return True
    if one.type is EntryType.DIRECTORY and other.type is EntryType.DIRECTORY:
        return True
    return one.type is EntryType.SYMLINK and other.type is EntryType.SYMLINK and one.target == other.target


def _is_program(stack: Sequence[Inventory], path: str) -> bool:
    entry = show(stack, path)
    return entry is not None and entry.type in (EntryType.FILE, EntryType.HARDLINK) and bool(entry.mode & 0o111)
