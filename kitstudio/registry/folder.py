"""Kits on this machine: a folder with a descriptor, or the descriptor file itself (§3).

Reading only: what the text means is the grammar's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kitstudio.registry.reference import RegistryError
from kitstudio.registry.source import NotFound
from kitstudio.registry.threads import Stop, in_thread

MAX_TEXT = 8 * 1024 * 1024
SUFFIXES = (".yaml", ".yml")
CONVENTIONAL = ("kit.yaml", "kit.yml")


@dataclass(frozen=True, slots=True)
class LocalKit:
    """A descriptor as it lies on disk. ``name``: what the Kit is called here (its folder, or the file's stem);
    ``path``: the file, for diagnostics."""

    name: str
    path: Path
    text: str


async def read_folder(path: Path) -> LocalKit:
    """Read a Kit folder or a descriptor file."""
    return await in_thread(_read, path)


def _read(stop: Stop, path: Path) -> LocalKit:
    try:
        file = _descriptor(path) if path.is_dir() else path
        stop.check()
        if not file.exists():
            raise NotFound("There is no such file or folder.", where=str(path), remedy="Check the path.")
        if not file.is_file():
            raise RegistryError("This is neither a file nor a folder.", where=str(path))
        with file.open("rb") as stream:
            data = stream.read(MAX_TEXT + 1)
    except OSError as error:
        raise RegistryError(f"It cannot be read: {error.strerror}.", where=str(path)) from error
    if len(data) > MAX_TEXT:
        raise RegistryError("The file is larger than 8 MiB, so it is no descriptor.", where=str(file))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RegistryError(
            "The file is not UTF-8 text, so it is no descriptor.", where=str(file), remedy="Save it as UTF-8."
        ) from error
    name = file.parent.name if file.name in CONVENTIONAL else file.stem
    return LocalKit(name, file, text)


def _descriptor(folder: Path) -> Path:
    """``kit.yaml``, else the one descriptor there is, else the one named as the folder."""
    for name in CONVENTIONAL:
        if (folder / name).is_file():
            return folder / name
    found = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES and file.is_file())
    named = [file for file in found if file.stem == folder.name]
    if len(found) == 1 or len(named) == 1:
        return (named or found)[0]
    if not found:
        raise NotFound(
            "There is no descriptor in this folder.", where=str(folder), remedy="A Kit folder holds kit.yaml."
        )
    names = ", ".join(file.name for file in found[:5])
    raise RegistryError(
        "There are several descriptors in this folder.", where=str(folder), remedy=f"Name one of them: {names}."
    )
