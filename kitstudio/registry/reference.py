"""References, parsed once: ``[domain/]path[:tag][@digest]`` (§3.4), and the forms the command line accepts.

Nothing here touches the disk or the network; a ``Location`` only says where to look.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from kitstudio.models.errors import KitStudioError
from kitstudio.models.image_reference import check_reference

HUB = "docker.io"
DEMO = "demo.invalid"
LOCAL = "local.invalid"

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_DESCRIPTOR_SUFFIXES = (".yaml", ".yml")


class RegistryError(KitStudioError):
    """A source did not give what was asked: unreachable, refused, missing, oversized, wrong digest."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed registry reference. ``registry`` is a host with optional port; ``tag`` and ``digest`` may be empty.

    ``text`` is the spelling it was given as.
    """

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        """``registry/repository``, without tag or digest: the identity of a Kit across versions."""
        return f"{self.registry}/{self.repository}"

    def with_tag(self, tag: str) -> Reference:
        """The same repository at another tag, no digest."""
        return replace(self, tag=tag, digest="", text="")

    def with_digest(self, digest: str) -> Reference:
        """The same reference pinned to ``digest``; the tag stays for the reader."""
        return replace(self, digest=digest, text="")

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"


@dataclass(frozen=True, slots=True)
class FolderLocation:
    """A Kit folder, a descriptor file or a set file on this machine."""

    path: Path


@dataclass(frozen=True, slots=True)
class LayoutLocation:
    """An OCI image layout directory, and what to take from it (nothing stated: its only or newest image)."""

    path: Path
    tag: str = ""
    digest: str = ""


Location: TypeAlias = FolderLocation | LayoutLocation | Reference


def parse(text: str) -> Reference:
    """Parse a registry reference; the first component is a host if it is ``localhost`` or holds ``.``, ``:`` or a
    capital, else the reference belongs to Docker Hub."""
    stated = text.strip()
    if not stated:
        raise _refused(text, "a reference is empty", "Write one such as docker.io/acme/kit:1.0.")
    if problem := check_reference(stated):
        raise _refused(text, problem, "A reference is written [host/]name[:tag][@digest], names in lower case.")
    rest, _, digest = stated.partition("@")
    first, slash, remainder = rest.partition("/")
    is_host = slash and (first == "localhost" or any(c in ".:" or c.isupper() for c in first))
    domain, rest = (first, remainder) if is_host else (HUB, rest)
    path, colon, tag = rest.rpartition(":")
    if not colon:
        path, tag = rest, ""
    domain = HUB if domain == f"index.{HUB}" else domain
    if domain == HUB and "/" not in path:
        path = f"library/{path}"
    return Reference(domain, path, tag, digest, stated)


def parse_location(text: str, cwd: Path) -> Location:
    """The forms of the command line, in their order: path, ``oci:``, ``demo/``, registry reference."""
    text = text.strip()
    if text.startswith(("./", "../", "/", "~/")) or text in (".", ".."):
        return FolderLocation((cwd / Path(text).expanduser()).absolute())
    if text.startswith("oci:"):
        return _layout(text, cwd)
    if text.lower().endswith(_DESCRIPTOR_SUFFIXES):
        return FolderLocation((cwd / text).absolute())
    if text.startswith("demo/"):
        return replace(parse(f"{DEMO}/{text.removeprefix('demo/')}"), text=text)
    return parse(text)


def is_digest(text: str) -> bool:
    """True for a well-formed digest of a supported algorithm."""
    return _DIGEST.fullmatch(text) is not None


def is_tag(text: str) -> bool:
    """True for what may stand as a tag."""
    return _TAG.fullmatch(text) is not None


def _layout(text: str, cwd: Path) -> LayoutLocation:
    rest = text.removeprefix("oci:")
    path, at, digest = rest.rpartition("@")
    if at and is_digest(digest):
        return LayoutLocation((cwd / Path(path).expanduser()).absolute(), digest=digest)
    path, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        path, tag = rest, ""
    if not path or (colon and tag and not is_tag(tag)):
        raise _refused(text, "an OCI layout is written oci:DIR, oci:DIR:TAG or oci:DIR@DIGEST")
    return LayoutLocation((cwd / Path(path).expanduser()).absolute(), tag)


def _refused(text: str, what: str, remedy: str = "") -> RegistryError:
    return RegistryError(f"{what[0].upper()}{what[1:]}.", where=_short(text), remedy=remedy)


def _short(text: str) -> str:
    clean = "".join(c if c.isprintable() else "�" for c in text)
    return clean if len(clean) <= 120 else f"{clean[:117]}…"
