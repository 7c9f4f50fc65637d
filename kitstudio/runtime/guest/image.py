"""Where the guest image lies: one uncompressed kernel and one initramfs, made once by ``build`` (``./studio setup``).

``KITSTUDIO_GUEST`` names another folder. The folder is complete or it is not an image: ``guest.json`` is written last.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from kitstudio.runtime.backend import SandboxError

MANIFEST = "guest.json"
KERNEL = "vmlinux"
INITRAMFS = "initramfs.cpio"
BUSYBOX = "busybox"


@dataclass(frozen=True, slots=True)
class GuestImage:
    """A kernel and its initramfs. ``identity`` changes when any byte of either does."""

    kernel: Path
    initramfs: Path
    identity: str
    description: str = ""


def default_folder() -> Path:
    """``build/guest`` of this checkout or installation, or ``KITSTUDIO_GUEST``."""
    named = os.environ.get("KITSTUDIO_GUEST")
    return Path(named) if named else Path(__file__).resolve().parents[3] / "build" / "guest"


def find_guest_image(folder: Path | None = None) -> GuestImage:
    """The guest image of this installation; ``SandboxError`` with the way to make it when there is none."""
    place = folder or default_folder()
    try:
        manifest = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        identity, description = str(manifest["identity"]), str(manifest["description"])
    except FileNotFoundError:
        raise SandboxError(
            "The guest image has not been built.", where=str(place), remedy="Run: ./studio setup"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SandboxError(
            f"The guest image cannot be read: {error}.", where=str(place), remedy="Run: ./studio setup"
        ) from error
    image = GuestImage(place / KERNEL, place / INITRAMFS, identity, description)
    for part in (image.kernel, image.initramfs):
        if not part.is_file():
            raise SandboxError(f"The guest image lacks {part.name}.", where=str(place), remedy="Run: ./studio setup")
    return image
