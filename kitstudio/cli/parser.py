"""The grammar of the command line (``cli.md``). Each command names the function that runs it, imported when it runs,
so that ``--help`` costs nothing."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import kitstudio
from kitstudio.cli.adapter_parser import Intermixed, add_verbs
from kitstudio.cli.output import UsageError

JSON_LINES = frozenset(("search", "history", "launch", "logs", "network", "updates"))
"""Commands whose ``--json`` is one JSON value a line."""

_FORMS = ("authored", "published", "effective")


class Parser(argparse.ArgumentParser):
    """argparse that raises instead of leaving, so that main decides how an error is told."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"argument COMMAND: invalid choice: (.*?) \(choose from (.*)\)", message)
        if unknown:
            near = difflib.get_close_matches(unknown[1].strip("'"), re.findall(r"[a-z]+", unknown[2]), 1)
            hint = f"Did you mean “{near[0]}”? " if near else ""
            message = f"There is no command {unknown[1]}"
            raise UsageError(f"{message}.", remedy=f"{hint}See “{self.prog} --help”.")
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", where=self.prog, remedy=f"See “{self.prog} --help”.")


def build_parser() -> Parser:
    """Every command that works, and only those."""
    common = _common()
    parser = Parser(
        prog="kitstudio",
        description="Review, approve and run Docker Sandbox Kits. Without a command the window opens.",
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_REFERENCES,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kitstudio {kitstudio.__version__}")
    commands: argparse._SubParsersAction[Parser] = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands"
    )

    def command(name: str, run: str, about: str) -> Parser:
        made = commands.add_parser(name, help=about, description=about, parents=[common], allow_abbrev=False)
        made.set_defaults(run=run)
        return made

    _kits(command)
    _sets(command)
    _gate(command)
    _sandboxes(command)
    _machine(command)
    return parser


_REFERENCES = """\
references, tried in this order:
  ./dir, /dir, FILE.yaml       a Kit folder, a descriptor or a set file
  oci:DIR[:TAG|@DIGEST]        an OCI image layout
  demo/NAME[:TAG]              the embedded demo catalog
  docker.io/acme/kit:1.0       a registry

exit codes: 0 done, 1 failed or not valid, 2 refused by policy, 64 usage
"""

_Command = Callable[[str, str, str], Parser]


def _common() -> Parser:
    """Global flags, accepted before and after the command."""
    common = Parser(add_help=False)
    _global_options(common)
    return common


def _global_options(common: argparse.ArgumentParser) -> None:
    group = common.add_argument_group("global options")
    hidden = argparse.SUPPRESS
    group.add_argument("--home", type=Path, metavar="DIR", default=hidden, help="where all state is kept")
    group.add_argument("--json", action="store_true", default=hidden, help="machine-readable result")
    group.add_argument("--quiet", action="store_true", default=hidden, help="no progress, no remarks")
    group.add_argument("--offline", action="store_true", default=hidden, help="no network; cached Kits only")
    group.add_argument(
        "--plain-http",
        action="append",
        metavar="HOST[:PORT]",
        default=hidden,
        help="a registry to speak to without TLS (loopback needs no flag); may be repeated",
    )


def _kit(text: str) -> str:
    """A reference that may as well be meant for something beside it on the disk is not sent to Docker Hub."""
    first = text.partition("/")[0]
    stated = first in ("", "demo", "localhost") or any(mark in first for mark in ".:~@")
    if not stated and Path(text).exists():
        raise UsageError(
            "This is a file or folder here, and a name on Docker Hub.",
            where=text,
            remedy=f"Write ./{text} for the one here, docker.io/{text} for the other.",
        )
    return text


def _references(parser: Parser, *, values: bool = True) -> None:
    parser.add_argument("references", nargs="+", type=_kit, metavar="REF|SET.yaml", help="Kits, or one set file")
    if values:
        parser.add_argument(
            "--arg",
            action="append",
            default=[],
            metavar="[KIT:]NAME=VALUE",
            help="an input; VALUE @FILE or - reads a secret from a file or standard input",
        )
        parser.add_argument(
            "--build-arg", action="append", default=[], metavar="NAME=VALUE", help="a build-phase arg of the set file"
        )


def _answers(parser: Parser) -> None:
    parser.add_argument("--name", default="", help="name of the lock (default: the set file's stem)")
    parser.add_argument("--yes", action="store_true", help="approve everything but critical findings")
    parser.add_argument(
        "--accept", action="append", default=[], metavar="CATEGORY:DETAIL", help="approve one critical finding"
    )
    parser.add_argument(
        "--approve-from", type=Path, metavar="FILE", help="replay an exported record or lock: equal or refused"
    )


