"""The working directory an image names and does not ship, as one more layer: engines make it, so do we."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kitstudio.runtime.assemble import Contract, show
from kitstudio.runtime.backend import ImageLayer, SandboxError
from kitstudio.runtime.inventory import EntryType, Inventory
from kitstudio.runtime.layers import ConvertedLayer, LayerCache

_TAR = "application/vnd.oci.image.layer.v1.tar"


async def workdir_layer(
    contract: Contract, stack: Sequence[Inventory], cache: LayerCache, below: Sequence[Path]
) -> ConvertedLayer | None:
    """A layer with the missing folders, the account's own; None when the directory is there."""
    missing = missing_folders(contract.workdir, stack)
    if not missing:
        return None
    blob = _tar(missing, contract.account.uid, contract.account.gid)
    digest = "sha256:" + hashlib.sha256(blob).hexdigest()
    with tempfile.NamedTemporaryFile(prefix="kitstudio-") as file:
        file.write(blob)
        file.flush()
        return await cache.ensure(ImageLayer(digest, len(blob), _TAR, digest), Path(file.name), tuple(below))


def missing_folders(path: str, stack: Sequence[Inventory]) -> tuple[str, ...]:
    """Folders to make so that ``path`` exists, outermost first, links of what exists followed."""
    parts = [part for part in path.split("/") if part]
    real = ""
    for depth, _ in enumerate(parts):
        found = show(stack, "/" + "/".join(parts[: depth + 1]))
        if found is None:
            rest = parts[depth:]
            return tuple("/".join([*real.split("/"), *rest[: n + 1]]).lstrip("/") for n in range(len(rest)))
        if found.type is not EntryType.DIRECTORY:
            raise SandboxError(
                f"The image's working directory lies below {found.path}, which is no folder.", where=path
            )
        real = found.path
    return ()


def _tar(folders: Sequence[str], uid: int, gid: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in folders:
            info = tarfile.TarInfo(folder)
            info.type, info.mode, info.uid, info.gid = tarfile.DIRTYPE, 0o755, uid, gid
            archive.addfile(info)
    return out.getvalue()
