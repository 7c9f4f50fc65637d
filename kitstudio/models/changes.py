"""A candidate against what was granted (§7.4): findings, what narrowed, what stayed, what is not counted.

Judged per Kit and as a whole: a Kit that asks for more is told even where another Kit of the set has it already. The
same repository at another tag is the same Kit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kitstudio.models import surface as surfaces
from kitstudio.models import words
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.notes import Note, notes
from kitstudio.models.recall import permission_of
from kitstudio.models.review import Asker, Finding, Permission, Review, Uncounted, arranged, permissions
from kitstudio.models.selection import members_of
from kitstudio.models.surface import CATEGORIES, DENIES, Surface, Widening, diff_widenings
from kitstudio.models.weights import Weight

FIELD_OF = {category: name for name, category in CATEGORIES.items()}


@dataclass(frozen=True, slots=True)
class KitSide:
    """One Kit of a side: what it asks for, and what is noted about it."""

    reference: str
    digest: str = ""
    surface: Surface = field(default_factory=Surface)
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """What was granted, or what is asked for. ``permissions``: its rows; a lock has none and needs none."""

    kits: tuple[KitSide, ...]
    surface: Surface
    permissions: tuple[Permission, ...] = ()


def kit_side(
    reference: str, descriptor: Descriptor, *, digest: str = "", lines: Mapping[str, int] | None = None
) -> Side:
    """One Kit by itself, everything it asks for: what two versions are compared by."""
    entries = [
        (part.path, part.entry)
        for index, item in enumerate(descriptor.capabilities)
        for part in members_of(item, f"capabilities[{index}]")
    ]
    surface = surfaces.project(descriptor)
    return Side(
        (KitSide(reference, digest, surface, notes(entries)),), surface, permissions(descriptor, reference, lines)
    )


def uncounted(reference: str, descriptor: Descriptor) -> tuple[Uncounted, ...]:
    """What one Kit does inside its sandbox that §7.4 does not count: hooks, files, instructions and the like."""
    return tuple(_uncounted({}, kit_side(reference, descriptor), first=True))


def judge(name: str, granted: Side | None, candidate: Side) -> Review:
    """The whole review. ``name``: what the set is called."""
    before = granted or Side((), Surface())
    known = {words.repository(kit.reference): kit for kit in before.kits}
    whole = frozenset(diff_widenings(before.surface, candidate.surface))
    by_kit = {
        kit.reference: frozenset(diff_widenings(_before(known, kit).surface, kit.surface)) for kit in candidate.kits
    }
    findings = [*_asked(before, candidate, granted is None, whole, by_kit), *_lost(before, known, candidate, whole)]
    findings.sort(key=lambda f: (-f.weight, words.GROUP_ORDER[f.permission.group]))
    widened = {finding.permission.facts for finding in findings}
    kept = [row for row in candidate.permissions if row.facts not in widened]
    held = frozenset(surfaces.facts(before.surface))
    unchanged = [row for row in kept if all(fact in held for fact in row.facts)]
    narrowed = [row for row in kept if not all(fact in held for fact in row.facts)]
    narrowed += _gone(before.surface, candidate.surface)
    return Review(
        _title(name, granted, known, candidate, findings),
        granted is None,
        tuple(findings),
        arranged(narrowed) if granted is not None else (),
        arranged(unchanged) if granted is not None else (),
        tuple(_uncounted(known, candidate, first=granted is None)),
    )


def _before(known: Mapping[str, KitSide], kit: KitSide) -> KitSide:
    return known.get(words.repository(kit.reference)) or KitSide(kit.reference)


def _asked(
    before: Side, candidate: Side, first: bool, whole: frozenset[Widening], by_kit: Mapping[str, frozenset[Widening]]
) -> Iterator[Finding]:
    """One finding for each row that carries a widening; widenings no row carries are told by themselves."""
    told: set[Widening] = set()
    for row in candidate.permissions:
        if row.denies:
            continue
        mine = [Widening(CATEGORIES[name], text) for name, text in row.facts]
        theirs = whole.union(*(by_kit.get(asker.kit, frozenset()) for asker in row.askers))
        carried = tuple(widening for widening in mine if widening in theirs)
        if carried:
            told.update(carried)
            as_a_whole = any(w in whole for w in carried)
            moved = () if as_a_whole else _left(before, candidate, carried)
            carried, heaviest = _heaviest_first(carried)
            yield Finding(
                _weighed(row, first, as_a_whole, moved), carried, tick=row.tick, moved_from=moved, heaviest=heaviest
            )
    left: dict[Widening, list[str]] = {widening: [] for widening in whole - told}
    for kit, widenings in by_kit.items():
        for widening in widenings - told:
            left.setdefault(widening, []).append(kit)
    for widening in sorted(left, key=lambda w: (w.category, w.detail)):
        if FIELD_OF[widening.category] not in DENIES:
            row = permission_of((FIELD_OF[widening.category], widening.detail))
            row = replace(row, askers=tuple(Asker(kit, "") for kit in left[widening]))
            moved = () if widening in whole else _left(before, candidate, (widening,))
            yield Finding(_weighed(row, first, widening in whole, moved), (widening,), tick=row.tick, moved_from=moved)


def _heaviest_first(carried: tuple[Widening, ...]) -> tuple[tuple[Widening, ...], int]:
    """Widenings of one entry by the weight each has alone, and how many have the most: an entry that names a harmless
    host beside every host is known by the latter."""
    if len(carried) == 1:
        return carried, 1
    weights = {widening: permission_of((FIELD_OF[widening.category], widening.detail)).weight for widening in carried}
    most = max(weights.values())
    return tuple(sorted(carried, key=lambda w: -weights[w])), sum(weight == most for weight in weights.values())


def _left(before: Side, candidate: Side, carried: Sequence[Widening]) -> tuple[str, ...]:
    """Kits that had all of this when it was approved and ask for it no more: the entry moved from there."""
    facts = {(FIELD_OF[widening.category], widening.detail) for widening in carried}
    now = {words.repository(kit.reference): frozenset(surfaces.facts(kit.surface)) for kit in candidate.kits}
    return tuple(
        kit.reference
        for kit in before.kits
        if facts.issubset(surfaces.facts(kit.surface))
        and facts.isdisjoint(now.get(words.repository(kit.reference), frozenset()))
    )


def _weighed(row: Permission, first: bool, as_a_whole: bool, moved: Sequence[str] = ()) -> Permission:
    """At an update every new grant is worth reading; one that another Kit has, or had, already says so."""
    if first:
        return row
    if moved:
        names = words.listed([words.kit_name(kit) for kit in moved])
        return replace(row, sentence=f"{row.sentence} Moved here from {names}: the set as a whole asks for no more.")
    if not as_a_whole:
        return replace(row, sentence=f"{row.sentence} Another Kit of this set may already do so.")
    return replace(row, weight=max(row.weight, Weight.NOTICE))


def _lost(before: Side, known: Mapping[str, KitSide], candidate: Side, whole: frozenset[Widening]) -> Iterator[Finding]:
    """Refusals that are gone, each a finding of its own, with the Kits that stated them."""
    losers: dict[Widening, list[str]] = {}
    for kit in candidate.kits:
        earlier = _before(known, kit)
        for widening in diff_widenings(earlier.surface, kit.surface):
            if FIELD_OF[widening.category] in DENIES:
                losers.setdefault(widening, []).append(earlier.reference)
    for widening in whole:
        name = FIELD_OF[widening.category]
        if name in DENIES and widening not in losers:
            stating = [kit.reference for kit in before.kits if widening.detail in getattr(kit.surface, name)]
            losers[widening] = stating
    for widening in sorted(losers, key=lambda w: (w.category, w.detail)):
        yield Finding(_refusal(widening, losers[widening]), (widening,), removed_refusal=True)


def _refusal(widening: Widening, kits: Sequence[str]) -> Permission:
    name = FIELD_OF[widening.category]
    row = permission_of((name, widening.detail))
    if "_http_" in name:
        host = words.host(widening.detail.partition(" ")[2].partition("/")[0])
        sentence = f"No longer refuses certain requests to {host}. A wider entry could now make them."
    else:
        sentence = f"No longer refuses {words.host(widening.detail)}. A wider entry could now reach it."
    askers = tuple(Asker(kit, "") for kit in dict.fromkeys(kits))
    return replace(row, sentence=sentence, weight=Weight.SERIOUS, denies=True, askers=askers)


def _gone(before: Surface, after: Surface) -> list[Permission]:
    """What was granted and is no longer asked for. The requests of a host that is gone are not told again."""
    held = frozenset(surfaces.facts(after))
    found = []
    for name, text in surfaces.facts(before):
        if name in DENIES or (name, text) in held:
            continue
        if ("_http_" in name and _is_twin(name, text, before)) or _is_covered(name, text, after):
            continue
        row = permission_of((name, text))
        found.append(replace(row, sentence=f"No longer {_first_sentence(row.sentence)}.", weight=Weight.INFO, tick=""))
    return found


def _is_twin(name: str, text: str, surface: Surface) -> bool:
    hosts: tuple[str, ...] = getattr(surface, name.replace("_http", ""))
    return text.startswith("ANY ") and text.endswith("/**") and text[4:-3] in hosts


def _is_covered(name: str, text: str, after: Surface) -> bool:
    """Whether a wider entry still grants what is no longer named: then nothing narrowed.

    Only for the wordings of §7.4 that are wider beyond doubt; a request of another config is told as its change.
    """
    held: tuple[str, ...] = getattr(after, name) if name != "privileged" else ()
    if name in ("network_install_allow", "network_runtime_allow"):
        host, port = words.split_port(text)
        return any(_is_wider(*words.split_port(other), host, port) for other in held)
    if name == "ssh_agent":
        return text.partition(" ")[0] in held
    if name == "services":
        return text.partition("+")[0] in {other.partition("+")[0] for other in held}
    return False


def _is_wider(pattern: str, its_port: str, host: str, port: str) -> bool:
    if its_port not in ("", port):
        return False
    return pattern in ("*", "**", host) or (pattern.startswith("**.") and host.endswith(pattern[2:]))


def _first_sentence(sentence: str) -> str:
    head = sentence.partition(". ")[0].partition("; ")[0].partition(", kept")[0].rstrip(".")
    return head[:1].lower() + head[1:]


def _uncounted(known: Mapping[str, KitSide], candidate: Side, *, first: bool) -> Iterator[Uncounted]:
    for kit in candidate.kits:
        earlier = known.get(words.repository(kit.reference))
        old = {note.key: note.text for note in earlier.notes} if earlier is not None else {}
        if earlier is not None and earlier.reference == kit.reference and _replaced(earlier, kit):
            sentence = (
                f"{words.kit_name(kit.reference)} is not what was approved: its tag stands for another digest now."
            )
            yield Uncounted(sentence, Weight.SERIOUS, kit.reference, "", f"{earlier.digest} → {kit.digest}")
        for note in kit.notes:
            if earlier is None:
                yield Uncounted(note.sentence, note.weight, kit.reference, note.path, note.text)
            elif note.key not in old:
                yield Uncounted(f"New: {note.sentence}", note.weight, kit.reference, note.path, note.text)
            elif old[note.key] != note.text:
                entry = f"{old[note.key]} → {note.text}"
                yield Uncounted(f"Changed: {note.sentence}", note.weight, kit.reference, note.path, entry)
        present = {note.key for note in kit.notes}
        for key, text in old.items():
            if key not in present:
                yield Uncounted(f"Gone: {words.term(key)}.", Weight.INFO, kit.reference, "", text)


def _title(
    name: str, granted: Side | None, known: Mapping[str, KitSide], candidate: Side, findings: Sequence[Finding]
) -> str:
    if granted is None:
        return f"{name} asks for its first approval"
    if findings and all(finding.moved_from for finding in findings):
        return f"{name} asks for what you approved, but from other Kits"
    moved = [kit for kit in candidate.kits if _moved(_before(known, kit), kit)]
    if len(moved) == 1:
        kit, earlier = moved[0], known.get(words.repository(moved[0].reference))
        who = words.kit_name(kit.reference)
        if earlier is None:
            return f"{who} is new in {name}" + (" and asks for more than you approved" if findings else "")
        version = words.kit_name(earlier.reference).partition(" ")[2]
        same = earlier.reference == kit.reference or not version
        than = "you approved before" if same else f"you approved for {version}"
        return f"{who} asks for more than {than}" if findings else f"{who} asks for no more than {than}"
    return f"{name} asks for more than you approved" if findings else f"{name} asks for no more than you approved"


def _replaced(earlier: KitSide, kit: KitSide) -> bool:
    """Whether a name stands for something else than before. A Kit of this machine does with each edit of its author."""
    here = kit.reference.startswith("local.invalid/")
    return not here and bool(earlier.digest and kit.digest) and earlier.digest != kit.digest


def _moved(earlier: KitSide, kit: KitSide) -> bool:
    return (earlier.reference, earlier.digest) != (kit.reference, kit.digest)
