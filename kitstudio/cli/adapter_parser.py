"""The verbs of the conformance adapter and their arguments, as the conformance text spells them (§2.2)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kitstudio.cli.output import UsageError


class Intermixed(argparse.ArgumentParser):
    """Flags may stand between positional words, and errors are told by main."""

    _inside = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        if self._inside:
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False

    def error(self, message: str) -> Any:
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", where=self.prog, remedy=f"See “{self.prog} --help”.")


def add_verbs(parser: argparse.ArgumentParser, common: Intermixed) -> None:
    """``kitstudio adapter VERB …``; ``common`` are the global flags."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True, parser_class=Intermixed)

    def verb(name: str, about: str, *words: str) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=about, description=about, parents=[common], allow_abbrev=False)
        made.set_defaults(run=f"adapter:{name.replace('-', '_')}")
        for word in words:
            made.add_argument(word, metavar=word.upper())
        return made

    verb("capabilities", "the types this runtime claims, one a line")
    create = verb("create", "compose a set of Kits and start it; prints the sandbox's id")
    create.add_argument("kits", nargs="+", metavar="KIT", help="a Kit folder, oci:DIR[:TAG] or an image reference")
    pairs: dict[str, Any] = {"action": "append", "default": [], "type": _pair, "metavar": "NAME=VALUE"}
    create.add_argument("--arg", **pairs, help="an input, for every Kit that declares it")
    create.add_argument("--env", **pairs, help="a variable that overrides images and inputs")
    create.add_argument(
        "--skills-host-mode", default="", choices=("readonly", "off"), help="the host's half of sharing"
    )
    create.add_argument("--skills-host-store", default="", choices=("missing", "empty"), help="how the store stands")
    create.add_argument("--ssh-agent", default="", metavar="SOCKET", help="the agent behind this sandbox's own")
    create.add_argument("--ssh-known-hosts", default="", metavar="FILE", help="the host keys logins are matched with")
    create.add_argument("--git-identity-config", default="", metavar="FILE|off", help="the identity of this binding")
    _reject(create)
    execute = verb("exec", "run a command in a sandbox; exits as it does", "id")
    execute.usage = "kitstudio adapter exec ID -- CMD…"
    verb("stop", "stop it, keeping everything", "id")
    verb("start", "start it again", "id")
    verb("recreate", "a fresh writable layer; declared volumes stay", "id")
    verb("rm", "discard it", "id")
    verb("wait-idle", "connect and disconnect as clients do, and wait until it was idle long enough", "id")
    verb("status", "running or stopped", "id")
    verb("host-mounts", "folders kept for a Kit, as JSON", "kit")
    verb("host-mount-read", "a file of such a folder", "id", "path")
    verb("host-mount-rm", "delete one", "id")
    verb("selection", "what was selected and skipped, and the surface, as JSON", "id")
    _reject(verb("selection-policy", "what the next recreation's selection is answered", "id"))
    report = verb("report", "claimed types, checks of our own suite, waivers")
    report.add_argument("--results", type=Path, metavar="FILE", help="what a run of the suite wrote (ADAPTER_RESULTS)")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError("this is written NAME=VALUE")
    return name, value


def _reject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reject-capability",
        action="append",
        default=[],
        metavar="TYPE",
        help="answer no for this type; may be repeated",
    )
