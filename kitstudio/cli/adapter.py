"""The conformance adapter: one function a verb (§2.2). Results on standard output, everything else on standard error;
0 done, 2 declined, anything else failed. Nothing is asked, and standard input is not read."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, UsageError
from kitstudio.models.errors import KitStudioError

if TYPE_CHECKING:
    from pathlib import Path

    from kitstudio.cli.main import Run
    from kitstudio.services.adapter import Adapter

EXEC_FAILED = 125


async def capabilities(run: Run) -> int:
    """The claimed types. Reads and writes nothing."""
    from kitstudio.runtime.capabilities import CLAIMED

    _print("".join(f"{type_}\n" for type_ in sorted(CLAIMED)))
    return DONE


async def create(run: Run) -> int:
    """Compose, approve, start; the id."""
    from kitstudio.services.adapter import Asked

    args = run.args
    asked = Asked(
        tuple(args.kits),
        tuple(args.arg),
        tuple(args.env),
        args.skills_host_mode,
        args.skills_host_store,
        args.ssh_agent,
        args.ssh_known_hosts,
        args.git_identity_config,
        tuple(args.reject_capability),
    )
    _print(await (await _adapter(run)).create(asked) + "\n")
    return DONE


async def exec(run: Run) -> int:
    """Exits as the command did; 125 where it could not be run."""
    if not run.command:
        raise UsageError(
            "No command is given.", where="adapter exec", remedy="Write: kitstudio adapter exec ID -- CMD…"
        )
    try:
        result = await (await _adapter(run)).execute(run.args.id, run.command)
    except UsageError:
        raise
    except KitStudioError as error:
        run.output.error(error)
        return EXEC_FAILED
    for stream, data in ((sys.stdout, result.stdout), (sys.stderr, result.stderr)):
        stream.buffer.write(data)
        stream.buffer.flush()
    return result.status


async def stop(run: Run) -> int:
    """Stop without discarding state."""
    await (await _adapter(run)).stop(run.args.id)
    return DONE


async def start(run: Run) -> int:
    """Start a stopped sandbox."""
    await (await _adapter(run)).start(run.args.id)
    return DONE


async def recreate(run: Run) -> int:
    """A fresh writable layer; declared volumes stay."""
    await (await _adapter(run)).recreate(run.args.id)
    return DONE


async def rm(run: Run) -> int:
    """Discard a sandbox."""
    await (await _adapter(run)).remove(run.args.id)
    return DONE


async def wait_idle(run: Run) -> int:
    """Let the idle period pass after each kind of client has gone."""
    await (await _adapter(run)).wait_idle(run.args.id)
    return DONE


async def status(run: Run) -> int:
    """``running`` or ``stopped``."""
    _print(await (await _adapter(run)).status(run.args.id) + "\n")
    return DONE


async def host_mounts(run: Run) -> int:
    """Retained folders of a Kit."""
    _document(await (await _adapter(run)).host_mounts(run.args.kit))
    return DONE


async def host_mount_read(run: Run) -> int:
    """A file's bytes."""
    sys.stdout.buffer.write(await (await _adapter(run)).host_mount_file(run.args.id, run.args.path))
    sys.stdout.buffer.flush()
    return DONE


async def host_mount_rm(run: Run) -> int:
    """Delete a folder."""
    await (await _adapter(run)).host_mount_remove(run.args.id)
    return DONE


async def selection(run: Run) -> int:
    """Selection records and the surface."""
    _document(await (await _adapter(run)).selection(run.args.id))
    return DONE


async def selection_policy(run: Run) -> int:
    """The answers of the next recreation."""
    (await _adapter(run)).answer(run.args.id, run.args.reject_capability)
    return DONE


async def report(run: Run) -> int:
    """Claimed types, our own checks with their outcomes where a file with results is given, waivers."""
    from kitstudio.runtime.capabilities import CLAIMED
    from kitstudio.services import adapter_checks

    outcomes = _outcomes(run.args.results) if run.args.results else {}
    found = adapter_checks.report(CLAIMED, outcomes)
    if run.output.as_json:
        run.output.document(found)
        return DONE
    run.output.say("Claimed types:")
    for type_ in sorted(CLAIMED):
        run.output.say(f"  {type_}")
    run.output.say("\nChecks of our own suite:")
    run.output.table((f"  {outcomes.get(c.id, 'not run')}", c.id, c.statement) for c in adapter_checks.CHECKS)
    run.output.say("\nWaivers:")
    run.output.table((f"  {waiver.id}", waiver.reason) for waiver in adapter_checks.WAIVERS)
    return DONE


def _outcomes(file: Path) -> dict[str, str]:
    """What a run of the suite wrote: check id → outcome."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise KitStudioError("The results cannot be read.", where=str(file)) from error
    if not isinstance(found, dict):
        raise KitStudioError("This holds no results of the suite.", where=str(file))
    return {str(id): str(outcome) for id, outcome in found.items()}


async def _adapter(run: Run) -> Adapter:
    """The adapter on its own home: it says yes to whatever is asked, which belongs in no person's."""
    from kitstudio.services.adapter import USER, Adapter

    if run.options.home is None and not os.environ.get("KITSTUDIO_HOME"):
        raise UsageError(
            "The adapter needs a home of its own, since it approves whatever a suite asks for.",
            where="adapter",
            remedy="Name an empty folder: --home DIR, or KITSTUDIO_HOME.",
        )
    run.decide_as(USER)
    adapter = Adapter(await run.studio(), run.output.note)
    adapter.begin()
    return adapter


def _document(value: object) -> None:
    _print(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
