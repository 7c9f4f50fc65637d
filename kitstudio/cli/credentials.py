"""``credentials``: secrets bound to services of credential@1. A value is read from standard input, never printed."""

from __future__ import annotations

import asyncio
import getpass
import sys
from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, UsageError, interactive
from kitstudio.runtime.capabilities.credential import MAX_SECRET

if TYPE_CHECKING:
    from kitstudio.cli.main import Run


async def credentials(run: Run) -> int:
    """``ls`` (the default), ``set SERVICE --stdin`` or ``rm SERVICE``."""
    args = run.args
    action = args.action or "ls"
    if (action == "ls") != (not args.service):
        raise UsageError(f"{action} takes {'no' if action == 'ls' else 'one'} service.", where="credentials")
    if action == "set":
        return await _set(run)
    studio = await run.studio()
    if action == "rm":
        await studio.credentials.unbind(args.service)
        told = await studio.sandboxes.rebind(args.service)
        run.output.document({"service": args.service, "bound": False, "store": None})
        run.output.say(f"No secret is bound to {args.service} any more." + _running(told))
        return DONE
    found = await studio.credentials.list()
    run.output.document([{"service": b.service, "bound": True, "store": b.store} for b in found])
    run.output.table(((b.service, b.store) for b in found), head=("SERVICE", "STORE"))
    if not found:
        run.output.say("No secret is bound to any service. Bind one with: kitstudio credentials set SERVICE --stdin")
    return DONE


async def _set(run: Run) -> int:
    secret = await asyncio.to_thread(_secret, run.args.stdin)
    studio = await run.studio()
    made = await studio.credentials.bind(run.args.service, secret, run.args.store)
    told = await studio.sandboxes.rebind(made.service)
    run.output.document({"service": made.service, "bound": True, "store": made.store})
    run.output.say(f"Bound {made.service}; kept in: {made.protection.title}." + _running(told))
    run.output.note(made.protection.sentence)
    return DONE


def _secret(piped: bool) -> str:
    if not piped:
        if not interactive():
            raise UsageError("A secret is needed.", where="credentials set", remedy="Pipe it in with --stdin.")
        return getpass.getpass("Secret: ")
    raw = sys.stdin.buffer.read(MAX_SECRET + 1)
    if len(raw) > MAX_SECRET:
        raise UsageError(f"A secret has at most {MAX_SECRET // 1024} KiB.", where="--stdin")
    try:
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UsageError("A secret is UTF-8 text.", where="--stdin") from None


def _running(told: tuple[str, ...]) -> str:
    return f" Running sandboxes that were told: {', '.join(told)}." if told else ""
