"""The ``kitstudio`` program: arguments → command (``cli.md``). Qt is only imported for windows."""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kitstudio.cli.output import (
    DONE,
    FAILED,
    REFUSED,
    USAGE,
    Output,
    RefusedError,
    UsageError,
    close_quietly,
    speak_any_encoding,
)
from kitstudio.cli.parser import JSON_LINES, build_parser
from kitstudio.models.errors import KitStudioError

if TYPE_CHECKING:
    from kitstudio.services.app import Options, Studio


@dataclass(slots=True)
class Run:
    """What a command works with. ``studio`` opens the home on first use and is closed by main.

    ``command``: the words behind ``--``. ``code`` and ``findings``: what the gate said, for the command's answer.
    """

    args: argparse.Namespace
    output: Output
    options: Options
    command: tuple[str, ...] = ()
    code: int = DONE
    findings: list[dict[str, object]] = field(default_factory=list)
    _studio: Studio | None = None

    async def studio(self) -> Studio:
        """The services, opened once."""
        if self._studio is None:
            from kitstudio.services.app import Studio

            self._studio = await Studio.open(self.options)
        return self._studio

    def decide_as(self, user: str) -> None:
        """Whose decisions the records say these are; before the services are opened."""
        self.options = replace(self.options, user=user)

    async def close(self) -> None:
        """End what was opened."""
        if self._studio is not None:
            await self._studio.close()


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code of ``cli.md`` (0 done, 1 failed, 2 refused, 64 usage)."""
    words = list(sys.argv[1:] if argv is None else argv)
    speak_any_encoding(sys.stdout, sys.stderr)
    output = Output(as_json="--json" in _before_command(words), out=sys.stdout, err=sys.stderr)
    try:
        return _run(words, output)
    except UsageError as error:
        output.error(error)
        return USAGE
    except RefusedError as error:
        output.error(error)
        return REFUSED
    except KitStudioError as error:
        output.error(error)
        return _code(error)
    except KeyboardInterrupt:
        output.note("Cancelled.")
        return 128 + signal.SIGINT
    except BrokenPipeError:
        close_quietly()
        return DONE
    except Exception as error:
        if os.environ.get("KITSTUDIO_DEBUG"):
            raise
        output.error(
            KitStudioError(
                f"{type(error).__name__}: {error}",
                remedy="This is a fault in Kit Studio. Set KITSTUDIO_DEBUG=1 to see where, and report it.",
            )
        )
        return FAILED


def _run(words: list[str], output: Output) -> int:
    parser = build_parser()
    command: list[str] = []
    if "--" in words and "exec" in words[: words.index("--")]:
        split = words.index("--")
        words, command = words[:split], words[split + 1 :]
    try:
        args = parser.parse_args(words)
    except SystemExit as stop:  # --help and --version print and leave
        return int(stop.code or 0)
    output.as_json = getattr(args, "json", False)
    output.as_lines = args.command in JSON_LINES
    output.quiet = getattr(args, "quiet", False)
    if args.command is None:
        gc.disable()  # nothing of the start is garbage, and the window collects by itself (ui.app.collect_here)
    from kitstudio.services.app import Options

    options = Options(
        home=getattr(args, "home", None),
        offline=getattr(args, "offline", False),
        plain_http=tuple(getattr(args, "plain_http", ())),
    )
    run = Run(args, output, options, tuple(command))
    if args.command is None:
        from kitstudio.cli.machine import window

        return window(run)
    module, function = args.run.split(":")
    implementation = getattr(importlib.import_module(f"kitstudio.cli.{module}"), function)
    if args.command in ("tour", "edit"):
        return int(implementation(run))
    return asyncio.run(_with_studio(run, implementation))


async def _with_studio(run: Run, implementation: Callable[[Run], Awaitable[int]]) -> int:
    """Run one command; SIGTERM cancels it like Ctrl+C, so that what it began is undone."""
    task = asyncio.ensure_future(implementation(run))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        if task.cancelled() or task.cancelling():
            raise KeyboardInterrupt from None
        raise
    finally:
        await run.close()


def _code(error: KitStudioError) -> int:
    from kitstudio.runtime.backend import SandboxRefused
    from kitstudio.services.approvals import GateRefused

    return REFUSED if isinstance(error, GateRefused | SandboxRefused) else FAILED


def _before_command(words: list[str]) -> list[str]:
    return words[: words.index("--")] if "--" in words else words
