"""Set files (§3.4): reading ``kind: set``, writing a new one, and edits that leave untouched lines as they are.

Every edit is checked: the text it makes must decode to exactly the set that was meant, else nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from kitstudio.models.canonical import to_value
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Arg, Capability, Descriptor, JsonValue, Kind, ListedKit
from kitstudio.models.document import Document, Node, NodeKind
from kitstudio.models.errors import DescriptorError
from kitstudio.models.quote import quote
from kitstudio.models.splice import Edit, append, apply, drop, put, remove
from kitstudio.models.yaml_text import block, quoted

SYNTAX_LINE: Final = "# syntax=docker/sandbox-kit:3"

FIELDS: Final[Mapping[str, str]] = {
    "displayName": "display_name",
    "author": "author",
    "description": "description",
    "sourceUrl": "source_url",
    "iconUrl": "icon_url",
    "version": "version",
}
"""The text fields of a set that ``set_field`` edits, and their attribute."""

_ORDER: Final = (
    *FIELDS,
    "licenses",
    "provides",
    "requires",
    "integrates",
    "conflicts",
    "args",
    "kits",
    "capabilities",
)


def parse(text: str | bytes, name: str = "") -> Document:
    """A set file, decoded. Raises DescriptorError, also when it is a Kit of another kind.

    Stating the derived kind beside ``kits`` is the same thing (§3.4).
    """
    document = decode(text, name=name)
    if document.descriptor.kind != Kind.SET and not document.descriptor.kits_stated:
        raise DescriptorError(
            "This is not a set.",
            where=name,
            remedy=f"Its kind is {_kind(document.descriptor)}; a set file states `kind: set`.",
        )
    return document


def render(descriptor: Descriptor) -> str:
    """A new set file, as a careful author writes it."""
    value = to_value(descriptor)
    lines = [SYNTAX_LINE, 'schemaVersion: "3"', f"kind: {descriptor.kind}"]
    for key in _ORDER:
        if key in value:
            stated = value[key]
            # A version is quoted always: 1.10 is a number to other readers.
            written = f" {quoted(descriptor.version)}" if key == "version" else block(stated, 2, "\n")
            lines.append(f"{key}:{written}")
    if not descriptor.kits:
        lines.append("kits: []")
    text = "\n".join(lines) + "\n"
    expected = replace(descriptor, kits_stated=True)
    if to_value(parse(text).descriptor) != to_value(expected):
        raise DescriptorError("The set holds a field that a set file cannot state.")
    return text


def add_kit(text: str, ref: str, digest: str = "", args: Mapping[str, str] | None = None) -> str:
    """List one more Kit, behind the others."""
    kit = ListedKit(ref, digest, dict(args or {}))

    def edit(root: Node) -> list[Edit]:
        stated = root.get("kits")
        if stated is None or not stated.children:
            return [put(_source(text), root, "kits", [_entry(kit)])]
        return [append(_source(text), stated, _entry(kit))]

    return _edited(text, edit, lambda old: replace(old, kits=(*old.kits, kit), kits_stated=True))


def remove_kit(text: str, ref: str) -> str:
    """List a Kit no longer. Comments around the entry stay."""

    def edit(root: Node) -> list[Edit]:
        kits, index, _ = _listed(root, ref)
        if len(kits.children) == 1:
            return [put(_source(text), root, "kits", [])]
        return [remove(_source(text), kits, index)]

    def meant(old: Descriptor) -> Descriptor:
        return replace(old, kits=tuple(_without(old.kits, ref)), kits_stated=True)

    return _edited(text, edit, meant)


def replace_kit(text: str, old_ref: str, new_ref: str, digest: str = "") -> str:
    """List another reference in a Kit's place: same position, same args. The old digest goes with the old Kit."""

    def edit(root: Node) -> list[Edit]:
        _, _, item = _listed(root, old_ref)
        # A reference that stays keeps the quotes its author gave it.
        edits = [put(_source(text), item, "ref", new_ref)] if new_ref != old_ref else []
        if digest and item.get("digest") is not None:
            edits.append(put(_source(text), item, "digest", digest))
        elif digest and not edits:
            edits.append(put(_source(text), item, "digest", digest, after="ref"))
        elif digest:
            # Both edits meet at the end of the reference: one insertion behind the new one.
            edits = _with_digest(_source(text), item, new_ref, digest)
        elif item.get("digest") is not None:
            edits.append(drop(_source(text), item, "digest"))
        return edits

    return _edited(text, edit, lambda old: _changed(old, old_ref, lambda kit: replace(kit, ref=new_ref, digest=digest)))


def set_kit_arg(text: str, ref: str, name: str, value: str | None) -> str:
    """Answer an arg of a listed Kit; None takes the answer back."""

    def edit(root: Node) -> list[Edit]:
        _, _, item = _listed(root, ref)
        args = item.get("args")
        stated = args is not None and args.kind is NodeKind.MAPPING and args.get(name) is not None
        if value is not None:
            if args is None or not args.children:
                return [put(_source(text), item, "args", {name: value})]
            return [put(_source(text), args, name, value)]
        if args is None or not stated:
            return []
        return [drop(_source(text), *((args, name) if len(args.children) > 2 else (item, "args")))]

    def meant(kit: ListedKit) -> ListedKit:
        left = {key: text for key, text in kit.args.items() if key != name}
        return replace(kit, args=left if value is None else {**left, name: value})

    return _edited(text, edit, lambda old: _changed(old, ref, meant))


