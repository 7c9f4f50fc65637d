"""Layers, made ready for a machine: each becomes one read-only squashfs and one inventory, cached by digest.

Nothing is ever unpacked on the host: the tar is read, judged and re-written entry by entry (``layer_tar``,
``layer_tree``, ``tar_writer``) into a pipe to ``tar2sqfs``. A cached layer is complete or absent: the inventory is
renamed into place last.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import hashlib
import mmap
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from kitstudio.runtime.backend import ImageLayer, SandboxError
from kitstudio.runtime.inventory import KEPT_FILES, KEPT_LIMIT, EntryType, Inventory, InventoryEntry, lookup, top_names
from kitstudio.runtime.layer_blob import decompress
from kitstudio.runtime.layer_tar import TarEntry, read_entries
from kitstudio.runtime.layer_tree import Below, LayerTree, build_tree, emission_order, same_borrowings
from kitstudio.runtime.tar_writer import END, header, padding

CONVERTER = 1
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class ConvertedLayer:
    """One layer ready to attach. ``path``: the squashfs; ``inventory``: see ``inventory.Inventory.load``."""

    path: Path
    inventory: Path
    digest: str


class LayerCache:
    """Converted layers in one folder, shared by every sandbox and every process of this user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def ensure(
        self,
        layer: ImageLayer,
        blob: Path,
        below: Sequence[Path] = (),
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> ConvertedLayer:
        """The converted form of ``layer``; ``blob`` holds its compressed bytes, already verified.

        ``below``: inventories of the layers beneath, lowest first: a folder this layer does not list keeps the mode
        and owner they give it. ``progress(done, total)`` in compressed bytes, called in the event loop.
        """
        loop = asyncio.get_running_loop()
        cancelled = threading.Event()

        def report(done: int, total: int) -> None:
            if cancelled.is_set():
                raise _Cancelled
            loop.call_soon_threadsafe(progress, done, total)

        work = asyncio.ensure_future(asyncio.to_thread(self._ensure, layer, blob, tuple(below), report, cancelled))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            cancelled.set()
            await asyncio.gather(work, return_exceptions=True)
            raise

    def _ensure(
        self,
        layer: ImageLayer,
        blob: Path,
        below: Sequence[Path],
        report: Callable[[int, int], None],
        cancelled: threading.Event,
    ) -> ConvertedLayer:
        name = layer.digest.replace(":", "-")
        beneath = _beneath(below)
        if found := self._cached(layer.digest, name, beneath):
            return found
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _locked(self.folder / f"{name}.lock", cancelled):
                if found := self._cached(layer.digest, name, beneath):
                    return found
                for stale in self.folder.glob(f".work-{name}-*"):
                    shutil.rmtree(stale, ignore_errors=True)
                with tempfile.TemporaryDirectory(prefix=f".work-{name}-", dir=self.folder) as work:
                    return self._convert(layer, blob, beneath, Path(work), report)
        except OSError as error:
            raise _told(error, self.folder) from error
        except SandboxError as error:
            raise SandboxError(error.what, where=error.where or layer.digest, remedy=error.remedy) from error

    def _convert(
        self, layer: ImageLayer, blob: Path, beneath: Below, work: Path, report: Callable[[int, int], None]
    ) -> ConvertedLayer:
        tar_path, image, inventory_path = work / "tar", work / "image", work / "inventory"
        with tar_path.open("wb") as target:
            decompress(blob, target, layer.diff_id, report)
        with tar_path.open("rb") as source, _mapped(source) as tar:
            tree = build_tree(read_entries(tar), beneath)
            order = list(emission_order(tree))
            _write_image(tar, tree, order, image, lambda: report(1, 1))
            inventory = _inventory(layer.digest, tar, tree, order)
        inventory = replace(inventory, image_size=image.stat().st_size)
        with inventory_path.open("w", encoding="ascii") as text:
            text.writelines(line + "\n" for line in inventory.lines())
            text.flush()
            os.fsync(text.fileno())
        final = self._place(layer.digest, inventory)
        image.chmod(0o444)
        image.replace(final.path)
        inventory_path.replace(final.inventory)
        _sync_folder(self.folder)
        return final

    def _place(self, digest: str, inventory: Inventory) -> ConvertedLayer:
        taken = repr((sorted(inventory.borrowed.items()), inventory.hidden)).encode("utf-8", "surrogateescape")
        stem = f"{digest.replace(':', '-')}.{CONVERTER}.{hashlib.sha256(taken).hexdigest()[:12]}"
        return ConvertedLayer(self.folder / f"{stem}.sqfs", self.folder / f"{stem}.inventory", digest)

    def _cached(self, digest: str, name: str, beneath: Below) -> ConvertedLayer | None:
        """A complete conversion that would come out the same over these layers."""
        for path in sorted(self.folder.glob(f"{name}.{CONVERTER}.*.inventory")):
            image = path.with_suffix(".sqfs")
            with contextlib.suppress(SandboxError, OSError):
                kept = Inventory.load_header(path)
                if image.stat().st_size == kept.image_size and same_borrowings(kept.borrowed, kept.hidden, beneath):
                    return ConvertedLayer(image, path, digest)
        return None


class _Cancelled(Exception):
    """The caller no longer wants the layer."""


def _beneath(below: Sequence[Path]) -> Below:
    """The layers beneath, read when something is asked of them."""
    stack: list[Inventory] = []

    def loaded() -> list[Inventory]:
        if not stack:
            stack.extend(Inventory.load(path) for path in below)
        return stack

    def folder(path: str) -> tuple[int, int, int] | None:
        found = lookup(loaded(), path)
        return (found.mode, found.uid, found.gid) if found and found.type is EntryType.DIRECTORY else None

    return Below(folder, lambda: top_names(loaded()))


@contextlib.contextmanager
def _locked(path: Path, cancelled: threading.Event) -> Iterator[None]:
    """One conversion of a layer at a time, in every process."""
    with path.open("wb") as stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if cancelled.wait(0.05):
                    raise _Cancelled from None
        yield


@contextlib.contextmanager
def _mapped(stream: IO[bytes]) -> Iterator[memoryview]:
    if os.fstat(stream.fileno()).st_size == 0:
        raise SandboxError("The layer is empty: not even a tar archive.")
    with mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as view:
        yield view


def _write_image(
    tar: memoryview, tree: LayerTree, order: Sequence[TarEntry], image: Path, step: Callable[[], None]
) -> None:
    program = shutil.which("tar2sqfs")
    if not program:
        raise SandboxError("tar2sqfs is not installed.", remedy="Install the package squashfs-tools-ng.")
    with tempfile.TemporaryFile(dir=image.parent) as complaints:
        process = subprocess.Popen(
            [program, "-q", "-s", "-f", "-c", "zstd", "-X", "level=3", "-j", "2", str(image)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env={"LC_ALL": "C", "PATH": os.environ.get("PATH", "")},
        )
        assert process.stdin
        try:
            with contextlib.suppress(BrokenPipeError):  # its status and its words say why it stopped reading
                _write_tar(tar, tree, order, process.stdin, step)
                process.stdin.close()
            status = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        if status != 0:
            complaints.seek(0)
            words = complaints.read(4000).decode("utf-8", "replace").strip()
            # on a full disk its words may not have fitted either
            if os.strerror(errno.ENOSPC) in words or (not words and shutil.disk_usage(image.parent).free < len(tar)):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise SandboxError(f"The layer could not be converted: {words[-400:]!a}")
    with image.open("rb") as stream:
        os.fsync(stream.fileno())


def _write_tar(
    tar: memoryview, tree: LayerTree, order: Sequence[TarEntry], out: IO[bytes], step: Callable[[], None]
) -> None:
    for number, entry in enumerate(order):
        if number % 256 == 0:
            step()
        out.write(header(entry, opaque=entry.path in tree.opaque and entry.type is EntryType.DIRECTORY))
        if entry.type is EntryType.FILE and entry.size:
            out.write(tar[entry.offset : entry.offset + entry.size])
            out.write(padding(entry.size))
    out.write(END)


def _inventory(digest: str, tar: memoryview, tree: LayerTree, order: Sequence[TarEntry]) -> Inventory:
    entries = {
        entry.path: InventoryEntry(
            path=entry.path,
            type=entry.type,
            mode=entry.mode,
            uid=entry.uid,
            gid=entry.gid,
            size=entry.size,
            target=entry.link,
            opaque=entry.path in tree.opaque and entry.type is EntryType.DIRECTORY,
            implied=entry.path in tree.implied,
        )
        for entry in order
    }
    files = {}
    for name in KEPT_FILES:
        node = tree.sources.get(name) or tree.nodes.get(name)
        if node and node.type is EntryType.FILE and node.size <= KEPT_LIMIT:
            files[name] = bytes(tar[node.offset : node.offset + node.size])
    return Inventory(digest, entries, files, dict(tree.borrowed), tree.hidden)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _told(error: OSError, folder: Path) -> SandboxError:
    if error.errno in _FULL:
        return SandboxError(
            "The disk is full: the layer could not be converted.",
            where=str(folder),
            remedy="Free some space, then launch again. Nothing half-made was kept.",
        )
    return SandboxError(f"The layer could not be converted: {error.strerror or error}.", where=str(folder))
