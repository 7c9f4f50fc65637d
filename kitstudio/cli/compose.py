"""From the words of a command line to a settled composition: references or a set file, values for inputs."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.cli.output import UsageError
from kitstudio.models.decode import decode
from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Plan, ProblemKind
from kitstudio.registry.folder import read_folder
from kitstudio.registry.reference import FolderLocation, RegistryError, parse, parse_location

if TYPE_CHECKING:
    from kitstudio.cli.main import Run
    from kitstudio.services.composer import Composer

MAX_SECRET = 65_536
_PROPOSALS = (ProblemKind.NO_WORKLOAD, ProblemKind.REQUIRES_MISSING, ProblemKind.REQUIRES_UNSATISFIED)
"""Problems the catalog may know a remedy for."""


@dataclass(frozen=True, slots=True)
class Value:
    """One ``--arg``: which Kit (empty: the set's own arg), which input, what; ``secret``: read, not typed."""

    kit: str
    name: str
    value: str
    secret: bool = False


async def compose(run: Run, references: list[str] | None = None) -> Composer:
    """The composer with every Kit fetched and every value given."""
    studio = await run.studio()
    composer = studio.new_composer()
    words = run.args.references if references is None else references
    values = tuple(read_value(text) for text in getattr(run.args, "arg", ()))
    build = build_args(run)
    environment = dict(_pair(text, "--env") for text in getattr(run.args, "env", ()))
    if len(words) == 1 and (path := await set_path(words[0])) is not None:
        await composer.open(path)
    else:
        for word in words:
            if await set_path(word) is not None:
                raise UsageError("A set file stands alone.", where=word, remedy="Name one set file, or Kits.")
            composer.add(word)
            # One after the other: a Kit without a version is listed when its version is known, and order is kept.
            await composer.settled()
    if build or environment:
        state = composer.value.state
        composer.apply(replace(state, set_args={**state.set_args, **build}, environment=environment))
    await composer.settled()
    if any(problem.kind in _PROPOSALS for problem in composer.value.plan.problems):
        await studio.catalog.refresh()
        composer.apply(composer.value.state)
    if composer.value.descriptor is None:
        raise KitStudioError(composer.value.text_error, where="", remedy="Correct the set file.")
    refuse_undeclared(composer, build, [value.name for value in values if not value.kit])
    for value in values:
        kit = _kit(composer, value.kit) if value.kit else ""
        if value.secret:
            composer.set_secret(kit, value.name, value.value)
        else:
            composer.set_arg(kit, value.name, value.value)
    await composer.settled()
    return composer


def build_args(run: Run) -> dict[str, str]:
    """What ``--build-arg`` answers."""
    return dict(_pair(text, "--build-arg") for text in getattr(run.args, "build_arg", ()))


async def set_path(text: str) -> Path | None:
    """The file, if ``text`` names a set file; None for everything else."""
    try:
        location = parse_location(text, Path.cwd())
    except RegistryError:
        return None
    if not isinstance(location, FolderLocation):
        return None
    kit = await read_folder(location.path)
    if decode(kit.text, name=str(kit.path)).descriptor.kind == "set":
        return kit.path
    return None


def read_value(text: str) -> Value:
    """``[KIT:]NAME=VALUE``: split at the first ``=``, then at the last ``:`` before it."""
    left, equals, value = text.partition("=")
    if not equals:
        raise UsageError("An input is written NAME=VALUE.", where=f"--arg {left}")
    kit, _, name = left.rpartition(":")
    if not name:
        raise UsageError("An input has a name.", where=f"--arg {left}")
    if value == "-":
        return Value(kit, name, _secret(sys.stdin.buffer.read(MAX_SECRET + 1), left), secret=True)
    if value.startswith("@"):
        try:
            with Path(value[1:]).expanduser().open("rb") as stream:
                return Value(kit, name, _secret(stream.read(MAX_SECRET + 1), left), secret=True)
        except OSError as error:
            raise UsageError(f"The file cannot be read: {error.strerror}.", where=value[1:]) from error
    return Value(kit, name, value)


def lock_name(composer: Composer, plan: Plan, stated: str) -> str:
    """The name of the lock: stated, else the set file's stem, else the workload's own name."""
    if stated:
        return stated
    if composer.value.path is not None:
        return composer.value.name
    for reference in (plan.workload, *(member.reference for member in plan.members)):
        if reference:
            return parse(reference).repository.rpartition("/")[2]
    return "set"


def refuse_undeclared(composer: Composer, build: dict[str, str], own: list[str]) -> None:
    """Values nobody asks for are told, never dropped."""
    declared = composer.value.descriptor.args if composer.value.descriptor else {}
    for flag, names, phase in (("--build-arg", list(build), True), ("--arg", own, False)):
        for name in names:
            if name in declared and declared[name].is_build is phase:
                continue
            kits = [i.kit for i in composer.value.plan.inputs if i.kit and i.name == name]
            hint = f"Did you mean --arg {_segment(kits[0])}:{name}=…?" if kits and not phase else ""
            stated = [known for known, arg in declared.items() if arg.is_build is phase]
            offered = f"The set itself declares: {', '.join(stated) or 'none'}."
            raise UsageError(
                f"The set has no input “{name}” of its own.", where=f"{flag} {name}", remedy=hint or offered
            )


def _kit(composer: Composer, text: str) -> str:
    """The member ``text`` means: a reference as given, or a repository's last segment where that is unique."""
    members = [member.reference for member in composer.value.plan.members]
    if text in members:
        return text
    exact = ""
    try:
        location = parse_location(text, Path.cwd())
        exact = str(location) if not isinstance(location, FolderLocation) else ""
    except RegistryError:
        pass  # not a reference: a bare name below
    if exact in members:
        return exact
    found = [reference for reference in members if _segment(reference) == text]
    if len(found) == 1:
        return found[0]
    what = "names several Kits of the set" if found else "is no Kit of the set"
    remedy = f"Its Kits: {', '.join(members)}."
    # What could not be brought in is no member; a person who names it wants to know why.
    if lost := [p.message for p in composer.value.plan.problems if p.kits and not set(p.kits) & set(members)]:
        remedy += f" Not among them: {' '.join(lost)}"
    raise UsageError(f"“{text}” {what}.", where=f"--arg {text}:…", remedy=remedy)


def _segment(reference: str) -> str:
    return parse(reference).repository.rpartition("/")[2]


def _pair(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError("This is written NAME=VALUE.", where=f"{flag} {name}")
    return name, value


def _secret(raw: bytes, where: str) -> str:
    if len(raw) > MAX_SECRET:
        raise UsageError("A secret has at most 64 KiB.", where=f"--arg {where}")
    try:
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UsageError("A secret is UTF-8 text.", where=f"--arg {where}") from error
