"""Tiny Kits around the guest image's own busybox, as layers a real sandbox runs; and who serves them."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kitstudio.models.descriptor import Capability
from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.backend import ImageLayer, KitImage
from kitstudio.runtime.guest.image import BUSYBOX, default_folder
from tests.runtime import runtime_sets

APPLETS = "sh cat echo wget nc id env sleep ls mkdir touch chmod rm stat kill ps nslookup sync tr cut head true"
PASSWD = b"root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n"
GROUP = b"root:x:0:\nagent:x:1000:\n"
TAR = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True, slots=True)
class Entry:
    content: bytes | None = None
    mode: int = 0o644
    uid: int = 0
    link: str = ""


FOLDER = Entry(None, 0o755)


def floor() -> dict[str, Entry]:
    """A root filesystem: busybox under every name, an agent, a home, a working directory."""
    busybox = (default_folder() / BUSYBOX).read_bytes()
    entries = dict.fromkeys(("bin", "etc", "home", "root", "var", "usr"), FOLDER)
    entries |= {"tmp": Entry(None, 0o1777), "home/agent": Entry(None, 0o755, 1000), "work": Entry(None, 0o755, 1000)}
    entries |= {"bin/busybox": Entry(busybox, 0o755), "etc/passwd": Entry(PASSWD), "etc/group": Entry(GROUP)}
    # busybox has no applet of that name
    entries["bin/bash"] = Entry(b'#!/bin/sh\nBASHED=yes exec /bin/sh "$@"\n', 0o755)
    return entries | {f"bin/{name}": Entry(link="busybox") for name in APPLETS.split()}


def tar(entries: Mapping[str, Entry]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, entry in entries.items():
            info = tarfile.TarInfo(path)
            info.mode, info.uid, info.gid, info.mtime = entry.mode, entry.uid, entry.uid, 1700000000
            if entry.link:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
            elif entry.content is None:
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(entry.content)
            archive.addfile(info, io.BytesIO(entry.content or b""))
    return out.getvalue()


class Shelf:
    """``ImageProvider`` over Kits made here; also builds the approved lock of all of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._images: dict[str, KitImage] = {}
        self._entries: dict[str, Sequence[Capability]] = {}
        self.fetched: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)

    def add(
        self, reference: str, kind: str, files: Mapping[str, Entry], *capabilities: Capability, **config: object
    ) -> None:
        blob = tar(files)
        digest = "sha256:" + hashlib.sha256(blob).hexdigest()
        (self._folder / digest[7:]).write_bytes(blob)
        layer = ImageLayer(digest, len(blob), TAR, digest)
        self._images[reference] = KitImage(reference, "sha256:" + "1" * 64, kind, (layer,), **config)  # type: ignore[arg-type]
        self._entries[reference] = capabilities

    def approved(self) -> ApprovedLock:
        workload = next(ref for ref, image in self._images.items() if image.kind == "workload")
        return runtime_sets.approve(self._entries, workload=workload)

    async def image(self, reference: str, digest: str) -> KitImage:
        return self._images[reference]

    async def layer(self, reference: str, layer: ImageLayer, progress: Callable[[int, int], None]) -> Path:
        self.fetched.append(layer.digest)
        progress(layer.size, layer.size)
        return self._folder / layer.digest[7:]
