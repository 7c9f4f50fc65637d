"""The ordered checks of each form of a descriptor (§11): what is wrong, at which dotted path.

All independent errors are collected in order. The checks of one declaration block are in ``block``, those of the
fields around it in ``fields``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kitstudio.models.block import check_capabilities, check_published_capabilities
from kitstudio.models.canonical import encode, readable, texts_of
from kitstudio.models.descriptor import Capability, CapabilityGroup, Descriptor
from kitstudio.models.document import Document, Node, holders
from kitstudio.models.errors import DescriptorError
from kitstudio.models.fields import check_args, check_kits, check_recipe, check_relations, check_top
from kitstudio.models.issue import Issue
from kitstudio.models.quote import quote
from kitstudio.models.references import (
    ARG_REFERENCE,
    ENV_OPENER,
    Held,
    held,
    holds_arg,
    references,
)
from kitstudio.models.relations import parse_provide
from kitstudio.models.tree import parse_tree

__all__ = ["Form", "Issue", "Report", "redacted", "validate", "validate_descriptor"]

MAX_BYTES: Final = 524_288
"""A descriptor over this is refused (§9.4)."""
_DECLARATION: Final = re.compile(r"capabilities\[[0-9]+\](?:\.group\.capabilities\[[0-9]+\])?")
_PLACEHOLDER_POSSIBLE: Final = re.compile(r"\$\{\{|[\\!]")
"""A placeholder stands in the text as it is, or is spelled with escapes or a tag."""
WARN_BYTES: Final = 65_536
"""A descriptor over this is warned about (§9.4)."""


class Form(Enum):
    """Which stage of a descriptor's life is judged."""

    BASE = "base"
    AUTHORED = "authored"
    PUBLISHED = "published"
    DECLARATIONS = "declarations"
    EXPANDED_DECLARATIONS = "expanded declarations"
    EFFECTIVE = "effective"


