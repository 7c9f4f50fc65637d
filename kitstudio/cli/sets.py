"""Commands on sets: resolve, surface, diff, export."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kitstudio.cli.compose import compose
from kitstudio.cli.gate import tell_problems, tell_uncounted
from kitstudio.cli.output import DONE, FAILED, Output
from kitstudio.models import lock as locks
from kitstudio.models import surface as surfaces
from kitstudio.models.plan import Plan, ProblemKind
from kitstudio.models.resolve import Resolution, Unit
from kitstudio.models.resolve import resolve as resolve_units
from kitstudio.services.findings import problem_json

if TYPE_CHECKING:
    from kitstudio.cli.main import Run


async def resolve(run: Run) -> int:
    """§5.3 on a set, with its inputs and merge judged too."""
    from kitstudio.models import lock as locks

    composer = await compose(run)
    plan = composer.value.plan
    problems = [p for p in plan.problems if not (run.args.partial and p.kind is ProblemKind.NO_WORKLOAD)]
    if problems:
        run.output.document({"ok": False, "problems": [problem_json(problem) for problem in problems]})
        tell_problems(run.output, problems)
        return FAILED
    run.output.document(
        {
            "ok": True,
            "ordered": list(plan.ordered),
            "topological": list(plan.topological),
            "workload": plan.workload or None,
            "lock": locks.reference_lock(_resolution(plan)),
        }
    )
    run.output.say("The set is coherent. Composition order:")
    kinds = {member.reference: member.descriptor.kind for member in plan.members if member.descriptor}
    digests = {member.reference: member.digest for member in plan.members}
    run.output.table((f"  {ref}", kinds.get(ref, ""), digests.get(ref, "")) for ref in plan.ordered if ref)
    for problem in plan.runtime_problems:
        run.output.note(f"It cannot run here: {problem.message}")
    return DONE


async def surface(run: Run) -> int:
    """The effective permission surface, and who asks for each entry."""
    composer = await compose(run)
    plan = composer.value.plan
    if not plan.coherent:
        run.output.document(
            {"error": {"what": "The set is not coherent.", "where": composer.value.name, "remedy": "See resolve."}}
        )
        tell_problems(run.output, plan.problems)
        return FAILED
    run.output.document({"surface": surfaces.to_json(plan.surface), "attribution": attribution(plan)})
    if not plan.permissions:
        run.output.say("The set asks for nothing.")
    tell_permissions(run.output, plan)
    tell_uncounted(run.output, locks.review(composer.value.name, None, plan).uncounted, "Also inside the sandbox")
    return DONE


async def export(run: Run) -> int:
    """Write a ``kind: set`` descriptor."""
    args = run.args
    composer = await compose(run)
    if composer.value.plan.loading:
        raise AssertionError("compose settles")
    stated = {"pin": args.pin, "display_name": args.display_name, "version": args.set_version}
    text = composer.exported(**stated)
    if args.output:
        await composer.export(args.output, **stated)
        run.output.say(f"Wrote {args.output}.")
    elif not run.output.as_json:
        sys.stdout.write(text)
    run.output.document({"path": str(args.output) if args.output else None, "set": text})
    for problem in composer.value.plan.problems:
        run.output.note(f"warning: {problem.message}")
    return DONE


def _resolution(plan: Plan) -> Resolution:
    """The set's Kits resolved by themselves, as the reference's lock lists them; secrets are left out."""
    secret = {(known.kit, known.name) for known in plan.inputs if known.secret}
    units = [
        Unit(m.reference, m.descriptor, m.digest, {n: v for n, v in m.args.items() if (m.reference, n) not in secret})
        for m in plan.members
    ]
    return resolve_units(units)


def attribution(plan: Plan) -> dict[str, dict[str, list[dict[str, str]]]]:
    """Field → entry → the Kits that ask for it, in the surface's own words."""
    granted = set(surfaces.facts(plan.surface))
    found: dict[str, dict[str, list[dict[str, str]]]] = {}
    for reference, descriptor in plan.selected.items():
        for index, entry in enumerate(descriptor.entries()):
            path = entry.source.path if entry.source else f"capabilities[{index}]"
            for name, text in surfaces.entry_facts(entry):
                if (name, text) in granted:
                    askers = found.setdefault(surfaces.SURFACE_FIELDS[name], {}).setdefault(text, [])
                    askers.append({"kit": reference, "path": path})
    return found


def tell_permissions(output: Output, plan: Plan) -> None:
    """The surface in words, family by family."""
    family = ""
    for permission in plan.permissions:
        if permission.group.value != family:
            family = permission.group.value
            output.say(f"{family[:1].upper()}{family[1:]}")
        optional = ", optional" if permission.optional else ""
        output.say(f"  {permission.sentence}")
        output.say(f"    {permission.entry}  ({permission.phase.value}, {permission.weight.name.lower()}{optional})")
        for asker in permission.askers:
            line = f", line {asker.line}" if asker.line else ""
            output.say(f"    asked by {asker.kit or 'the set itself'}{line}")
