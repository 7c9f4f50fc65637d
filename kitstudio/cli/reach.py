"""What of a sandbox reaches this computer: its published ports, and the folders it shares with others of its Kit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, UsageError, printable
from kitstudio.models.words import repository
from kitstudio.runtime.backend import HostMountFolder, PublishedPort

if TYPE_CHECKING:
    from kitstudio.cli.main import Run


async def ports(run: Run) -> int:
    """Where the ports of a sandbox are published; ``--set 8080/tcp=9000`` chooses, ``=0`` leaves it open."""
    args = run.args
    studio = await run.studio()
    for container, host_port in chosen_ports(args.set, "--set").items():
        await studio.sandboxes.set_port(args.name, container, host_port)
    found = await studio.sandboxes.ports(args.name)
    run.output.document([port_json(port) for port in found])
    run.output.table(
        ((port.container, printable(port.name), _address(port), "chosen" if port.fixed else "") for port in found),
        head=("PORT", "NAME", "ON THIS COMPUTER", ""),
    )
    if not found:
        run.output.note("The sandbox publishes no port.")
    return DONE


async def mounts(run: Run) -> int:
    """Folders of this computer kept for Kits that share one; ``--rm ID`` deletes one."""
    args = run.args
    studio = await run.studio()
    if args.rm:
        await studio.sandboxes.remove_mount(args.rm)
        run.output.document({"removed": args.rm})
        run.output.say(f"The shared folder {args.rm} is deleted.")
        return DONE
    found = await studio.sandboxes.mounts()
    if args.reference:
        owner = repository(args.reference)
        found = tuple(each for each in found if each.owner == owner)
    run.output.document([mount_json(each) for each in found])
    run.output.table(
        ((e.id, printable(e.owner), printable(e.path), _size(e), ", ".join(e.sandboxes), e.folder) for e in found),
        head=("ID", "KIT", "PATH", "SIZE", "SANDBOXES", "FOLDER"),
    )
    if not found:
        run.output.note("No folder is kept for any Kit.")
    return DONE


def chosen_ports(texts: list[str], where: str) -> dict[str, int]:
    """``8080/tcp=9000`` or ``8080=9000``."""
    found: dict[str, int] = {}
    for text in texts:
        container, _, host_port = text.partition("=")
        number, _, transport = container.partition("/")
        if not number.isdigit() or transport not in ("", "tcp") or not host_port.isdigit():
            raise UsageError(
                f"{text!r} chooses no port.", where=where, remedy="Write: 8080=9000 (0 for any free port), tcp only."
            )
        found[f"{int(number)}/tcp"] = int(host_port)
    return found


def port_json(port: PublishedPort) -> dict[str, object]:
    """One published port."""
    return {
        "container": port.container,
        "name": port.name,
        "host": port.host,
        "hostPort": port.host_port or None,
        "fixed": port.fixed or None,
    }


def mount_json(found: HostMountFolder) -> dict[str, object]:
    """One shared folder."""
    return {
        "id": found.id,
        "kit": found.owner,
        "path": found.path,
        "folder": found.folder,
        "size": found.size,
        "files": found.files,
        "sandboxes": list(found.sandboxes),
        "running": list(found.running),
    }


def _address(port: PublishedPort) -> str:
    if port.host_port:
        return f"{port.host}:{port.host_port}"
    return f"not now ({port.host}:{port.fixed} when it runs)" if port.fixed else "not now"


def _size(found: HostMountFolder) -> str:
    mib = found.size / 1048576
    return f"{mib:.1f} MiB, {found.files} files"
