"""Commands on sandboxes: launch, exec, attach, stop, start, recreate, rm, ls, status, logs, network."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.cli.compose import compose, lock_name
from kitstudio.cli.gate import decide
from kitstudio.cli.output import DONE, FAILED, UsageError, pass_on, printable
from kitstudio.cli.reach import chosen_ports
from kitstudio.models.errors import KitStudioError
from kitstudio.runtime.backend import Decision, LaunchOptions, Progress, SandboxStatus, State
from kitstudio.runtime.state import check_name
from kitstudio.services.approvals import GateRefused

if TYPE_CHECKING:
    from kitstudio.cli.main import Run
    from kitstudio.services.app import Studio
    from kitstudio.services.composer import Composer
    from kitstudio.services.jobs import Job

EXEC_FAILED, EXEC_REFUSED = 125, 126
UNDO_SECONDS = 30.0
MAX_STDIN = 64 * 1024 * 1024


async def launch(run: Run) -> int:
    """Resolve → gate → create → start, then the interactive terminal unless ``--detach``."""
    args = run.args
    memory = _memory(args.memory)
    if args.cpus < 0:
        raise UsageError("Processors are counted from 1.", where="--cpus")
    workspace = _workspace(args.workspace)
    studio = await run.studio()
    composer = await compose(run)
    name = check_name(lock_name(composer, composer.value.plan, args.name))
    await _leave_out(run, studio, composer)
    approved = await decide(run, composer, name)
    if approved is None:
        return run.code
    options = LaunchOptions(
        name,
        workspace,
        memory,
        args.cpus,
        dict(composer.value.state.environment),
        ports=chosen_ports(args.port, "--port"),
    )
    status = await _follow(run, studio, name, studio.sandboxes.launch(approved, options))
    run.output.line({"sandbox": {"id": status.id, "name": status.name, "state": status.state.value}})
    for skipped in status.skipped:
        run.output.note(f"Left out, as it is optional and not supported here: {skipped}")
    if not args.detach and not run.output.as_json and sys.stdin.isatty() and sys.stdout.isatty():
        return await _terminal(studio, name, ())
    run.output.say(f"{status.name} is {status.state.value}. Open its terminal with: kitstudio attach {name}")
    return DONE


async def _leave_out(run: Run, studio: Studio, composer: Composer) -> None:
    """Answer no to what is optional and this computer has nothing for; a replayed record answers by itself."""
    plan = composer.value.plan
    if run.args.approve_from or not plan.launchable:
        return
    off = await studio.ungrantable(plan)
    if off:
        composer.apply(replace(composer.value.state, choices={**composer.value.state.choices, **off}))
        for place in off:
            run.output.note(f"Left out, as it is optional and nothing here could grant it: {place}")


async def execute(run: Run) -> int:
    """Run a command in a sandbox; exits as the command did (125: our failure, 126: refused)."""
    args = run.args
    if not run.command:
        raise UsageError("No command is given.", where="exec", remedy="Write: kitstudio exec NAME -- CMD…")
    try:
        studio = await run.studio()
        if args.tty:
            return await _terminal(studio, args.name, run.command)
        given = await asyncio.to_thread(_standard_input)
        result = await studio.sandboxes.execute(
            args.name, run.command, stdin=given, on_output=None if run.output.as_json else pass_on
        )
    except UsageError:
        raise
    except KitStudioError as error:
        run.output.error(error)
        return EXEC_REFUSED if isinstance(error, GateRefused) else EXEC_FAILED
    return run.output.program(result.status, result.stdout, result.stderr, passed_on=True)


async def attach(run: Run) -> int:
    """The interactive terminal of a running sandbox."""
    studio = await run.studio()
    return await _terminal(studio, run.args.name, ())


async def stop(run: Run) -> int:
    """Stop a sandbox."""
    studio = await run.studio()
    await studio.sandboxes.stop(run.args.name).wait()
    return await _told(run, studio)


async def start(run: Run) -> int:
    """Start a stopped sandbox."""
    studio = await run.studio()
    await _follow(run, studio, run.args.name, studio.sandboxes.start(run.args.name))
    return await _told(run, studio)


async def recreate(run: Run) -> int:
    """Drop the writable layer and create again from the same lock."""
    studio = await run.studio()
    await _follow(run, studio, run.args.name, studio.sandboxes.recreate(run.args.name))
    return await _told(run, studio)


async def rm(run: Run) -> int:
    """Remove a sandbox and everything it wrote."""
    studio = await run.studio()
    await studio.sandboxes.remove(run.args.name).wait()
    run.output.document({"removed": run.args.name})
    run.output.say(f"{run.args.name} is removed.")
    return DONE


async def ls(run: Run) -> int:
    """Every sandbox."""
    studio = await run.studio()
    found = await studio.sandboxes.refresh()
    run.output.document([status_json(status) for status in found])
    run.output.table(
        ((s.name, _state(s), s.set_name, _since(s.started_at), " ".join(s.ports)) for s in found),
        head=("NAME", "STATE", "SET", "STARTED", "PORTS"),
    )
    if not found:
        run.output.note("There are no sandboxes.")
    return DONE


async def status(run: Run) -> int:
    """One sandbox."""
    studio = await run.studio()
    return await _told(run, studio, full=True)


async def logs(run: Run) -> int:
    """What a sandbox wrote."""
    studio = await run.studio()
    text = await studio.sandboxes.log(run.args.name)
    for line in text.splitlines():
        run.output.line({"line": line})
        if not run.output.as_json:
            run.output.say(line)
    return DONE


async def network(run: Run) -> int:
    """Egress decisions, oldest first; ``--follow`` keeps printing."""
    studio = await run.studio()
    seen = 0
    name = run.args.name

    async def more(seen: int) -> int:
        found = await studio.sandboxes.decisions(name)
        for decision in found[seen:]:
            run.output.line(decision_json(decision))
            if not run.output.as_json:
                run.output.say(_decision(decision))
        return max(seen, len(found))

    seen = await more(seen)
    if run.args.follow:
        async for changed in studio.sandboxes.events():
            if changed in (name, ""):
                seen = await more(seen)
    elif not seen:
        run.output.note("Nothing asked for the network yet.")
    return DONE


def status_json(status: SandboxStatus) -> dict[str, object]:
    """One sandbox in the shape of ``ls`` and ``status``."""
    made: dict[str, object] = {
        "id": status.id,
        "name": status.name,
        "state": status.state.value,
        "set": status.set_name,
        "lock": status.lock_sha256,
        "startedAt": _iso(status.started_at) if status.started_at else None,
        "ports": list(status.ports),
    }
    if status.idle_stop:
        made["stopsAt"] = _iso(status.idle_stop)
    if status.note:
        made["note"] = status.note
    if status.state is State.BROKEN:
        made["broken"] = status.broken
    return made


def decision_json(decision: Decision) -> dict[str, object]:
    """One egress decision."""
    rule = {"kit": decision.kit, "path": decision.path, "line": decision.line}
    return {
        "time": _iso(decision.time),
        "phase": decision.phase,
        "host": decision.host,
        "port": decision.port,
        "method": decision.method,
        "path": decision.url_path,
        "verdict": decision.verdict,
        "rule": rule if decision.kit or decision.path else None,
    }


async def _follow(run: Run, studio: Studio, name: str, job: Job) -> SandboxStatus:
    """Print a job's progress until it ends; Ctrl+C cancels it and waits until it has cleaned up."""
    last: Progress | None = None

    def told(changed: str) -> None:
        nonlocal last
        launching = studio.sandboxes.launching(name)
        step = launching.steps[-1] if launching and launching.steps else None
        if step is None or step == last:
            return
        fresh = last is None or (step.phase, step.text) != (last.phase, last.text)
        last = step
        run.output.line(
            {"phase": step.phase.value, "text": step.text, "fraction": step.fraction, "seconds": round(step.seconds, 2)}
        )
        if fresh:
            run.output.note(f"{step.seconds:6.1f} s  {step.phase.value:20}  {step.text}".rstrip())

    unsubscribe = studio.sandboxes.changed.subscribe(told)
    try:
        result = await job.wait()
    except asyncio.CancelledError:
        run.output.note("Cancelling; what was begun is undone.")
        job.cancel()
        if job.task is not None:
            await asyncio.wait({job.task}, timeout=UNDO_SECONDS)
        raise
    finally:
        unsubscribe()
    assert isinstance(result, SandboxStatus)
    return result


