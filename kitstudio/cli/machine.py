"""The window, the tour, settings and the doctor."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, FAILED, UsageError
from kitstudio.models.errors import KitStudioError
from kitstudio.services.doctor import Check, Verdict, examine
from kitstudio.services.home import write_atomic

if TYPE_CHECKING:
    from kitstudio.cli.main import Run


def window(run: Run) -> int:
    """Open the window; says so where there is no display."""
    _need_qt()
    if not _display():
        raise KitStudioError(
            "There is no display, so the window cannot open.",
            remedy="Use a command (kitstudio --help), or “kitstudio tour”, which draws the window into pictures.",
        )
    from kitstudio.ui.app import main

    return main(run.options)


def edit(run: Run) -> int:
    """Open the editor for Kit folders and descriptor files."""
    _need_qt()
    if not _display():
        raise KitStudioError(
            "There is no display, so the editor cannot open.",
            remedy="Use “kitstudio validate FILE”, which says the same about a descriptor.",
        )
    from kitstudio.ui.editor.run import main

    return main(run.options, run.args.paths)


def tour(run: Run) -> int:
    """Drive the real window through the main job; works with no display."""
    _need_qt()
    if not _display():
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from kitstudio.ui.tour import run_tour

    summary = run_tour(run.args.out, run.options)
    run.output.document(summary)
    steps = summary.get("steps")
    for step in steps if isinstance(steps, list) else ():
        error = step.get("error")
        mark = "failed" if error else "ok"
        run.output.say(f"{mark:7}{step.get('seconds', 0):7.1f} s  {step.get('name', '')}")
        if error:
            run.output.say(f"        {error}")
    run.output.say(f"Pictures are in {run.args.out}.")
    return DONE if summary.get("ok") else FAILED


async def settings(run: Run) -> int:
    """Read and write settings."""
    args = run.args
    studio = await run.studio()
    known = studio.settings
    if args.action is None:
        values = {key: _plain(known.get(key)) for key in known.names()}
        run.output.document(values)
        run.output.table((key, _shown(value), known.describe(key)) for key, value in values.items())
        for fault in known.faults:
            run.output.note(f"warning: {fault}")
        return DONE
    if args.key is None or (args.action == "set") != (args.value is not None):
        raise UsageError(
            "Write settings get KEY, or settings set KEY VALUE.",
            where="settings",
            remedy="Without more, all are listed.",
        )
    if args.action == "set":
        known.set(args.key, args.value)
    value = _plain(known.get(args.key))
    run.output.document(value)
    run.output.say(_shown(value))
    return DONE


async def doctor(run: Run) -> int:
    """What this machine can do; exit 1 if sandboxes cannot run here."""
    studio = await run.studio()
    checks = await examine(studio)
    run.output.document({"checks": [_check(check) for check in checks]})
    for check in checks:
        run.output.say(f"{check.verdict.value:5} {check.name:14} {check.detail}")
        if check.remedy:
            run.output.say(f"{'':20} {check.remedy}")
    if run.args.bundle:
        states = [f"{status.state.value} {status.broken}".rstrip() for status in await studio.sandboxes.refresh()]
        write_atomic(run.args.bundle.absolute(), _bundle(checks, states).encode())
        run.output.note(f"The report is in {run.args.bundle}. It holds no secrets; look before you share it.")
    return FAILED if any(check.verdict is Verdict.FAIL for check in checks) else DONE


def _bundle(checks: tuple[Check, ...], sandboxes: list[str]) -> str:
    """The checks and the sandboxes' states. What a sandbox printed may hold a secret, so no output is in it."""
    report = {
        "python": sys.version,
        "platform": platform.platform(),
        "checks": [_check(check) for check in checks],
        "sandboxes": sandboxes,
    }
    return json.dumps(report, indent=2).replace(str(Path.home()), "~") + "\n"


def _check(check: Check) -> dict[str, str]:
    return {"name": check.name, "verdict": check.verdict.value, "detail": check.detail, "remedy": check.remedy}


def _need_qt() -> None:
    if importlib.util.find_spec("PySide6") is None:
        raise KitStudioError(
            "PySide6 is not installed, so there is no window.", remedy="Install it: pip install pyside6-essentials"
        )


def _display() -> bool:
    chosen = os.environ.get("QT_QPA_PLATFORM", "")
    if chosen:
        return True
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return (text if len(text) <= 60 else f"{text[:57]}…") or "–"
