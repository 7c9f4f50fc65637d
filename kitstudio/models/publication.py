"""§9.5 as a publisher does it: a set and the Kits it lists become the one descriptor that is published.

Stricter than planning a launch: nothing is asked later but what the set hands on, nothing is selected yet, and what
the set says beside its Kits is held against what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from kitstudio.models import words
from kitstudio.models.args import check_re_export, expand_create, kit_arg_values
from kitstudio.models.capabilities.paths import clean
from kitstudio.models.descriptor import Descriptor, Kind, ListedKit
from kitstudio.models.errors import DescriptorError
from kitstudio.models.inputs import OWN
from kitstudio.models.merge import ContextSource, Merged, MergeError, merge
from kitstudio.models.prepare import published_faults
from kitstudio.models.problems import Problem, ProblemKind
from kitstudio.models.reconcile import Contribution
from kitstudio.models.references import holds_arg
from kitstudio.models.relations import satisfies
from kitstudio.models.resolve import Need, Offers, Unit, parsed_provide, parsed_require, resolve, topological
from kitstudio.models.validate import Form, validate_descriptor
from kitstudio.models.versions import reference_version

STAGED = "/usr/share/sandbox/kit"
CONTEXT = "context.md"
_DERIVED = ("deb/", "apk/")


@dataclass(frozen=True, slots=True)
class Ingredient:
    """One listed Kit as it is published: the reference the set states, the digest that is pinned, the descriptor."""

    reference: str
    digest: str
    descriptor: Descriptor


@dataclass(frozen=True, slots=True)
class Publication:
    """A set as it would be published; ``descriptor`` is None where ``problems`` say why not.

    ``declared``: contributions in the order they were merged, the set's own under ``OWN``. ``layered``: the order of
    the Kits' layers, the workload first. ``exported``: variables that answered args set (§6). ``sources``: bodies still
    to be staged. ``warnings``: what a publisher should know and may ignore.
    """

    descriptor: Descriptor | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    layered: tuple[str, ...] = ()
    exported: Mapping[str, str] = field(default_factory=dict, repr=False)
    sources: tuple[ContextSource, ...] = ()
    context_path: str = ""


def publication(document: Descriptor, kits: Sequence[Ingredient], stem: str) -> Publication:
    """Merge a set (its build-phase args answered) with the Kits it lists; ``stem``: the folder it stages in."""
    making = _Making(document, kits, stem)
    try:
        return making.made()
    except _Refused as refused:
        return Publication(problems=tuple(refused.problems), layered=making.layered, declared=making.declared)


def authored_provides(descriptor: Descriptor) -> tuple[str, ...]:
    """Entries nobody may author: what a workload's packages state (§9.6)."""
    return tuple(text for text in descriptor.provides if text.strip().startswith(_DERIVED))


def staged_bodies(
    made: Publication, contents: Mapping[tuple[str, str], str], names: Mapping[str, str]
) -> dict[str, str]:
    """The instructions to stage, by absolute path. ``contents``: (contributor, path of its file) → text; ``names``: how
    a contributor is called in the heading of its part. Raises ``DescriptorError`` for text that still needs an input.
    """
    parts: dict[str, list[str]] = {}
    for source in made.sources:
        text = source.content if not source.path else contents[source.reference, source.path]
        who = names.get(source.reference, source.reference)
        if holds_arg(text):
            raise DescriptorError(
                f"The instructions of {who} refer to an input.",
                where=source.reference,
                remedy="Instructions are staged as they are: state the input's value in the set.",
            )
        body = parts.setdefault(source.target or made.context_path, [])
        if text.strip():
            body.append(f"<!-- {who.replace('--', '- -')} -->\n\n{text.strip()}\n")
    return {path: "\n".join(bodies) for path, bodies in parts.items()}


class _Refused(Exception):
    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__()
        self.problems = list(problems)


