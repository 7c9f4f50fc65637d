"""Builders of approved locks, images and inventories for the runtime's tests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from kitstudio.models.descriptor import Capability, Descriptor, JsonValue
from kitstudio.models.lock import ApprovedLock, Lock, LockedKit
from kitstudio.models.surface import Surface
from kitstudio.runtime.assemble import AssembledKit
from kitstudio.runtime.backend import ImageLayer, KitImage
from kitstudio.runtime.inventory import EntryType, Inventory, InventoryEntry

PREFIX = "com.docker.sandbox/"
PASSWD = b"root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/bash\nother:x:1001:1002::/home/other:\n"
GROUP = b"root:x:0:\nagent:x:1000:\ndocker:x:999:agent,other\nstaff:x:50:\n"


def capability(kind: str, config: dict[str, JsonValue] | None = None, *, optional: bool = False) -> Capability:
    return Capability(f"{PREFIX}{kind}", config, config is not None, optional=optional)


def descriptor(*entries: Capability, kind: str = "mixin") -> Descriptor:
    return Descriptor("3", kind, capabilities=entries)


def approve(kits: Mapping[str, Sequence[Capability]], *, workload: str = "", name: str = "demo") -> ApprovedLock:
    """A lock of Kits in composition order; the first is the workload unless another is named."""
    workload = workload or next(iter(kits), "")
    selected = {
        reference: descriptor(*entries, kind="workload" if reference == workload else "mixin")
        for reference, entries in kits.items()
    }
    locked = tuple(LockedKit(ref, "sha256:" + "1" * 64, d.kind) for ref, d in selected.items())
    everything = tuple(entry for entries in kits.values() for entry in entries)
    sha = hashlib.sha256(repr(selected).encode()).hexdigest()
    return ApprovedLock(
        Lock(name, locked, Surface(), "sha256:0"), sha, descriptor(*everything, kind="workload"), selected
    )


def inventory(
    paths: Mapping[str, str], *, digest: str = "", files: Mapping[str, bytes] | None = None, executable: bool = True
) -> Inventory:
    """``{"bin/sh": "f", "lib": "d", "bin2": "l:bin"}``."""
    entries: dict[str, InventoryEntry] = {}
    everything = dict.fromkeys(files or {}, "f") | dict(paths)
    for path in list(everything):
        above = path.split("/")[:-1]
        for depth in range(len(above) + 1):
            folder = "/".join(above[:depth])
            if folder not in everything:
                entries[folder] = InventoryEntry(folder, EntryType.DIRECTORY, 0o755, 0, 0, implied=True)
    for path, kind in everything.items():
        letter, _, target = kind.partition(":")
        mode = 0o755 if executable else 0o644
        entries[path] = InventoryEntry(path, EntryType(letter), mode, 0, 0, target=target)
    return Inventory(digest or "sha256:" + hashlib.sha256(repr(paths).encode()).hexdigest(), entries, files or {})


def kit(reference: str, *inventories: Inventory, kind: str = "mixin", **config: object) -> AssembledKit:
    layers = tuple(ImageLayer(i.digest, 1, "application/vnd.oci.image.layer.v1.tar") for i in inventories)
    image = KitImage(reference, "sha256:" + "1" * 64, kind, layers, **config)  # type: ignore[arg-type]
    return AssembledKit(image, inventories)