async def _told(run: Run, studio: Studio, *, full: bool = False) -> int:
    found = await studio.sandboxes.status(run.args.name)
    run.output.document(status_json(found))
    rows = [("Name", found.name), ("State", _state(found))]
    if full:
        rows += [
            ("Set", found.set_name),
            ("Lock", found.lock_sha256),
            ("Started", _since(found.started_at)),
            ("Acceleration", found.accel),
            ("Workspace", found.workspace),
            ("Ports", " ".join(found.ports)),
            ("Stops", f"{_since(found.idle_stop)}, unless somebody connects" if found.idle_stop else ""),
            ("Left out", ", ".join(found.skipped)),
            ("Refused", f"{found.refused} connections" if found.refused else ""),
        ]
    rows += [("Broken", found.broken), ("Why", found.note)]
    run.output.table([row for row in rows if row[1]])
    return FAILED if found.state is State.BROKEN else DONE


async def _terminal(studio: Studio, name: str, command: tuple[str, ...]) -> int:
    from kitstudio.cli.terminal import run_terminal

    return await run_terminal(
        lambda columns, rows: studio.sandboxes.terminal(name, command, columns=columns, rows=rows)
    )


def _standard_input() -> bytes:
    """What is piped or redirected in; a terminal or device gives nothing."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return b""
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return b""
    data = sys.stdin.buffer.read(MAX_STDIN + 1)
    if len(data) > MAX_STDIN:
        raise UsageError("Standard input is larger than 64 MiB.", remedy="Put the file into the workspace instead.")
    return data


def _memory(text: str) -> int:
    """MiB: a number, or with a unit k, m, g, t."""
    if not text:
        return 0
    found = re.fullmatch(r"(\d{1,9})\s*([kmgt]?)i?b?", text.strip().lower())
    if not found:
        raise UsageError("Memory is a number of MiB, or a number with a unit such as 512m or 2g.", where="--memory")
    count = int(found[1])
    scale = {"": 1.0, "k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0 * 1024}[found[2]]
    mib = int(count * scale)
    if mib < 64:
        raise UsageError("A sandbox needs at least 64 MiB.", where="--memory")
    return mib


def _workspace(path: Path | None) -> Path | None:
    if path is None:
        return None
    folder = path.expanduser().absolute()
    if not folder.is_dir():
        raise UsageError("The workspace is not a folder.", where=str(folder))
    return folder


def _state(found: SandboxStatus) -> str:
    return f"{found.state.value} ({found.phase})" if found.phase else found.state.value


def _since(started: float) -> str:
    return datetime.fromtimestamp(started).strftime("%Y-%m-%d %H:%M") if started else ""


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _decision(decision: Decision) -> str:
    request = " ".join(part for part in (decision.method, decision.url_path) if part)
    line = f":{decision.line}" if decision.line else ""
    rule = f"{decision.kit} {decision.path}{line}".strip() or decision.reason
    when = datetime.fromtimestamp(decision.time).strftime("%H:%M:%S")
    # A request that names no host in the form a proxy takes is told by what it said.
    asked = " ".join(part for part in (f"{decision.host}:{decision.port}" if decision.host else "", request) if part)
    return printable(f"{when}  {decision.phase:8} {decision.verdict:8} {asked}  {rule}".rstrip())