@dataclass(slots=True)
class _Making:
    """One publication on its way; each step stops at its own problems, all of them told together."""

    document: Descriptor
    kits: Sequence[Ingredient]
    stem: str
    layered: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()

    def made(self) -> Publication:
        _stop([*self._own_faults(), *chain.from_iterable(map(_faults, self.kits))])
        own = _contribution(self.document)
        self._order(own)
        expanded, exported = self._expanded()
        contributions = [
            Contribution(self.stem, own) if reference == OWN else Contribution(reference, expanded[reference])
            for reference in self.declared
        ]
        merged = self._merged(contributions)
        descriptor = self._finished(merged.descriptor)
        report = validate_descriptor(descriptor, Form.PUBLISHED)
        _stop(
            Problem(ProblemKind.MERGE, (), issue.path, f"The merged set is not valid: {words.exact(issue.message)}.")
            for issue in report.errors
        )
        warnings = tuple(words.exact(issue.message) for issue in report.warnings)
        sources = tuple(
            replace(source, reference=OWN) if source.reference == self.stem else source
            for source in merged.context_sources
        )
        return Publication(
            descriptor, (), warnings, self.declared, self.layered, exported, sources, f"{STAGED}/{self.stem}/{CONTEXT}"
        )

    def _own_faults(self) -> list[Problem]:
        issues = [str(issue) for issue in validate_descriptor(self.document, Form.AUTHORED).errors]
        issues += [f"{text} states a package, which only a workload's content does (§9.6)" for text in self._derived()]
        if not issues:
            return []
        detail = "\n".join(words.exact(issue) for issue in issues)
        return [Problem(ProblemKind.MALFORMED_ENTRY, (), "", "The set's own declarations are not valid.", detail)]

    def _derived(self) -> tuple[str, ...]:
        return authored_provides(self.document)

    def _order(self, own: Descriptor) -> None:
        """§5.3 without the need for a workload, then the order of declarations: providers first, the set last."""
        stated = any((own.capabilities, own.provides, own.requires, own.integrates, own.conflicts, own.licenses))
        units = [Unit(kit.reference, kit.descriptor, kit.digest) for kit in self.kits]
        if stated:
            units.append(Unit(OWN, replace(own, requires=self._judged_requires(own))))
        resolution = resolve(units, partial=True)
        _stop(replace(p, kits=tuple(kit for kit in p.kits if kit)) for p in resolution.problems)
        ordered = [index for index in resolution.ordered if units[index].reference != OWN]
        self.layered = tuple(units[index].reference for index in ordered)
        incoming = [units[index] for index in ordered] + [unit for unit in units if unit.reference == OWN]
        order, stuck = topological([(b"%08d" % i, i) for i in range(len(incoming))], _every_need(incoming))
        if stuck:
            kits = tuple(incoming[i].reference for i in stuck if incoming[i].reference)
            message = "What the set declares and what its Kits declare need each other in a circle."
            _stop([Problem(ProblemKind.CYCLE, kits, "", message)])
        self.declared = tuple(incoming[i].reference for i in order)

    def _judged_requires(self, own: Descriptor) -> tuple[str, ...]:
        """What the set needs and somebody here offers: the rest is for whatever it is composed with later."""
        offered = set()
        for descriptor in (own, *(kit.descriptor for kit in self.kits)):
            for text in descriptor.provides:
                try:
                    offered.add(parsed_provide(text).name)
                except DescriptorError:
                    # Told by resolution.
                    continue
        return tuple(text for text in own.requires if parsed_require(text).name in offered)

    def _expanded(self) -> tuple[dict[str, Descriptor], dict[str, str]]:
        """Each Kit's declarations with its inputs answered or handed on, and the variables the answers set."""
        listed = {kit.ref: kit for kit in self.document.kits}
        found: dict[str, Descriptor] = {}
        exported: dict[str, str] = {}
        problems: list[Problem] = []
        by_reference = {kit.reference: kit for kit in self.kits}
        for reference in self.layered:
            kit = by_reference[reference]
            try:
                found[reference] = self._answered(kit, listed[reference], exported)
            except DescriptorError as error:
                who = words.kit_name(reference)
                detail = " ".join(part for part in (error.what, error.remedy) if part)
                message = f"{who} cannot be published with these inputs."
                problems.append(Problem(ProblemKind.ARG, (reference,), error.where, message, words.exact(detail)))
        _stop(problems)
        return found, exported

    def _answered(self, kit: Ingredient, listed: ListedKit, exported: dict[str, str]) -> Descriptor:
        args = kit.descriptor.args
        for name, arg in sorted(args.items()):
            if arg.required and not arg.is_build and name not in listed.args:
                handed_on_as = f"{name}: ${{{{ kit.args.{name} }}}}"
                raise DescriptorError(
                    f"{words.quoted(name)} has no value.",
                    where=name,
                    remedy=f"State it in the set, or hand it on to the set's users as {handed_on_as}.",
                )
        values, handed_on = kit_arg_values(args, listed.args)
        for name, target in handed_on.items():
            check_re_export(name, args[name], self.document.args, target)
            if args[name].env:
                raise DescriptorError(
                    f"{words.quoted(name)} sets the variable {args[name].env}, so it cannot be handed on.",
                    where=name,
                    remedy="State its value in the set.",
                )
        exported |= {args[n].env: value for n, value in values.items() if args[n].env and n not in handed_on}
        made = expand_create(kit.descriptor, values)
        version = reference_version(kit.reference) or kit.descriptor.version
        return replace(made, version=version, args={}, kits=(), kits_stated=False)

    def _merged(self, contributions: Sequence[Contribution]) -> Merged:
        try:
            return merge(contributions, f"{STAGED}/{self.stem}/{CONTEXT}")
        except MergeError as error:
            _stop(
                Problem(ProblemKind.MERGE, tuple(k for k in c.kits if k != self.stem), c.name, c.message)
                for c in error.conflicts
            )
            raise

    def _finished(self, merged: Descriptor) -> Descriptor:
        document = self.document
        if document.kind not in (Kind.SET, merged.kind):
            message = f"The set states the kind {document.kind}; its Kits make it a {merged.kind}."
            _stop([Problem(ProblemKind.MERGE, (), "kind", message, "State `kind: set`.")])
        packages = authored_provides(merged)
        if packages and merged.kind == Kind.MIXIN:
            message = f"{words.quoted(packages[0])} states a package, which only a workload's content does (§9.6)."
            _stop([Problem(ProblemKind.MERGE, (), "provides", message)])
        digests = {kit.reference: kit.digest for kit in self.kits}
        return replace(
            merged,
            display_name=document.display_name,
            author=document.author,
            description=document.description,
            source_url=document.source_url,
            icon_url=document.icon_url,
            version=document.version,
            args=document.args,
            kits=tuple(ListedKit(kit.ref, digests[kit.ref], dict(kit.args)) for kit in document.kits),
            kits_stated=True,
        )


