"""What our own conformance suite judges and what it does not: the list behind ``adapter report``.

A check has an id, which begins with the capability type (or section) it belongs to, and the statement it judges; the
tests carry these ids, and one of them compares both lists. A waiver names a duty that is not judged this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kitstudio.models.descriptor import JsonValue

PREFIX = "com.docker.sandbox/"


@dataclass(frozen=True, slots=True)
class Check:
    """``id``: ``SUBJECT/name``; the subject is a type without its prefix, or a section of the conformance text."""

    id: str
    statement: str

    @property
    def subject(self) -> str:
        return self.id.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Waiver:
    """A duty that is not judged, and why."""

    id: str
    reason: str


CHECKS: tuple[Check, ...] = (
    Check("adapter/known-types", "capabilities prints each claimed type on its own line and writes nothing."),
    Check("adapter/refusal", "A Kit that requires an unclaimed type is refused with 2, and nothing of it is left."),
    Check("adapter/failure", "A Kit that cannot be found, or built here, is a failure and not a refusal."),
    Check("adapter/own-home", "The adapter works in no home a person decided something in."),
    Check("adapter/exec", "exec passes arguments, standard output and the exit status through, without a terminal."),
    Check("adapter/exec-identity", "exec runs as the sandbox's agent."),
    Check("adapter/no-input", "No verb reads standard input."),
    Check("adapter/rm", "rm leaves nothing: no process, no folder, no record."),
    Check("adapter/approved-by", "What is approved for a suite stands in the records under the suite's name."),
    Check("adapter/env-expanded", "An override wins over image and argument, empty ones too, and files expand to it."),
    Check("adapter/args", "Arguments reach the Kits that declare them literally; an undeclared one is refused."),
    Check("adapter/folders", "A Kit folder whose recipe needs nothing to be run is a Kit; so is an image layout."),
    Check("lifecycle/install-once", "Install hooks run once at create; startup hooks at every boot."),
    Check("lifecycle/scrubbed", "A hook sees nothing of the host's environment, baseline variables included."),
    Check("lifecycle/failure", "A hook that fails ends the create as a failure, not as a refusal."),
    Check("lifecycle/stop-start", "stop and start keep the file system."),
    Check("volume@1/recreate", "recreate discards the writable layer and keeps declared volumes."),
    Check("host-mount@1/listing", "Folders are listed by Kit identity with no sandbox alive; listing makes none."),
    Check("host-mount@1/versions", "Two versions of one repository share their folder, in both directions."),
    Check("host-mount@1/read", "A file is read on the host; links out of the folder and absent files fail."),
    Check("host-mount@1/rm", "A removed folder is empty at the next create."),
    Check("credential@1/sentinel", "The bound secret is nowhere in the sandbox; its variable holds a stand-in."),
    Check("credential@1/inject-only", "A credential without a name presents no variable."),
    Check("credential@1/presented", "The secret reaches the service in the header that the Kit names."),
    Check("git-identity@1/materialized", "The pair is Git's global default; unrelated settings of the source are not."),
    Check("git-identity@1/preserved", "Settings of the sandbox's own stay; its image's pair gives way."),
    Check("git-identity@1/retained", "A changed source reaches no sandbox that exists, restarted or recreated."),
    Check("git-identity@1/source-unchanged", "The suite's file is never written to."),
    Check(
        "git-identity@1/withheld", "off and half a pair are no identity: required refused, optional skipped by name."
    ),
    Check("ssh-agent@1/relayed", "The sandbox reaches the stated agent and no other."),
    Check("ssh-agent@1/absent", "Without an agent a required entry is refused and an optional one skipped."),
    Check("ssh-agent@1/known-hosts", "Logins are matched with the stated host keys."),
    Check("network-policy@1/phases", "Install grants end before the runtime phase; what is not granted is refused."),
    Check("groups/atomic", "A rejected member takes its whole group out: hooks, files, storage, grants."),
    Check("groups/independent", "A group of the same name is decided by itself."),
    Check("groups/restart", "Stop and start keep the decision, whatever the answer is by then."),
    Check("groups/recreate", "recreate decides afresh, in both directions."),
    Check("groups/required", "A rejected member of a required group refuses the create and is named."),
    Check("groups/surface", "The surface told is the enforced one; records name Kit, path, members and sources."),
    Check("groups/conflict", "Optional groups are not dropped to mend a conflict."),
    Check("long-running@1/idle", "Without it a sandbox stops after its idle period; with it it goes on."),
    Check("long-running@1/status", "status looks without starting; a missing sandbox is an error."),
    Check("agent-context@1/destinations", "The profile lies where it is declared and keeps what was there."),
)

WAIVERS: tuple[Waiver, ...] = (
    Waiver("git-identity@1/source-private", "Paths nobody configures cannot be searched from outside."),
    Waiver("groups/before-application", "A refused create returns no sandbox to look into."),
    Waiver("groups/selection-before-application", "Effects undone before anybody looks cannot be seen."),
    Waiver("privileged@1", "Judged by tests of the runtime, not through the adapter."),
    Waiver("port@1", "Judged by tests of the runtime, not through the adapter; udp is not published."),
    Waiver("resources@1", "Judged by tests of the runtime, not through the adapter."),
    Waiver("network-policy@2", "Judged by tests of the runtime, not through the adapter."),
    Waiver("agent-sessions@1", "Judged by tests of the runtime, not through the adapter."),
    Waiver("agent-skill@1", "Judged by tests of the runtime, not through the adapter."),
    Waiver("agent-skills@1", "Judged by tests of the runtime, not through the adapter."),
    Waiver("kit-registry@1", "Judged by tests of the runtime, not through the adapter."),
    Waiver("usb-device@1", "Judged by tests of the runtime, not through the adapter."),
    Waiver("sbx@1", "Judged by tests of the runtime, not through the adapter."),
    Waiver("recipes", "Fixtures whose Dockerfile runs commands must be built elsewhere first."),
)


def report(claimed: Iterable[str], outcomes: Mapping[str, str]) -> dict[str, JsonValue]:
    """Claimed types, checks with what became of each (``outcomes`` by id; ``not run`` otherwise), waivers."""
    return {
        "claimed": [*sorted(claimed)],
        "checks": [
            {"id": check.id, "statement": check.statement, "outcome": outcomes.get(check.id, "not run")}
            for check in CHECKS
        ],
        "waivers": [{"id": waiver.id, "reason": waiver.reason} for waiver in WAIVERS],
    }