@dataclass(frozen=True, slots=True)
class Report:
    """What validation found. Only errors make a descriptor invalid."""

    errors: tuple[Issue, ...] = ()
    warnings: tuple[Issue, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.errors


def validate(document: Document, form: Form) -> Report:
    """Judge a decoded text as one form."""
    return _judge(document.descriptor, form, _Bytes(document.text, lambda: document.root))


def validate_descriptor(descriptor: Descriptor, form: Form) -> Report:
    """Judge a descriptor that has no text of its own; its canonical JSON stands for the bytes."""
    try:
        text = encode(descriptor)
    except DescriptorError:
        # What JSON cannot spell is reported at its config below.
        return _judge(descriptor, form, None)
    return _judge(descriptor, form, _Bytes(text, lambda: parse_tree(readable(text))))


def redacted(issues: Iterable[Issue], before: Descriptor, is_secret: Callable[[str], bool]) -> tuple[Issue, ...]:
    """Findings about an expanded descriptor, safe to show (§6.1).

    ``before``: the descriptor with its references; ``is_secret``: whether an arg's value must not be shown. What
    was said of a declaration that took in a secret arg or the environment is reduced to which declaration it is.
    """
    entries = dict(_placed_entries(before))
    found: dict[Issue, None] = {}
    for issue in issues:
        place = _DECLARATION.match(issue.path)
        path = place[0] if place else ""
        taken_in = texts_of(entries.get(path, before))
        if any(ENV_OPENER.search(text) or any(map(is_secret, references(text))) for text in taken_in if "${{" in text):
            issue = Issue(path, "not valid once secrets or the environment are filled in")
        found.setdefault(issue)
    return tuple(found)


def _placed_entries(descriptor: Descriptor) -> Iterable[tuple[str, Capability]]:
    for index, item in enumerate(descriptor.capabilities):
        path = f"capabilities[{index}]"
        if isinstance(item, Capability):
            yield path, item
            continue
        for place, member in enumerate(item.members or ()):
            if isinstance(member, Capability):
                yield f"{path}.group.capabilities[{place}]", member


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The text that is judged; its tree is made where a placeholder has to be found."""

    text: str
    tree: Callable[[], Node]

    def holders(self) -> Mapping[str, list[str]]:
        """Arg → paths of the scalars and keys that refer to it."""
        return holders(self.tree(), ARG_REFERENCE.findall)


def _judge(descriptor: Descriptor, form: Form, raw: _Bytes | None) -> Report:
    errors: list[Issue] = []
    warnings: list[Issue] = []
    if form is Form.EFFECTIVE or form is Form.EXPANDED_DECLARATIONS:
        errors += _effective_extras(descriptor, raw, groups_refused=form is Form.EFFECTIVE)
    cross_check = form is Form.BASE or form is Form.AUTHORED or form is Form.EFFECTIVE
    errors += check_top(descriptor)
    errors += check_relations(descriptor)
    plain = raw is not None and not _PLACEHOLDER_POSSIBLE.search(raw.text)
    errors += check_capabilities(descriptor, cross_check=cross_check, plain=plain)
    errors += check_args(descriptor)
    errors += check_recipe(descriptor)
    errors += check_kits(descriptor)
    if form is not Form.BASE and raw is not None:
        _check_size(raw.text, errors, warnings)
        errors += _check_declared(descriptor, raw)
    if form is Form.PUBLISHED:
        errors += _published_extras(descriptor, raw)
    return Report(tuple(errors), tuple(warnings))


def _check_size(text: str, errors: list[Issue], warnings: list[Issue]) -> None:
    if len(text) * 4 <= WARN_BYTES:
        return
    size = len(text.encode())
    if size > MAX_BYTES:
        errors.append(
            Issue(
                "", f"the descriptor has {size} bytes, more than {MAX_BYTES}", "Move content into the image's layers."
            )
        )
    if size > WARN_BYTES:
        warnings.append(
            Issue(
                "", f"the descriptor has {size} bytes, more than {WARN_BYTES}", "Move content into the image's layers."
            )
        )


def _check_declared(descriptor: Descriptor, raw: _Bytes) -> Iterable[Issue]:
    names = [name for name in references(raw.text) if name not in descriptor.args]
    paths = raw.holders() if names else {}
    for name in names:
        message = f"the arg {quote(name)} is referred to and not declared"
        yield from _at_holders(paths, name, message, "Declare it under args, or correct the name.")


def _at_holders(holders_of: Mapping[str, list[str]], name: str, message: str, remedy: str) -> Iterable[Issue]:
    paths = holders_of.get(name)
    if not paths:
        yield Issue("", f"{message} (in a comment or a later document)", remedy)
    for path in paths or ():
        yield Issue(path, message, remedy)


def _published_extras(descriptor: Descriptor, raw: _Bytes | None) -> Iterable[Issue]:
    yield from check_published_capabilities(descriptor)
    if holds_arg(descriptor.version):
        yield Issue("version", "the published version still holds an arg reference", "Publish with the arg's value.")
    for index, entry in enumerate(descriptor.provides):
        if holds_arg(entry):
            yield Issue(f"provides[{index}]", "a published entry still holds an arg reference")
    if not descriptor.version:
        for index, entry in enumerate(descriptor.provides):
            if not holds_arg(entry) and _is_unversioned(entry):
                yield Issue(
                    f"provides[{index}]",
                    f"{quote(entry)} has no version, and the descriptor has none either",
                    "State `version:`, or write the entry as name@version.",
                )
    if raw is not None:
        yield from _check_no_build_references(descriptor, raw)
    if descriptor.kind == "set":
        yield Issue("kind", "a published Kit is a workload or a mixin, never a set", "Publish the set: it is merged.")
    for index, kit in enumerate(descriptor.kits):
        if holds_arg(kit.ref):
            yield Issue(f"kits[{index}].ref", "a published reference still holds an arg reference")
        if not kit.digest:
            yield Issue(f"kits[{index}].digest", "a published set pins every Kit by digest")


def _check_no_build_references(descriptor: Descriptor, raw: _Bytes) -> Iterable[Issue]:
    names = [name for name in references(raw.text) if name in descriptor.args and descriptor.args[name].is_build]
    paths = raw.holders() if names else {}
    for name in names:
        message = f"the build-phase arg {quote(name)} is still referred to"
        for issue in _at_holders(paths, name, message, "Publish with the arg's value."):
            if not _is_reported_elsewhere(issue.path):
                yield issue


def _is_reported_elsewhere(path: str) -> bool:
    if path == "version" or path.startswith("provides["):
        return True
    return path.startswith("kits[") and path.endswith(".ref")


def _is_unversioned(entry: str) -> bool:
    try:
        return not parse_provide(entry).version
    except DescriptorError:
        # Reported among the authored errors.
        return False


def _effective_extras(descriptor: Descriptor, raw: _Bytes | None, *, groups_refused: bool) -> Iterable[Issue]:
    if groups_refused and any(isinstance(item, CapabilityGroup) for item in descriptor.capabilities):
        yield Issue("capabilities", "an effective descriptor has no groups left")
    left = references(raw.text) if raw else ()
    if left:
        yield Issue("", f"arg references are left: {', '.join(left)}", "Supply a value for each.")
    if any(held(entry.config) & (Held.ENV | Held.ENV_KEY) for entry in descriptor.entries()):
        yield Issue("capabilities", "references to the environment are left")
