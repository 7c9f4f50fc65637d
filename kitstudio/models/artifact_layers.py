"""Artifact checks that need the layers (§9.6, §10, §12, agent-context@1, agent-skill@1)."""

from __future__ import annotations

from collections.abc import Iterator

from kitstudio.models.accounts import Account, needs_groups, resolve_user
from kitstudio.models.artifact_tree import Node, NodeType, Tree
from kitstudio.models.artifact_view import NOT_FETCHED, Found, Subject, Verdict, fail
from kitstudio.models.canonical import encode
from kitstudio.models.capabilities import agent_context, agent_skill
from kitstudio.models.capabilities.paths import clean
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, Kind
from kitstudio.models.errors import DescriptorError
from kitstudio.models.packages import Package, package_version, parse_apk, parse_dpkg
from kitstudio.models.relations import parse_provide

AGENT_UID = 1000
DATABASES = {"deb": ("/var/lib/dpkg/status", parse_dpkg), "apk": ("/lib/apk/db/installed", parse_apk)}
OVERLAY_LINKS = 40
NO_ROOT = Found(Verdict.SKIP, "The Kit's own staged folder was not found.")


def own_root(tree: Tree, descriptor: Descriptor) -> str:
    """The folder the Kit staged its sources in; empty when none is its own."""
    roots = tree.staged_roots()
    if len(roots) == 1:
        return roots[0]
    return next((r for r in roots if same_descriptor(tree.text(f"{r}/kit.yaml"), descriptor)), "")


def same_descriptor(text: bytes | None, descriptor: Descriptor) -> bool:
    """True when a staged descriptor says exactly what the annotation says; spelling aside."""
    try:
        return text is not None and encode(decode(text).descriptor) == encode(descriptor)
    except DescriptorError:
        return False


def skill_content(subject: Subject) -> Iterator[Found]:
    """Each bundled skill has its ``SKILL.md``; the first breach ends the check."""
    for entry in subject.descriptor.entries():
        if entry.type != agent_skill.TYPE.name:
            continue
        try:
            path = agent_skill.TYPE.decode(entry.config).path
        except ShapeError as error:
            yield fail(f"A skill's config does not read: {error}.")
            return
        if subject.view.tree is None:
            yield NOT_FETCHED
            return
        node = subject.view.tree.node(f"{path}/SKILL.md")
        if node is None or node.type is not NodeType.FILE:
            yield fail(f"{path}/SKILL.md is not a regular file of the layers.")
            return


def staged_sources(subject: Subject) -> Iterator[Found]:
    """The Kit's own folder holds the descriptor of the annotation."""
    tree = subject.view.tree
    if tree is None:
        yield NOT_FETCHED
        return
    root = own_root(tree, subject.descriptor)
    if not root:
        yield fail("No staged folder holds the descriptor of the annotation.")
    elif not same_descriptor(tree.text(f"{root}/kit.yaml"), subject.descriptor):
        yield fail(f"{root}/kit.yaml is missing or says something else than the annotation.")


def staged_recipe(subject: Subject) -> Iterator[Found]:
    """A stated recipe is staged beside the descriptor."""
    tree = subject.view.tree
    root = own_root(tree, subject.descriptor) if tree is not None else ""
    if tree is None or not root:
        yield NOT_FETCHED if tree is None else NO_ROOT
    elif (subject.descriptor.build or subject.descriptor.dockerfile) and tree.node(f"{root}/kit.dockerfile") is None:
        yield fail(f"{root}/kit.dockerfile is not staged.")


def context_staged(subject: Subject) -> Iterator[Found]:
    """Each ``contentFile`` is a file of the Kit's own staged folder; the first breach ends the check."""
    tree = subject.view.tree
    root = own_root(tree, subject.descriptor) if tree is not None else ""
    if tree is None or not root:
        yield NOT_FETCHED if tree is None else NO_ROOT
        return
    for entry in subject.descriptor.entries():
        if entry.type != agent_context.TYPE.name:
            continue
        try:
            path = agent_context.TYPE.decode(entry.config).content_file
        except ShapeError as error:
            yield fail(f"The config does not read: {error}.")
            return
        if path and (breach := _context_breach(tree, root, path)):
            yield fail(breach)
            return


def home_ownership(subject: Subject) -> Iterator[Found]:
    """A mixin takes the home from nobody: ``/home`` is root's, ``/home/agent`` the agent's."""
    tree = subject.view.tree
    if tree is None:
        yield NOT_FETCHED
        return
    for path, uid in (("/home", 0), ("/home/agent", AGENT_UID)):
        node = tree.nodes.get(path)
        if node is not None and node.described and node.uid != uid:
            yield fail(f"{path} belongs to uid {node.uid}, it must belong to {uid}.")


