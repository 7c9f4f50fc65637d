"""The command that publishes: a set, or a Kit that is declarations alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.cli.compose import build_args, refuse_undeclared
from kitstudio.cli.gate import tell_problems
from kitstudio.cli.output import DONE, FAILED, UsageError, error_json
from kitstudio.models.decode import decode
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.folder import read_folder
from kitstudio.registry.reference import FolderLocation, parse_location
from kitstudio.services.composition import JudgedPlan, is_set
from kitstudio.services.findings import problem_json
from kitstudio.services.jobs import Job, JobView

if TYPE_CHECKING:
    from kitstudio.cli.main import Run
    from kitstudio.services.app import Studio


async def publish(run: Run) -> int:
    """§9.5 and §10: merge, push, verify."""
    from kitstudio.services.publishing import NotPublishable, Published

    args = run.args
    location = parse_location(args.path, Path.cwd())
    if not isinstance(location, FolderLocation):
        raise UsageError(
            "What is published is a file or folder of yours.",
            where=args.path,
            remedy=f"Write ./{args.path} for the folder of that name."
            if Path(args.path).exists()
            else "Name SET.yaml or a Kit folder; a published Kit is copied: kitstudio copy REF DEST.",
        )
    studio = await run.studio()
    kit = await read_folder(location.path)
    if is_set(decode(kit.text, name=str(kit.path)).descriptor):
        job = await _publish_set(run, studio, kit.path)
    else:
        job = studio.publishing.publish_kit(
            location.path, args.destination, platforms=args.platform, build_args=build_args(run)
        )
    try:
        published = await _followed(run, studio, job)
    except NotPublishable as error:
        run.output.document({"error": error_json(error), "problems": [problem_json(p) for p in error.problems]})
        tell_problems(run.output, error.problems)
        return FAILED
    assert isinstance(published, Published)
    for warning in published.warnings:
        run.output.note(f"warning: {warning}")
    run.output.document({"reference": published.reference, "digest": published.digest, "kind": published.kind})
    run.output.say(f"Published {published.reference} ({published.kind})")
    run.output.say(f"  {published.digest}")
    if published.replaced:
        run.output.note(f"It replaced {published.replaced}.")
    return DONE


async def _publish_set(run: Run, studio: Studio, path: Path) -> Job:
    composer = studio.new_composer()
    await composer.open(path)
    build = build_args(run)
    if build:
        state = composer.value.state
        composer.apply(replace(state, set_args={**state.set_args, **build}))
    await composer.settled()
    if composer.value.descriptor is None:
        raise KitStudioError(composer.value.text_error, remedy="Correct the set file.")
    refuse_undeclared(composer, build, [])
    plan = composer.value.plan
    if not isinstance(plan, JudgedPlan):
        raise KitStudioError(composer.value.text_error or "The set was not judged.", where=str(path))
    for problem in plan.runtime_problems:
        run.output.note(f"It cannot run here: {problem.message}")
    return studio.publishing.publish(
        plan, run.args.destination, name=path.stem, platforms=run.args.platform, folder=path.parent
    )


async def _followed(run: Run, studio: Studio, job: Job) -> object:
    """The job's result, its steps told as they change; ending the command ends the job."""
    told = ""

    def tell(view: JobView) -> None:
        nonlocal told
        if view.id == job.view.id and view.text and view.text != told:
            told = view.text
            run.output.note(f"{view.text}…")

    stop = studio.jobs.changed.subscribe(tell)
    try:
        return await job.wait()
    except asyncio.CancelledError:
        job.cancel()
        raise
    finally:
        stop()
