"""Files a recipe copies: from its folder, without leaving it, to layer entries with the stated owners and modes.

What lies below (``Tree``) decides where a path leads: links of the base are followed, folders it has stay its own.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from kitstudio.models.artifact_tree import NodeType, Tree
from kitstudio.models.capabilities.paths import clean
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.kit_image import AGENT, HOME, SHARED
from kitstudio.registry.threads import Stop
from kitstudio.registry.writer import Entry, EntryKind, symlink
from kitstudio.services.builder.dockerfile import NotCarriedOut

MAX_BYTES = 256 * 1024 * 1024
MAX_FILES = 20_000
_GLOB = "*?["


@dataclass(slots=True)
class Content:
    """What was copied so far. ``root``: the recipe's folder; ``base``: what lies below; ``overlay``: a mixin, which
    must not replace the folders every workload has."""

    root: Path
    base: Tree
    overlay: bool
    remedy: str
    entries: dict[str, Entry] = field(default_factory=dict)
    size: int = 0
    implied: set[str] = field(default_factory=set)

    def copy(
        self, stop: Stop, sources: tuple[str, ...], target: str, owner: tuple[int, int], mode: int | None, where: str
    ) -> None:
        """Copy files and the contents of folders to the absolute path ``target`` (a trailing slash: a folder)."""
        found = [self.source(text, where) for text in sources]
        into = target.endswith("/") or self._is_folder(clean(target))
        if len(found) > 1 and not target.endswith("/"):
            raise KitStudioError("Several sources need a folder to go to.", where=where, remedy="End it with a slash.")
        for path in found:
            if path.is_dir():
                self._folder(clean(target), path, owner, mode, where)
                self._tree(stop, path, clean(target), owner, mode, where)
            else:
                self._file(path, clean(f"{target}/{path.name}") if into else clean(target), owner, mode, where)

    def make_folder(self, target: str, where: str) -> None:
        """A folder of root's, if there is none (``WORKDIR``)."""
        place = self._place(target, where)
        if place and not self._is_folder(target) and not (self.overlay and place in SHARED):
            self._put(Entry(place, EntryKind.FOLDER, 0o755), where)

    def source(self, text: str, where: str) -> Path:
        """A file or folder of the recipe's folder; links in its way are not followed."""
        if any(char in text for char in _GLOB):
            raise NotCarriedOut(f"{text!r} is a pattern; patterns are not read here.", where=where, remedy=self.remedy)
        inner = clean("/" + text).strip("/")
        path = self.root
        for part in Path(inner).parts:
            path = path / part
            if path.is_symlink():
                raise KitStudioError(
                    f"{text} leads over a link.", where=where, remedy="Name the file or folder it leads to."
                )
        if not path.exists():
            raise KitStudioError(f"There is no {text} in the Kit's folder.", where=where)
        return path

    def _tree(
        self, stop: Stop, folder: Path, target: str, owner: tuple[int, int], mode: int | None, where: str
    ) -> None:
        with os.scandir(folder) as listing:
            found = sorted(listing, key=lambda entry: entry.name)
        for entry in found:
            stop.check()
            path, inner = Path(entry.path), clean(f"{target}/{entry.name}")
            if entry.is_symlink():
                place = self._place(inner, where)
                self._put(symlink_of(place, os.readlink(path), owner), where)
            elif entry.is_dir():
                self._folder(inner, path, owner, mode, where)
                self._tree(stop, path, inner, owner, mode, where)
            else:
                self._file(path, inner, owner, mode, where)

    def _folder(self, target: str, path: Path, owner: tuple[int, int], mode: int | None, where: str) -> None:
        place = self._place(target, where)
        if not place or self._is_folder(target) or (self.overlay and place in SHARED and not _is_home(place, owner)):
            return
        bits = stat.S_IMODE(path.stat().st_mode) if mode is None else mode
        self._put(Entry(place, EntryKind.FOLDER, bits, *owner), where)

    def _file(self, path: Path, target: str, owner: tuple[int, int], mode: int | None, where: str) -> None:
        place = self._place(target, where)
        if self._is_folder(target) or not place:
            raise KitStudioError(f"{target} is a folder.", where=where, remedy="Name the file it is copied to.")
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise KitStudioError(f"{path.name} is no plain file.", where=where)
            data = stream.read(MAX_BYTES - self.size + 1)
        self.size += len(data)
        bits = stat.S_IMODE(status.st_mode) if mode is None else mode
        self._put(Entry(place, EntryKind.FILE, bits, *owner, data=data), where)

    def _put(self, entry: Entry, where: str) -> None:
        if any(part.startswith(".wh.") for part in entry.path.split("/")):
            raise KitStudioError(f"{entry.path} would remove files: names with .wh. mean that.", where=where)
        self.entries[entry.path] = entry
        self.implied.update(parent.as_posix() for parent in list(Path(entry.path).parents)[:-1])
        if self.size > MAX_BYTES or len(self.entries) > MAX_FILES:
            raise KitStudioError(
                f"A recipe may copy {MAX_FILES:,} files of 256 MiB in all.", where=where, remedy=self.remedy
            )

    def _is_folder(self, path: str) -> bool:
        own = self.entries.get(path.strip("/"))
        if own is not None:
            return own.kind is EntryKind.FOLDER
        if path.strip("/") in self.implied:
            return True
        node = self.base.node(path)
        return path == "/" or (node is not None and node.type is NodeType.FOLDER)

    def _place(self, path: str, where: str) -> str:
        """Where a path leads, without its leading slash: links of the base in its ancestors are followed."""
        parts = [part for part in clean(path).split("/") if part]
        for number in range(1, len(parts)):
            own = self.entries.get("/".join(parts[:number]))
            if own is not None and own.kind is not EntryKind.FOLDER:
                raise KitStudioError(f"/{own.path} is copied as a file or link, not as a folder.", where=where)
        for number in range(len(parts) - 1, 0, -1):
            ancestor = "/" + "/".join(parts[:number])
            resolved = self.base.resolve(ancestor)
            if resolved is None:
                if (node := self.base.nodes.get(ancestor)) is not None and node.type is NodeType.LINK:
                    raise KitStudioError(f"{ancestor} is a link that leads nowhere.", where=where)
                continue
            node = self.base.node(ancestor)
            if node is not None and node.type is not NodeType.FOLDER:
                raise KitStudioError(f"{ancestor} is no folder in the image below.", where=where)
            return "/".join([*(part for part in resolved.split("/") if part), *parts[number:]])
        return "/".join(parts)