def _kits(command: _Command) -> None:
    check = command("check", "kits:check", "run conformance cases")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE.jsonl")
    validate = command("validate", "validate:validate", "judge a descriptor file or a published Kit")
    validate.add_argument("reference", type=_kit, metavar="FILE|REF")
    validate.add_argument("--form", choices=_FORMS, help="which rules apply (default: by what it is)")
    edit = command("edit", "machine:edit", "write a descriptor in a window, with findings as you type")
    edit.add_argument("paths", nargs="+", type=Path, metavar="DIR|FILE")
    schema = command("schema", "schema:schema", "the JSON Schema of a descriptor, for an editor")
    schema.add_argument("type", nargs="?", default="", metavar="TYPE", help="of one capability's config, port@1 …")
    inspect = command("inspect", "kits:inspect", "show one Kit from its manifest")
    inspect.add_argument("reference", type=_kit, metavar="REF")
    inspect.add_argument("--platform", default="", metavar="OS/ARCH", help="another platform than this machine's")
    tags = command("tags", "kits:tags", "versions of a Kit, newest first")
    tags.add_argument("repository", metavar="REPO")
    tags.add_argument("--all", action="store_true", help="signature tags too")
    search = command("search", "kits:search", "search the catalogs")
    search.add_argument("query", nargs="*", metavar="QUERY")
    search.add_argument("--source", default="", help="one source: demo, a layout, a registry")
    search.add_argument("--verified", action="store_true", help="only what the source vouches for")
    search.add_argument("--kind", default="", choices=("workload", "mixin", "v2", "image"))
    search.add_argument("--capability", default="", metavar="T", help="only Kits that ask for this type")
    copy = command("copy", "kits:copy", "copy one Kit between sources, digests kept")
    copy.add_argument("reference", type=_kit, metavar="REF")
    copy.add_argument("destination", metavar="DEST", help="oci:DIR:TAG or a registry reference")


def _sets(command: _Command) -> None:
    resolve = command("resolve", "sets:resolve", "judge a set and order it")
    _references(resolve)
    resolve.add_argument("--partial", action="store_true", help="a set without a workload is fine")
    surface = command("surface", "sets:surface", "the effective permission surface")
    _references(surface)
    diff = command("diff", "diff:diff", "what NEW asks for beyond OLD")
    diff.add_argument("old", type=_kit, metavar="OLD", help="a Kit, a set file or a lock")
    diff.add_argument("new", type=_kit, metavar="NEW")
    diff.add_argument("--arg", action="append", default=[], metavar="[KIT:]NAME=VALUE", help="an input of both sides")
    export = command("export", "sets:export", "write a set file")
    _references(export)
    export.add_argument("-o", "--output", type=Path, metavar="SET.yaml", help="default: standard output")
    export.add_argument("--pin", action="store_true", help="write the digest of every Kit")
    export.add_argument("--display-name", default="", metavar="N")
    export.add_argument("--version", dest="set_version", default="", metavar="V")
    publish = command("publish", "publish:publish", "merge a set into one Kit and push it")
    publish.add_argument("path", metavar="SET.yaml", help="a set file, or a Kit that is declarations alone")
    publish.add_argument("destination", metavar="DEST", help="a registry reference or oci:DIR:TAG")
    publish.add_argument(
        "--platform", action="append", default=[], metavar="P", help="os/arch (default: all its Kits have in common)"
    )
    publish.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE", help="a build-phase arg")


def _gate(command: _Command) -> None:
    approve = command("approve", "gate:approve", "decide what a set may do, and write its lock")
    _references(approve)
    _answers(approve)
    approve.add_argument("--export", type=Path, metavar="FILE", help="write the record of this decision")
    updates = command("updates", "updates:updates", "newer versions of approved Kits, and what they ask for")
    updates.add_argument("--check", action="store_true", help="ask the sources now; apply what asks for no more")
    history = command("history", "gate:history", "approval records, newest first")
    history.add_argument("--export", type=Path, metavar="FILE", help="write all records as JSON lines")


