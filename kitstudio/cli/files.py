"""Files of a running sandbox: ``files`` lists a folder, ``cp`` copies one file in or out, whole or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, UsageError, printable
from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.files import Entry, EntryKind
from kitstudio.runtime.state import check_name

if TYPE_CHECKING:
    from kitstudio.cli.main import Run

_KINDS = {
    EntryKind.FOLDER: "folder",
    EntryKind.FILE: "file",
    EntryKind.LINK: "link",
    EntryKind.PIPE: "pipe",
    EntryKind.SOCKET: "socket",
    EntryKind.CHARACTERS: "device",
    EntryKind.BLOCKS: "device",
}


async def files(run: Run) -> int:
    """One folder of a sandbox; without a path the one its programs begin in."""
    args = run.args
    studio = await run.studio()
    found = await studio.sandboxes.files(args.name).list(args.path, named=True)
    run.output.document(
        {"path": _text(found.path), "cut": found.cut, "entries": [_json(entry) for entry in found.entries]}
    )
    run.output.table(
        (
            (f"{entry.mode:04o}", f"{entry.uid}:{entry.gid}", str(entry.size), _when(entry.modified), _named(entry))
            for entry in found.entries
        ),
        head=("MODE", "OWNER", "SIZE", "MODIFIED", printable(_text(found.path))),
    )
    if found.cut:
        run.output.note("There are more entries than are listed; name a deeper folder.")
    return DONE


async def cp(run: Run) -> int:
    """``cp NAME:PATH FILE`` takes a file out, ``cp FILE NAME:PATH`` puts one in."""
    args = run.args
    source, target = _place(args.source), _place(args.target)
    if (source is None) == (target is None):
        raise UsageError("One of the two is NAME:/PATH in a sandbox, the other a file of yours.", where="cp")
    studio = await run.studio()
    if source is not None:
        name, path = source
        local = Path(args.target).expanduser()
        local = local / path.rsplit("/", 1)[-1] if local.is_dir() else local
        if local.exists() and not args.force:
            raise KitStudioError("The file is there already.", where=str(local), remedy="Add --force to replace it.")
        size = await studio.sandboxes.files(name).fetch(path, local, _silent, named=True)
        made = str(local)
    else:
        assert target is not None
        name, path = target
        local = Path(args.source).expanduser()
        path = path + local.name if path.endswith("/") else path
        size = await studio.sandboxes.files(name).put(local, path, _silent, replace=args.force)
        made = f"{name}:{path}"
    run.output.document({"path": made, "size": size})
    run.output.say(f"{size} bytes are in {printable(made)}.")
    return DONE


def _place(text: str) -> tuple[str, str] | None:
    """A sandbox and a path in it, None for a path of this computer."""
    name, mark, path = text.partition(":")
    if not mark or "/" in name or not path.startswith("/"):
        return None
    return check_name(name), path


def _silent(done: int, total: int) -> None:
    return None


def _named(entry: Entry) -> str:
    name = printable(_text(entry.name))
    if entry.kind is EntryKind.LINK:
        return f"{name} -> {printable(_text(entry.target))}"
    return f"{name}/" if entry.kind is EntryKind.FOLDER else name


def _json(entry: Entry) -> dict[str, object]:
    made: dict[str, object] = {
        "name": _text(entry.name),
        "kind": _KINDS[entry.kind],
        "mode": f"{entry.mode:04o}",
        "size": entry.size,
        "modified": _when(entry.modified),
        "uid": entry.uid,
        "gid": entry.gid,
    }
    if entry.kind is EntryKind.LINK:
        made["target"] = _text(entry.target)
    return made


def _text(name: str) -> str:
    """A name for output: bytes that are no text are spelled out."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _when(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""
