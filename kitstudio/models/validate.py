"""The ordered checks of each form of a descriptor (§11): what is wrong, at which dotted path.

All independent errors are collected in order. The checks of one declaration block are in ``block``, those of the
fields around it in ``fields``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kitstudio.models.block import check_capabilities, check_published_capabilities
from kitstudio.models.canonical import encode, readable
from kitstudio.models.descriptor import CapabilityGroup, Descriptor
from kitstudio.models.document import Document, Node
from kitstudio.models.errors import DescriptorError
from kitstudio.models.fields import check_args, check_kits, check_recipe, check_relations, check_top
from kitstudio.models.issue import Issue
from kitstudio.models.references import (
    ARG_REFERENCE,
    holds_arg,
    holds_env,
    holds_env_key,
    references,
)
from kitstudio.models.relations import parse_provide
from kitstudio.models.tree import parse_tree, scalars

__all__ = ["Form", "Issue", "Report", "validate", "validate_descriptor"]

MAX_BYTES: Final = 524_288
"""A descriptor over this is refused (§9.4)."""
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
    return _judge(document.descriptor, form, _Bytes(document.text, document.root))


def validate_descriptor(descriptor: Descriptor, form: Form) -> Report:
    """Judge a descriptor that has no text of its own; its canonical JSON stands for the bytes."""
    try:
        text = encode(descriptor)
    except DescriptorError:
        # What JSON cannot spell is reported at its config below.
        return _judge(descriptor, form, None)
    root = parse_tree(readable(text)) if "${{" in text else None
    return _judge(descriptor, form, _Bytes(text, root))


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The text that is judged with its tree; no tree when the text holds no placeholder."""

    text: str
    root: Node | None

    def holders(self, name: str) -> Iterable[str]:
        """Paths of the scalars and keys that refer to an arg, in document order."""
        if self.root is None:
            return
        for path, node, _ in scalars(self.root):
            if "${{" in node.text and name in ARG_REFERENCE.findall(node.text):
                yield path


def _judge(descriptor: Descriptor, form: Form, raw: _Bytes | None) -> Report:
    errors: list[Issue] = []
    warnings: list[Issue] = []
    if form in {Form.EFFECTIVE, Form.EXPANDED_DECLARATIONS}:
        errors += _effective_extras(descriptor, raw, groups_refused=form is Form.EFFECTIVE)
    cross_check = form in {Form.BASE, Form.AUTHORED, Form.EFFECTIVE}
    errors += check_top(descriptor)
    errors += check_relations(descriptor)
    errors += check_capabilities(descriptor, cross_check=cross_check)
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
    for name in references(raw.text):
        if name not in descriptor.args:
            message = f"the arg {name!r} is referred to and not declared"
            yield from _at_holders(raw, name, message, "Declare it under args, or correct the name.")


def _at_holders(
    raw: _Bytes, name: str, message: str, remedy: str, left_out: Callable[[str], bool] = lambda path: False
) -> Iterable[Issue]:
    paths = list(raw.holders(name))
    if not paths:
        yield Issue("", f"{message} (in a comment or a later document)", remedy)
    for path in paths:
        if not left_out(path):
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
                    f"{entry!r} has no version, and the descriptor has none either",
                    "State `version:`, or write the entry as name@version.",
                )
    for name in references(raw.text) if raw else ():
        arg = descriptor.args.get(name)
        if raw and arg is not None and arg.is_build:
            message = f"the build-phase arg {name!r} is still referred to"
            yield from _at_holders(raw, name, message, "Publish with the arg's value.", _is_reported_elsewhere)
    if descriptor.kind == "set":
        yield Issue("kind", "a published Kit is a workload or a mixin, never a set", "Publish the set: it is merged.")
    for index, kit in enumerate(descriptor.kits):
        if holds_arg(kit.ref):
            yield Issue(f"kits[{index}].ref", "a published reference still holds an arg reference")
        if not kit.digest:
            yield Issue(f"kits[{index}].digest", "a published set pins every Kit by digest")


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
    if any(holds_env(entry.config) or holds_env_key(entry.config) for entry in descriptor.entries()):
        yield Issue("capabilities", "references to the environment are left")
