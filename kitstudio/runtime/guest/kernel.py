"""From a Debian kernel package to what a machine boots: the uncompressed kernel, and the modules it must load."""

from __future__ import annotations

import lzma
import re
import struct
import zlib
from collections.abc import Iterable, Mapping

import zstandard

from kitstudio.runtime.backend import SandboxError

_MODULE_FOLDERS = ("fs/", "net/", "lib/", "crypto/", "arch/x86/crypto/", "drivers/virtio/", "drivers/block/")
_MODULE_DRIVERS = ("drivers/char/", "drivers/net/dummy", "drivers/net/tun")


def is_wanted(name: str) -> bool:
    """Whether a file of a kernel package can matter to the guest (read before the module list is known)."""
    if name.startswith("boot/vmlinuz-") or name.endswith("/modules.builtin"):
        return True
    inside = re.fullmatch(r"(?:usr/)?lib/modules/[^/]+/kernel/(.+)", name)
    return inside is not None and inside[1].startswith(_MODULE_FOLDERS + _MODULE_DRIVERS)


def extract_vmlinux(image: bytes) -> bytes:
    """The ELF kernel inside a bzImage (offsets of the x86 boot protocol), ready for a PVH boot."""
    if len(image) < 0x250 or image[0x202:0x206] != b"HdrS":
        raise SandboxError("The kernel image has no usable boot header.")
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = ((image[0x1F1] or 4) + 1) * 512 + offset
    payload = image[start : start + length]
    if payload.startswith(b"\x1f\x8b"):
        kernel = zlib.decompressobj(31).decompress(payload)
    elif payload.startswith(b"\xfd7zXZ\0"):
        kernel = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        kernel = zstandard.ZstdDecompressor().decompressobj().decompress(payload)
    else:
        raise SandboxError(f"The kernel is compressed in a way not known here ({payload[:6].hex()}).")
    if kernel[:4] != b"\x7fELF":
        raise SandboxError("The kernel image does not hold an ELF kernel.")
    return kernel


class Modules:
    """The modules of one kernel, by name, with their own word on what they depend on."""

    def __init__(self, files: Mapping[str, bytes | str]) -> None:
        self._paths: dict[str, str] = {}
        self._files = files
        self._built_in: set[str] = set()
        for path, content in files.items():
            if path.endswith("/modules.builtin") and isinstance(content, bytes):
                self._built_in = {_module_name(line) for line in content.decode().split()}
            elif ".ko" in path:
                self._paths[_module_name(path)] = path

    def ordered(self, wanted: Iterable[str]) -> dict[str, bytes]:
        """The wanted modules and everything they need, each after what it depends on; built-in ones left out."""
        order: dict[str, bytes] = {}
        for name in wanted:
            self._visit(name.replace("-", "_"), order, required=True)
        return order

    def _visit(self, name: str, order: dict[str, bytes], *, required: bool) -> None:
        if name in order or name in self._built_in:
            return
        if name not in self._paths:
            if required:
                raise SandboxError(f"The kernel package has no module {name}.")
            return
        content = self._content(name)
        info = _module_info(content)
        for dependency in info.get("depends", "").split(","):
            if dependency:
                self._visit(dependency.replace("-", "_"), order, required=True)
        soft = info.get("softdep", "")
        for dependency in soft.partition("post:")[0].replace("pre:", "").split():
            self._visit(dependency.replace("-", "_"), order, required=False)
        order[name] = content

    def _content(self, name: str) -> bytes:
        path = self._paths[name]
        content = self._files[path]
        assert isinstance(content, bytes)
        if path.endswith(".xz"):
            return lzma.decompress(content)
        if path.endswith(".zst"):
            return zstandard.ZstdDecompressor().decompressobj().decompress(content)
        return content


def _module_name(path: str) -> str:
    return path.rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def _module_info(content: bytes) -> dict[str, str]:
    found = re.findall(rb"\0(depends|softdep)=([^\0]*)\0", content.replace(b"\0", b"\0\0"))
    return {key.decode(): value.decode() for key, value in found}