def links_resolve(subject: Subject) -> Iterator[Found]:
    """A mixin's links lead somewhere in its own layers."""
    tree = subject.view.tree
    if tree is None:
        yield NOT_FETCHED
        return
    for path in sorted(tree.nodes):
        node = tree.nodes[path]
        if node.type is NodeType.LINK and tree.resolve(path, OVERLAY_LINKS) is None:
            yield Found(Verdict.WARN, f"{path} points at {node.target}, which these layers do not hold.")


def platform_floor(subject: Subject) -> Iterator[Found]:
    """What ``sbx@1`` promises: a user that resolves, and two shells it can run (§12)."""
    if subject.descriptor.kind != Kind.WORKLOAD:
        yield fail("Only a workload declares it.")
        return
    user = subject.view.config.user if subject.view.config is not None else ""
    if not user.strip():
        yield fail("The image config names no user.")
    tree = subject.view.tree
    if tree is None:
        yield NOT_FETCHED
        return
    account: Account | None = None
    if user.strip():
        unread = [p for p in ("/etc/passwd", *["/etc/group"] * needs_groups(user)) if tree.is_oversized(p)]
        if unread:
            yield Found(Verdict.WARN, f"{unread[0]} is too large to read; the user was not judged.")
        else:
            account = resolve_user(user, _text(tree, "/etc/passwd"), _text(tree, "/etc/group"))
            if account is None:
                yield fail(f"The user {user!r} does not resolve in the image's /etc/passwd.")
    for shell in ("/bin/sh", "/bin/bash"):
        node = tree.node(shell)
        if node is None:
            yield fail(f"{shell} is missing.")
        elif account is not None and not (node.type is NodeType.FILE and _runs(node, account)):
            yield fail(f"{shell} is not a file the user {account.name} can run.")


def persistent_env(subject: Subject) -> Iterator[Found]:
    """``BASH_ENV`` names a file the image ships, so that every shell sees the persistent environment."""
    config = subject.view.config
    if config is None:
        yield fail("The image config does not parse.")
        return
    stated = [value for name, _, value in (pair.partition("=") for pair in config.env) if name == "BASH_ENV"]
    path = stated[-1] if stated else ""
    if not path:
        yield Found(Verdict.WARN, "BASH_ENV is not set.")
    elif not path.startswith("/"):
        yield Found(Verdict.WARN, f"BASH_ENV is {path!r}, not an absolute path.")
    elif subject.view.tree is None:
        yield NOT_FETCHED
    elif subject.view.tree.node(path) is None:
        yield Found(Verdict.WARN, f"BASH_ENV names {path}, which the image does not ship.")


def derived_provides(subject: Subject) -> Iterator[Found]:
    """Packages are stated as the databases in the layers record them (§9.6)."""
    if subject.descriptor.kind != Kind.WORKLOAD:
        yield fail("Only a workload states packages.")
        return
    if subject.is_set:
        yield Found(Verdict.SKIP, "They describe a listed workload before composition.")
        return
    if subject.view.tree is None:
        yield NOT_FETCHED
        return
    for namespace in DATABASES:
        entries = [text for text in subject.descriptor.provides if text.strip().startswith(f"{namespace}/")]
        if entries:
            yield from _packages(subject.view.tree, namespace, entries)


def _packages(tree: Tree, namespace: str, entries: list[str]) -> Iterator[Found]:
    path, parse = DATABASES[namespace]
    if tree.is_oversized(path):
        yield Found(Verdict.WARN, f"{path} is too large to read.")
        return
    text = tree.text(path)
    if text is None:
        yield fail(f"{path} is missing, so {namespace}/ entries cannot be true.")
        return
    try:
        packages = parse(text.decode("utf-8", "replace"))
    except DescriptorError as error:
        yield fail(f"{path} does not read: {error}.")
        return
    by_name: dict[str, list[Package]] = {}
    for package in packages:
        by_name.setdefault(package.name, []).append(package)
    for entry in entries:
        try:
            provide = parse_provide(entry)
        except DescriptorError:
            # Reported by descriptor-valid.
            continue
        records = by_name.get(provide.name.partition("/")[2], [])
        if not records:
            yield fail(f"{entry} names a package the layers do not record as installed.")
        elif any(package_version(package.version) != provide.version for package in records):
            yield fail(f"{entry} is not the version the layers record.")


def _context_breach(tree: Tree, root: str, path: str) -> str:
    if clean(path) != path or not path.startswith(f"{root}/"):
        return f"{path} is not in the Kit's own staged folder {root}."
    if path in (f"{root}/kit.yaml", f"{root}/kit.dockerfile"):
        return f"{path} is the place of a staged source."
    return "" if tree.node(path) is not None else f"{path} is not in the layers."


def _runs(node: Node, account: Account) -> bool:
    if account.uid == 0:
        return bool(node.mode & 0o111)
    if node.uid == account.uid:
        return bool(node.mode & 0o100)
    if node.gid == account.gid:
        return bool(node.mode & 0o010)
    return bool(node.mode & 0o001)


def _text(tree: Tree, path: str) -> str:
    return (tree.text(path) or b"").decode("utf-8", "replace")