def declare_arg(text: str, name: str, arg: Arg) -> str:
    """Declare one more arg of the set itself."""

    def edit(root: Node) -> list[Edit]:
        value = _declaration(name, arg)
        stated = root.get("args")
        if stated is not None and stated.children:
            return [put(_source(text), stated, name, value)]
        return [put(_source(text), root, "args", {name: value}, after=_before(root, "args"))]

    return _edited(text, edit, lambda old: replace(old, args={**old.args, name: arg}))


def add_capability(text: str, type_: str, config: Mapping[str, JsonValue]) -> str:
    """Ask for one thing more in the set's own name (§7), behind what it asks for already."""
    asked = Capability(type_, dict(config), config_stated=True)

    def edit(root: Node) -> list[Edit]:
        value: JsonValue = {"type": type_, "config": dict(config)}
        stated = root.get("capabilities")
        if stated is not None and stated.children:
            return [append(_source(text), stated, value)]
        return [put(_source(text), root, "capabilities", [value], after=_before(root, "capabilities"))]

    return _edited(text, edit, lambda old: replace(old, capabilities=(*(old.capabilities or ()), asked)))


def set_field(text: str, key: str, value: str) -> str:
    """State one of ``FIELDS``; the empty text removes it."""
    attribute = FIELDS[key]

    def edit(root: Node) -> list[Edit]:
        if value:
            return [put(_source(text), root, key, value, after=_before(root, key))]
        return [drop(_source(text), root, key)] if root.get(key) is not None else []

    changes: dict[str, Any] = {attribute: value}
    return _edited(text, edit, lambda old: replace(old, **changes))


def _edited(text: str, edit: Callable[[Node], list[Edit]], meant: Callable[[Descriptor], Descriptor]) -> str:
    document = parse(text)
    source = _source(text)
    result = apply(source, edit(document.root))
    expected = meant(document.descriptor)
    try:
        found = parse(result).descriptor
    except DescriptorError as error:
        raise _cannot_edit() from error
    if found != expected:
        raise _cannot_edit()
    return text[: len(text) - len(source)] + result


def _declaration(name: str, arg: Arg) -> JsonValue:
    stated = to_value(Descriptor("3", kind=Kind.SET, args={name: arg}))["args"]
    assert isinstance(stated, dict)
    return stated[name] or {}


def _kind(descriptor: Descriptor) -> str:
    return quote(descriptor.kind, 20) if descriptor.kind else "not stated"


def _source(text: str) -> str:
    """The text positions count in: without a byte order mark."""
    return text.removeprefix("\ufeff")


def _cannot_edit() -> DescriptorError:
    return DescriptorError(
        "The set file is written in a way that cannot be edited here.",
        remedy="Change it in a text editor: aliases and merge keys are left to their author.",
    )


def _entry(kit: ListedKit) -> JsonValue:
    entry: dict[str, JsonValue] = {"ref": kit.ref}
    if kit.digest:
        entry["digest"] = kit.digest
    if kit.args:
        entry["args"] = dict(kit.args)
    return entry


def _listed(root: Node, ref: str) -> tuple[Node, int, Node]:
    """The list, the place and the entry of a listed Kit."""
    kits = root.get("kits")
    for index, item in enumerate(kits.children if kits is not None else ()):
        entry = item.resolved()
        stated = entry.get("ref") if entry.kind is NodeKind.MAPPING else None
        if kits is not None and stated is not None and stated.resolved().text == ref:
            if entry is not item:
                raise _cannot_edit()
            return kits, index, item
    raise DescriptorError(f"The set does not list {quote(ref)}.")


def _without(kits: tuple[ListedKit, ...], ref: str) -> list[ListedKit]:
    index = next((i for i, kit in enumerate(kits) if kit.ref == ref), None)
    return [kit for i, kit in enumerate(kits) if i != index]


def _changed(old: Descriptor, ref: str, change: Callable[[ListedKit], ListedKit]) -> Descriptor:
    index = next((i for i, kit in enumerate(old.kits) if kit.ref == ref), None)
    if index is None:
        raise DescriptorError(f"The set does not list {quote(ref)}.")
    return replace(old, kits=(*old.kits[:index], change(old.kits[index]), *old.kits[index + 1 :]))


def _with_digest(text: str, item: Node, new_ref: str, digest: str) -> list[Edit]:
    changed = put(text, item, "ref", new_ref)
    added = put(text, item, "digest", digest, after="ref")
    if changed.end == added.start:
        return [Edit(changed.start, changed.end, changed.text + added.text)]
    return [changed, added]


def _before(root: Node, key: str) -> str:
    """The stated key a new one goes behind, in the order a careful author keeps."""
    order = ("schemaVersion", "kind", *_ORDER)
    return next((name for name in reversed(order[: order.index(key)]) if root.get(name) is not None), "")