def context_files(made: Publication) -> tuple[tuple[str, str], ...]:
    """The files that must be read before bodies can be staged: (contributor, path)."""
    return tuple(dict.fromkeys((s.reference, s.path) for s in made.sources if s.path))


def staged_place(path: str) -> str:
    """A staged file's path below the folder of all staged sources; empty for a file that is elsewhere."""
    place = clean(path)
    return place.removeprefix(f"{STAGED}/") if place.startswith(f"{STAGED}/") else ""


def _stop(problems: Iterable[Problem]) -> None:
    found = list(problems)
    if found:
        raise _Refused(found)


def _faults(kit: Ingredient) -> list[Problem]:
    faults = published_faults(kit.descriptor)
    if not faults:
        return []
    name = words.kit_name(kit.reference)
    detail = "\n".join(words.exact(str(issue)) for issue in faults)
    return [Problem(ProblemKind.NOT_A_KIT, (kit.reference,), name, f"The descriptor of {name} is not valid.", detail)]


def _contribution(document: Descriptor) -> Descriptor:
    return replace(document, kind=Kind.MIXIN.value, kits=(), kits_stated=False, build="", dockerfile="", args={})


def _every_need(units: Sequence[Unit]) -> list[Need]:
    """An edge to every provider that satisfies a need, not to the first one alone."""
    offers = Offers(units)
    found = []
    for index, unit in enumerate(units):
        descriptor = unit.descriptor
        if descriptor is None:
            continue
        for texts, integrates in ((descriptor.requires, False), (descriptor.integrates, True)):
            for require in map(parsed_require, texts):
                found += [
                    Need(index, provider, require.name, integrates)
                    for provider, provide in offers.others(require.name, index)
                    if satisfies(provide, require)
                ]
    return found
