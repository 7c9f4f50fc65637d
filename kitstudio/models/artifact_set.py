"""The artifact check of a merged set against the Kits it lists: nothing they declared is lost (§9.5).

Additions may be the set's own statements, so only loss is judged; policy unions and the order of hooks cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kitstudio.models.args import check_re_export, expand_create, kit_arg_values
from kitstudio.models.artifact_tree import Tree
from kitstudio.models.artifact_view import NOT_FETCHED, Found, Subject, Verdict, fail
from kitstudio.models.canonical import encode
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, ListedKit
from kitstudio.models.errors import DescriptorError
from kitstudio.models.relations import Provide, Require, parse_provide, parse_require, satisfies
from kitstudio.models.validate import Form, validate
from kitstudio.models.versions import reference_version, strip_zeros


def set_declarations(subject: Subject) -> Iterator[Found]:
    """Every listed Kit, at its pinned digest and for the platform under judgement, is in the set with all it said."""
    tree, listed = subject.view.tree, subject.view.listed
    if listed is None:
        yield Found(Verdict.SKIP, "The listed Kits were not fetched.")
        return
    if tree is None:
        yield NOT_FETCHED
        return
    kits: list[tuple[ListedKit, Descriptor]] = []
    for kit, text in zip(subject.descriptor.kits, listed, strict=True):
        if text is None:
            yield Found(Verdict.SKIP, f"{kit.ref} cannot be reached.")
            return
        try:
            kits.append((kit, _published(kit, text)))
        except DescriptorError as error:
            yield fail(str(error))
            return
    yield from _lost_roots(tree, kits)
    yield from _broken_inputs(subject.descriptor, kits)
    yield from _lost_relations(subject.descriptor, kits)


def _published(kit: ListedKit, text: str) -> Descriptor:
    document = decode(text, name=kit.ref)
    faults = validate(document, Form.PUBLISHED).errors
    if faults:
        raise DescriptorError(f"Its descriptor is not valid: {faults[0]}.", where=kit.ref)
    values, exported = kit_arg_values(document.descriptor.args, kit.args)
    expand_create(document, {**values, **{name: kit.args[name] for name in exported}})
    return document.descriptor


def _lost_roots(tree: Tree, kits: Sequence[tuple[ListedKit, Descriptor]]) -> Iterator[Found]:
    staged: list[str] = []
    for root in tree.staged_roots():
        try:
            staged.append(encode(decode(tree.text(f"{root}/kit.yaml") or b"").descriptor))
        except DescriptorError:
            # What is no descriptor is no Kit's.
            continue
    for kit, descriptor in kits:
        text = encode(descriptor)
        if text in staged:
            # A root answers for one Kit: two alike need two.
            staged.remove(text)
        else:
            yield fail(f"{kit.ref} is not among the staged sources.")


def _broken_inputs(merged: Descriptor, kits: Sequence[tuple[ListedKit, Descriptor]]) -> Iterator[Found]:
    for kit, descriptor in kits:
        _, exported = kit_arg_values(descriptor.args, kit.args)
        for name, target in exported.items():
            try:
                check_re_export(name, descriptor.args[name], merged.args, target)
            except DescriptorError as error:
                yield fail(f"{kit.ref}: {error.what}")


def _lost_relations(merged: Descriptor, kits: Sequence[tuple[ListedKit, Descriptor]]) -> Iterator[Found]:
    offered = set(_offers(merged, merged.version))
    offers = [_offers(descriptor, reference_version(kit.ref) or descriptor.version) for kit, descriptor in kits]
    for place, (kit, descriptor) in enumerate(kits):
        for provide in offers[place]:
            if provide not in offered:
                yield fail(f"{provide.canonical()}, which {kit.ref} provides, is not provided by the set.")
        for licence in descriptor.licenses:
            if licence not in merged.licenses:
                yield fail(f"The licence {licence} of {kit.ref} is not among the set's.")
    for field in ("requires", "integrates"):
        yield from _answered(field, merged, kits, offers)


def _answered(
    field: str, merged: Descriptor, kits: Sequence[tuple[ListedKit, Descriptor]], offers: Sequence[Sequence[Provide]]
) -> Iterator[Found]:
    """Needs kept although another listed Kit answers them."""
    kept = {require.canonical() for require in _needs(getattr(merged, field))}
    for place, (kit, descriptor) in enumerate(kits):
        others = [provide for at, provides in enumerate(offers) if at != place for provide in provides]
        for require in _needs(getattr(descriptor, field)):
            if require.canonical() in kept and any(satisfies(provide, require) for provide in others):
                yield fail(f"{field} keeps {require.canonical()} of {kit.ref}, which another of its Kits answers.")


def _offers(descriptor: Descriptor, version: str) -> list[Provide]:
    found = []
    for text in descriptor.provides:
        provide = parse_provide(text)
        found.append(replace(provide, version=strip_zeros(provide.version or version.strip())))
    return found


def _needs(texts: Sequence[str]) -> list[Require]:
    return [parse_require(text) for text in texts]
