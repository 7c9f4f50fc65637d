"""References, parsed once: ``[domain/]path[:tag][@digest]`` (§3.4), and the forms the command line accepts.

Nothing here touches the disk or the network; a ``Location`` only says where to look.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from kitstudio.models.errors import KitStudioError

HUB = "docker.io"
DEMO = "demo.invalid"
LOCAL = "local.invalid"
MAX_PATH = 255

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:]+\])(?::[0-9]{{1,5}})?")
_COMPONENT = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}")
_HEX64 = re.compile(r"[0-9a-f]{64}")
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
    rest = text.strip()
    if not rest:
        raise _refused(text, "a reference is empty", "Write one such as docker.io/acme/kit:1.0.")
    if "://" in rest:
        raise _refused(text, "a reference has no scheme", "Leave out everything up to and including ://.")
    if any(character.isspace() for character in rest):
        raise _refused(text, "a reference holds no blanks")
    rest, _, digest = rest.partition("@")
    if _HEX64.fullmatch(rest):
        raise _refused(text, "64 hexadecimal digits alone name an image id, not a reference")
    if "@" in text and not _DIGEST.fullmatch(digest):
        raise _refused(text, f"“{_short(digest)}” is not a digest", "A digest reads sha256: and 64 hexadecimal digits.")
    domain, path, tag = _split(rest)
    if domain and not _DOMAIN.fullmatch(domain):
        raise _refused(text, f"“{_short(domain)}” is not a host name")
    if tag is not None and not _TAG.fullmatch(tag):
        raise _refused(
            text, f"“{_short(tag)}” is not a tag", "A tag has up to 128 letters, digits, dots, hyphens and _."
        )
    if len(path) > MAX_PATH or not path or not all(_COMPONENT.fullmatch(part) for part in path.split("/")):
        raise _refused(text, f"“{_short(path)}” is not a repository name", "Repository names are lower case.")
    if not domain or domain == f"index.{HUB}":
        domain = HUB
    if domain == HUB and "/" not in path:
        path = f"library/{path}"
    return Reference(domain, path, tag or "", digest, text.strip())


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


def _split(rest: str) -> tuple[str, str, str | None]:
    first, slash, remainder = rest.partition("/")
    if slash and (first == "localhost" or any(c in ".:[" or c.isupper() for c in first)):
        domain, rest = first, remainder
    else:
        domain = ""
    path, colon, tag = rest.rpartition(":")
    return (domain, path, tag) if colon else (domain, rest, None)


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
