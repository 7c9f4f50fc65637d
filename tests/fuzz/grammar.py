"""The fuzz target of the grammar: any bytes, taken all the way a descriptor can go, end well or in a DescriptorError.

The suite runs a fixed budget (``test_grammar``). Longer, by hand, from the repository's root:

    python -m tests.fuzz.grammar --minutes 30

It mutates the judged texts without end, prints how far texts got, and writes what fails to ``build/fuzz``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kitstudio.models.args import expand_build, expand_create, resolve_args
from kitstudio.models.canonical import encode, readable
from kitstudio.models.compose import compose
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, ListedKit
from kitstudio.models.diagnostics import render
from kitstudio.models.document import Document
from kitstudio.models.environment import expand_environment
from kitstudio.models.errors import DescriptorError
from kitstudio.models.merge import merge
from kitstudio.models.plan import Member, plan_set
from kitstudio.models.reconcile import Contribution
from kitstudio.models.resolve import Unit, resolve
from kitstudio.models.review import entry_permissions
from kitstudio.models.selection import select, supported_types
from kitstudio.models.surface import diff_widenings, project
from kitstudio.models.validate import Form, validate, validate_descriptor

ROOT = Path(__file__).parent.parent.parent
FOUND = ROOT / "build" / "fuzz"
REFERENCE = "fuzz.invalid/kit:1.0.0"
_PIECES = """
: |- |? |[|]|{|}|,|'|"|>|#|&a |*a|<<: |~|!!str |!!binary |!!int |! |...|---|\\|\\u0000|\\ud800|\\/
null|true|yes|0x1|1e400|.nan|2024-01-01|=|a@1|>= 1 < 2|deb/x@1|*|**
${{ kit.args.x }}|${{ kit.env.HOME }}|${{|${{ kit.env|}}
capabilities:|group:|config:|args:|kits:|provides:|requires:|schemaVersion: "3"
com.docker.sandbox/network-policy@2|com.docker.sandbox/credential@1|com.docker.sandbox/volume@1
"""
_BLANK = ("\n", "  ", "\t", "|", "%YAML 1.1\n---\n", "\x00", "\x85", "\u2028", "\ufeff", "\ud800")
PIECES = tuple(
    piece.encode("utf-8", "surrogatepass") for piece in (*_BLANK, *_PIECES.strip().replace("\n", "|").split("|"))
)
"""What decides something in a descriptor."""


def exercise(data: bytes) -> str:
    """Take one text all the way; returns how far it got. Raises whatever is not a DescriptorError."""
    try:
        document = decode(data, name="fuzz")
    except DescriptorError as error:
        str(error)
        return "refused"
    reports = [validate(document, form) for form in Form]
    for report in reports:
        render(document, (*report.errors, *report.warnings))
    document.lines()
    descriptor = document.descriptor
    try:
        text = encode(descriptor)
    except DescriptorError:
        return "decoded"
    # What canonical JSON writes as it is, YAML may refuse: published like that, nobody could read it.
    again = decode(readable(text)).descriptor
    # A float of minus nothing is written as -0 and read as the whole number 0: once, then it is settled.
    if decode(readable(encode(again))).descriptor != again:
        raise AssertionError("the canonical text does not read back as itself")
    for step in _steps(document, again):
        _allowed(step)
    return "valid" if reports[1].valid else "decoded"


def _steps(document: Document, descriptor: Descriptor) -> Sequence[Callable[[], object]]:
    known = supported_types(frozenset(entry.type for entry in descriptor.entries()))
    unit = Contribution(REFERENCE, descriptor)
    member = Member(REFERENCE, digest=f"sha256:{'0' * 64}", descriptor=descriptor)
    listed = Descriptor("3", "set", kits=(ListedKit(REFERENCE),), kits_stated=True)
    return (
        partial(_expanded, document),
        lambda: expand_environment(descriptor, {"HOME": "/root"}),
        lambda: select(descriptor, known),
        lambda: diff_widenings(project(Descriptor("3")), project(descriptor)),
        lambda: [entry_permissions(entry, "capabilities[0]", REFERENCE, None) for entry in descriptor.entries()],
        lambda: resolve([Unit(REFERENCE, descriptor)]),
        lambda: merge([unit, unit]),
        lambda: compose([unit]),
        lambda: plan_set(listed, (member,)),
        lambda: plan_set(descriptor, (member,)),
    )


def _expanded(document: Document) -> None:
    args = document.descriptor.args
    values = {name: arg.default or "1" for name, arg in args.items()}
    with contextlib.suppress(DescriptorError):
        # A value that is not accepted can still be one somebody tries to fill in.
        values = resolve_args(args, values)
    built = expand_build(document, values)
    created = expand_create(built, values)
    validate_descriptor(created, Form.EXPANDED_DECLARATIONS)


def _allowed(step: Callable[[], object]) -> None:
    try:
        step()
    except DescriptorError as error:
        str(error)


def seeds() -> list[bytes]:
    """The texts of the judged cases, each once."""
    found: dict[str, None] = {}
    for path in sorted((ROOT / "tests" / "conformance").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            given = json.loads(line).get("in") or {}
            stated = [given.get("text"), given.get("a"), *(unit.get("descriptor") for unit in given.get("units") or ())]
            found.update(dict.fromkeys(text for text in stated if isinstance(text, str) and 20 < len(text) < 8000))
    return [text.encode("utf-8", "surrogatepass") for text in found]


def mutate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A text near ``data``: pieces put in, cut out, doubled, or taken from ``other``."""
    text = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randint(0, len(text)) for _ in range(2))
        to = min(to, at + chance.choice((1, 4, 40, 400)))
        kind = chance.randint(0, 5)
        if kind == 0:
            text[at:at] = chance.choice(PIECES)
        elif kind == 1:
            del text[at:to]
        elif kind == 2:
            text[at:at] = text[at:to]
        elif kind == 3:
            start = chance.randint(0, len(other))
            text[at:to] = other[start : start + chance.choice((4, 40, 400))]
        elif kind == 4:
            text[at:to] = chance.choice(PIECES)
        else:
            text[at : at + 1] = bytes([chance.randint(0, 255)])
    return bytes(text)


def main() -> None:
    """Mutate until the time is over; a text that fails is kept and its fault raised at the end."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--seed", type=int, default=None)
    given = arguments.parse_args()
    chance = random.Random(given.seed)
    known = seeds()
    ends: Counter[str] = Counter()
    until = time.monotonic() + 60 * given.minutes
    while time.monotonic() < until:
        text = mutate(chance.choice(known), chance.choice(known), chance)
        try:
            end = exercise(text)
        except (Exception, RecursionError) as error:  # noqa: BLE001
            end = f"{type(error).__name__}: {str(error)[:80]}"
            if end not in ends:
                FOUND.mkdir(parents=True, exist_ok=True)
                (FOUND / f"{len(list(FOUND.iterdir()))}.txt").write_bytes(text)
                print(end, flush=True)
        ends[end] += 1
        if end == "valid" and len(known) < 20_000:
            known.append(text)
    for end, count in ends.most_common():
        print(f"{count:8d}  {end}")
    if set(ends) - {"refused", "decoded", "valid"}:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
