"""The image reference grammar a listed Kit's ``ref`` must follow (§3.4)."""

from __future__ import annotations

import re

from kitstudio.models.quote import quote

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?")
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_HEX_ONLY = re.compile(r"[a-f0-9]{64}")
_DIGESTS = {"sha256": 64, "sha384": 96, "sha512": 128}
_LONGEST_NAME = 255


def check_reference(text: str) -> str:
    """What is wrong with a reference; empty when it is one."""
    if text != text.strip() or any(c in text for c in " \t\n"):
        return "a reference holds no blanks"
    if text.startswith("git+"):
        return "a git URL is no published Kit"
    if text.startswith((".", "/")):
        return "a local path is no published Kit"
    if "://" in text:
        return "a reference has no scheme in front"
    if _HEX_ONLY.fullmatch(text):
        return "64 hex digits alone are no reference"
    name, at, digest = text.partition("@")
    if at and not _is_digest(digest):
        return f"{quote(digest)} is not a digest"
    last = name.rfind("/")
    colon = name.rfind(":")
    if colon > last:
        if not _TAG.fullmatch(name[colon + 1 :]):
            return f"{quote(name[colon + 1 :])} is not a tag"
        name = name[:colon]
    domain, slash, path = name.partition("/")
    if slash and _is_domain(domain):
        if not _DOMAIN.fullmatch(domain):
            return f"{quote(domain)} is not a registry"
    else:
        path = name if "/" in name else f"library/{name}"
    if not _PATH.fullmatch(path):
        return f"{quote(path)} is not the name of a repository"
    if len(path) > _LONGEST_NAME:
        return f"a repository name has at most {_LONGEST_NAME} characters"
    return ""


def stated_digest(reference: str) -> str:
    """The digest inside a reference, empty if none."""
    return reference.partition("@")[2]


def _is_domain(text: str) -> bool:
    return text == "localhost" or "." in text or ":" in text or text.lower() != text


def _is_digest(text: str) -> bool:
    algorithm, _, encoded = text.partition(":")
    length = _DIGESTS.get(algorithm)
    return length == len(encoded) and re.fullmatch("[a-f0-9]+", encoded) is not None