def _sandboxes(command: _Command) -> None:
    launch = command("launch", "sandboxes:launch", "approve, create and start a sandbox")
    _references(launch)
    _answers(launch)
    launch.add_argument("--workspace", type=Path, metavar="DIR", help="folder of yours shown in the sandbox")
    launch.add_argument("--env", action="append", default=[], metavar="N=V", help="an environment variable")
    launch.add_argument("--memory", default="", metavar="M", help="MiB, or with a unit: 2g")
    launch.add_argument("--cpus", type=int, default=0, metavar="N")
    launch.add_argument(
        "--port", action="append", default=[], metavar="PORT=HOST", help="publish a port of the set there"
    )
    launch.add_argument("--detach", action="store_true", help="do not open the terminal")
    execute = command("exec", "sandboxes:execute", "run a command in a sandbox")
    execute.add_argument("name", metavar="NAME")
    execute.add_argument("-t", "--tty", action="store_true", help="with a terminal")
    execute.usage = "kitstudio exec NAME [-t] -- CMD…"
    session = command("session", "agent:session", "drive a sandbox's agent without a terminal")
    session.add_argument("name", metavar="NAME")
    session.add_argument("verb", choices=("list", "prompt", "resume", "continue"))
    session.add_argument("value", nargs="?", default="", metavar="TEXT|ID", help="the prompt, or the session's id")
    for name, about in (
        ("attach", "open the interactive terminal"),
        ("stop", "stop a sandbox"),
        ("start", "start a stopped sandbox"),
        ("recreate", "drop the writable layer and create again from the same lock"),
        ("rm", "remove a sandbox"),
        ("status", "one sandbox"),
        ("logs", "output of a sandbox"),
    ):
        command(name, f"sandboxes:{name}", about).add_argument("name", metavar="NAME")
    command("ls", "sandboxes:ls", "sandboxes")
    files = command("files", "files:files", "a folder of a running sandbox")
    files.add_argument("name", metavar="NAME")
    files.add_argument("path", nargs="?", default="", metavar="PATH", help="default: where its programs begin")
    copy = command("cp", "files:cp", "copy one file out of a running sandbox, or into it")
    copy.add_argument("source", metavar="NAME:/PATH|FILE")
    copy.add_argument("target", metavar="FILE|NAME:/PATH")
    copy.add_argument("--force", action="store_true", help="replace a file that is there")
    ports = command("ports", "reach:ports", "published ports of a sandbox")
    ports.add_argument("name", metavar="NAME")
    ports.add_argument(
        "--set", action="append", default=[], metavar="PORT=HOST", help="publish a port there; 0 for any free one"
    )
    mounts = command("mounts", "reach:mounts", "folders of this computer that sandboxes of one Kit share")
    mounts.add_argument("reference", nargs="?", default="", metavar="REF", help="of one Kit")
    mounts.add_argument("--rm", default="", metavar="ID", help="delete one, with what is in it")
    network = command("network", "sandboxes:network", "egress decisions of a sandbox")
    network.add_argument("name", metavar="NAME")
    network.add_argument("--follow", action="store_true", help="keep printing")


def _machine(command: _Command) -> None:
    login = command("login", "sign_in:login", "sign in to a registry")
    login.add_argument("place", metavar="HOST", help="a registry, or HOST/NAMESPACE for one namespace of it")
    login.add_argument("--username", default="", metavar="U")
    login.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    login.add_argument(
        "--store", default="", choices=("keyring", "file"), help="where it is kept (default: the system's keyring)"
    )
    command("logout", "sign_in:logout", "forget a sign-in").add_argument("place", metavar="HOST")
    credentials = command("credentials", "credentials:credentials", "secrets that services of Kits are bound to")
    credentials.add_argument("action", nargs="?", choices=("ls", "set", "rm"))
    credentials.add_argument("service", nargs="?", default="", metavar="SERVICE")
    credentials.add_argument("--stdin", action="store_true", help="read the secret from standard input")
    credentials.add_argument(
        "--store", default="", choices=("keyring", "file"), help="where it is kept (default: the system's keyring)"
    )
    settings = command("settings", "machine:settings", "read and write settings")
    settings.add_argument("action", nargs="?", choices=("get", "set"))
    settings.add_argument("key", nargs="?", metavar="KEY")
    settings.add_argument("value", nargs="?", metavar="VALUE")
    verbs = Intermixed(add_help=False)
    _global_options(verbs)
    add_verbs(command("adapter", "adapter:capabilities", "the conformance adapter of the specification"), verbs)
    tour = command("tour", "machine:tour", "drive the real window through the main job, with pictures")
    tour.add_argument("--out", type=Path, default=Path("tour"), metavar="DIR", help="where pictures go (default: tour)")
    doctor = command("doctor", "machine:doctor", "what this machine can do and what is missing")
    doctor.add_argument("--bundle", type=Path, metavar="FILE", help="write a report without secrets")
