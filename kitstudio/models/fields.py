"""The checks of the fields around the capability list (§3, §4, §5, §6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from kitstudio.models.args import compile_pattern
from kitstudio.models.descriptor import Arg, Descriptor, ListedKit
from kitstudio.models.errors import DescriptorError
from kitstudio.models.image_reference import check_reference, stated_digest
from kitstudio.models.issue import Issue
from kitstudio.models.quote import quote
from kitstudio.models.references import NAME, holds_arg, references
from kitstudio.models.relations import parse_conflict, parse_provide, parse_require
from kitstudio.models.versions import is_version, trim

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_URL_CHARACTERS = re.compile(r"[^\x00-\x20\x7f]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r"[0-9]*")


def check_top(descriptor: Descriptor) -> Iterator[Issue]:
    """``kind`` and ``iconUrl``."""
    if descriptor.kind not in {"workload", "mixin", "set"}:
        yield Issue("kind", *_wrong_kind(descriptor.kind))
    if descriptor.icon_url and not _is_https(descriptor.icon_url):
        yield Issue("iconUrl", "an icon is an absolute https URL", "Host the image and state its https address.")


def check_relations(descriptor: Descriptor) -> Iterator[Issue]:
    """``version`` and the four lists of relations."""
    if descriptor.version and not holds_arg(descriptor.version) and not is_version(trim(descriptor.version)):
        remedy = "A version is digits and dots such as 2.98.0, without a leading v."
        yield Issue("version", f"{quote(descriptor.version)} is not a version", remedy)
    for index, entry in enumerate(descriptor.provides):
        if not holds_arg(entry):
            yield from _parsed(parse_provide, entry, f"provides[{index}]")
    for field, entries, parse in (
        ("requires", descriptor.requires, parse_require),
        ("integrates", descriptor.integrates, parse_require),
        ("conflicts", descriptor.conflicts, parse_conflict),
    ):
        for index, entry in enumerate(entries):
            path = f"{field}[{index}]"
            if holds_arg(entry):
                yield Issue(path, "arg references are for provides and version only", "Write the entry out.")
            else:
                yield from _parsed(parse, entry, path)


def check_args(descriptor: Descriptor) -> Iterator[Issue]:
    """``args``, by sorted name."""
    for name in sorted(descriptor.args):
        yield from _check_arg(name, descriptor.args[name])


def check_recipe(descriptor: Descriptor) -> Iterator[Issue]:
    """``build``, ``dockerfile`` and ``kits`` exclude each other; ``dockerfile`` stays inside its directory."""
    one = "A Kit's content recipe lives in exactly one place."
    if descriptor.build and descriptor.dockerfile:
        yield Issue("dockerfile", "dockerfile cannot stand beside build", one)
    if descriptor.kits and descriptor.build:
        yield Issue("build", "build cannot stand beside kits", one)
    if descriptor.kits and descriptor.dockerfile:
        yield Issue("dockerfile", "dockerfile cannot stand beside kits", one)
    if descriptor.dockerfile and _leaves(descriptor.dockerfile):
        yield Issue("dockerfile", "the path leaves the descriptor's directory", "State a relative path inside it.")


def check_kits(descriptor: Descriptor) -> Iterator[Issue]:
    """``kits`` (§3.4)."""
    if not descriptor.kits and (descriptor.kind == "set" or descriptor.kits_stated):
        yield Issue("kits", "kits lists at least one Kit", "Add a Kit, or remove the key.")
    seen: set[str] = set()
    for index, kit in enumerate(descriptor.kits):
        yield from _check_kit(kit, f"kits[{index}]", descriptor, seen)


def _check_kit(kit: ListedKit, path: str, descriptor: Descriptor, seen: set[str]) -> Iterator[Issue]:
    if not trim(kit.ref):
        yield Issue(f"{path}.ref", "an entry needs its reference", "Write `ref: registry/name:tag`.")
    if kit.digest and not _DIGEST.fullmatch(kit.digest):
        yield Issue(f"{path}.digest", "a digest is sha256: and 64 lower-case hex digits")
    names = references(kit.ref)
    for name in names:
        arg = descriptor.args.get(name)
        if arg is not None and not arg.is_build:
            yield Issue(
                f"{path}.ref",
                f"{quote(name)} is answered at create, too late to choose a Kit",
                "Give the arg a buildArg, or write the reference out.",
            )
    if trim(kit.ref) and not names:
        problem = check_reference(kit.ref)
        if problem:
            yield Issue(f"{path}.ref", problem, "A set lists published Kits: registry/name:tag or …@sha256:digest.")
        else:
            inside = stated_digest(kit.ref)
            if inside and kit.digest and inside != kit.digest:
                yield Issue(f"{path}.digest", "the digest differs from the one inside ref", "Keep one of the two.")
    if kit.ref in seen and trim(kit.ref):
        yield Issue(f"{path}.ref", f"{quote(kit.ref)} is listed twice", "Keep one entry.")
    seen.add(kit.ref)
    for name in sorted(kit.args):
        if not NAME.fullmatch(name):
            yield Issue(f"{path}.args", f"{quote(name)} cannot be the name of an arg")


def _check_arg(name: str, arg: Arg) -> Iterator[Issue]:
    path = f"args.{name}"
    charset = "Use letters, digits and underscores, not beginning with a digit."
    if not NAME.fullmatch(name):
        yield Issue(path, f"{quote(name)} cannot be the name of an arg", charset)
    if arg.required and arg.default is not None:
        yield Issue(path, "a required arg has no default", "Keep one of the two.")
    if arg.enum and arg.pattern:
        yield Issue(path, "enum and pattern exclude each other", "Keep one of the two.")
    if arg.pattern:
        yield from _parsed(lambda text: compile_pattern(text, name), arg.pattern, f"{path}.pattern")
    if arg.env and arg.build_arg:
        yield Issue(path, "env and buildArg exclude each other: an arg resolves in one phase", "Keep one of the two.")
    if arg.env and not NAME.fullmatch(arg.env):
        yield Issue(f"{path}.env", f"{quote(arg.env)} cannot be the name of a variable", charset)
    if arg.build_arg and not NAME.fullmatch(arg.build_arg):
        yield Issue(f"{path}.buildArg", f"{quote(arg.build_arg)} cannot be the name of a build argument", charset)


def _parsed(parse: Callable[[str], object], text: str, path: str) -> Iterator[Issue]:
    try:
        parse(text)
    except DescriptorError as error:
        yield Issue(path, error.what.removesuffix("."), error.remedy)


def _wrong_kind(kind: str) -> tuple[str, str]:
    if not kind:
        return "kind is missing", "State `kind: workload`, `kind: mixin` or `kind: set`."
    if kind == "sandbox":
        return "'sandbox' is the old name of this kind", "Write `kind: workload`."
    return f"{quote(kind)} is not a kind", "A Kit is a workload, a mixin or a set."


def _is_https(url: str) -> bool:
    if not _URL_CHARACTERS.fullmatch(url) or _BAD_ESCAPE.search(url.partition("#")[0].partition("?")[0]):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme.lower() != "https" or not parts.netloc:
        return False
    host = parts.netloc.rpartition("@")[2]
    if not host:
        return False
    port = host[host.rfind("]") + 1 :].partition(":")[2] if host.startswith("[") else host.partition(":")[2]
    return _PORT.fullmatch(port) is not None


def _leaves(path: str) -> bool:
    if path.startswith("/"):
        return True
    depth = 0
    for part in path.split("/"):
        if part == "..":
            depth -= 1
        elif part not in {"", "."}:
            depth += 1
        if depth < 0:
            return True
    return False
