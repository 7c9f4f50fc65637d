"""The agent of a sandbox without a terminal (agent-sessions@1): its sessions, a prompt, going on with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, UsageError
from kitstudio.runtime.capabilities.agent_sessions import Verb, read_sessions

if TYPE_CHECKING:
    from kitstudio.cli.main import Run


async def session(run: Run) -> int:
    """``list`` prints session ids, newest first; the others exit as the agent did."""
    args, verb = run.args, Verb(run.args.verb)
    if (verb in (Verb.PROMPT, Verb.RESUME)) != bool(args.value):
        needs = {Verb.PROMPT: "a prompt", Verb.RESUME: "a session's id"}.get(verb, "no text")
        raise UsageError(f"{verb.value} takes {needs}.", where="session", remedy="Write: kitstudio session NAME VERB …")
    studio = await run.studio()
    result = await studio.sandboxes.agent_session(args.name, verb.value, args.value)
    if verb is Verb.LIST and result.status == 0:
        found = read_sessions(result.stdout)
        run.output.document({"sessions": [one.encode(errors="backslashreplace").decode() for one in found]})
        run.output.table(((one,) for one in found), head=("SESSION",))
        return DONE
    return run.output.program(result.status, result.stdout, result.stderr)