def _is_home(place: str, owner: tuple[int, int]) -> bool:
    """The one folder of every workload that a mixin may bring, owned by the user it belongs to (§10)."""
    return place == HOME.rstrip("/") and owner[0] == AGENT


def symlink_of(place: str, target: str, owner: tuple[int, int]) -> Entry:
    """A link as it is, with its owner."""
    made = symlink(place, target)
    return Entry(made.path, made.kind, made.mode, *owner, target=made.target)


def owner_of(text: str, base: Tree, where: str) -> tuple[int, int]:
    """``USER[:GROUP]``: numbers, or names of the base's accounts. Without a group, the user's number is the group's."""
    user, colon, group = text.partition(":")
    uid = _account(user, base, "/etc/passwd", where)
    return uid, _account(group, base, "/etc/group", where) if colon else uid


def _account(name: str, base: Tree, file: str, where: str) -> int:
    if name.isascii() and name.isdigit() and len(name) < 10:
        return int(name)
    for line in (base.text(file) or b"").decode("utf-8", "replace").splitlines():
        fields = line.split(":")
        if name and fields[0] == name and len(fields) > 2 and fields[2].isascii() and fields[2].isdigit():
            return int(fields[2])
    raise KitStudioError(f"{file} of the image below has no {name!r}.", where=where, remedy="State its number.")
