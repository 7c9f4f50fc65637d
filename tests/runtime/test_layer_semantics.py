"""Stacks of random layers: the converted form shows what unpacking them one after another would."""

from __future__ import annotations

import asyncio
import tarfile
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kitstudio.runtime.inventory import EntryType, Inventory, lookup
from tests.runtime.machines import convert, folder, member, tar_of

NAMES = st.sampled_from("abc")
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
STEPS = st.one_of(
    st.tuples(st.just("file"), PATHS, st.integers(1, 9)),
    st.tuples(st.just("folder"), PATHS, st.integers(1, 9)),
    st.tuples(st.just("whiteout"), PATHS, st.just(0)),
    st.tuples(st.just("opaque"), st.one_of(PATHS, st.just("")), st.just(0)),
)
LAYERS = st.lists(st.lists(STEPS, max_size=6), min_size=1, max_size=3)
Step = tuple[str, str, int]
Tree = dict[str, tuple[str, int]]


def parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def sensible(steps: list[Step]) -> list[Step]:
    """Leaves out steps that need a folder where this layer itself has put a file."""
    kept: list[Step] = []
    own: dict[str, str] = {}
    hidden: set[str] = set()
    for step in steps:
        kind, path, _ = step
        needs = [*parents(path), *([path] if kind == "opaque" and path else [])]
        if any(own.get(parent) == "file" for parent in needs):
            continue
        if kind == "file" and (any(n.startswith(path + "/") for n in [*own, *hidden]) or path in hidden):
            continue
        kept.append(step)
        if kind in ("file", "folder"):
            own[path] = kind
        hidden |= {f"{path}/." if path else "."} if kind == "opaque" else {path} if kind == "whiteout" else set()
        for parent in needs:
            own.setdefault(parent, "folder")
    return kept


def unpack(below: Tree, steps: list[Step]) -> Tree:
    """The rule, stated plainly: first what the layer hides, then what it brings."""
    tree = dict(below)

    def drop(path: str, *, itself: bool) -> None:
        for name in [n for n in tree if n.startswith(path + "/") or (itself and n == path) or (not path and n)]:
            del tree[name]

    for kind, path, _ in steps:
        if kind == "whiteout":
            drop(path, itself=True)
        elif kind == "opaque":
            drop(path, itself=False)
    own = {path for kind, path, _ in steps if kind in ("file", "folder")}
    for kind, path, mode in steps:
        needed = [*parents(path), *([path] if kind == "opaque" and path else [])]
        for parent in needed:
            if parent in own and tree.get(parent, ("", 0))[0] == "folder":
                continue
            if tree.get(parent, ("file", 0))[0] != "folder":
                # a folder the layer does not list keeps what the layers below gave it, even when hidden
                was = below.get(parent, ("file", 0))
                tree[parent] = was if was[0] == "folder" else ("folder", 0o755)
        if kind == "file":
            drop(path, itself=True)
            tree[path] = ("file", mode)
        elif kind == "folder":
            if tree.get(path, ("", 0))[0] == "file":
                drop(path, itself=True)
            tree[path] = ("folder", mode)
    return tree


def as_tar(steps: list[Step]) -> bytes:
    members = []
    for kind, path, mode in steps:
        if kind == "file":
            members.append(member(path, mode=mode))
        elif kind == "folder":
            members.append(folder(path, mode=mode))
        elif kind == "whiteout":
            head, _, name = path.rpartition("/")
            members.append(member(f"{head}/.wh.{name}".lstrip("/")))
        else:
            members.append(member(f"{path}/.wh..wh..opq".lstrip("/")))
    return tar_of(*members)


@given(LAYERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_stack_shows_what_unpacking_would(layers: list[list[Step]]) -> None:
    expected: Tree = {}
    tars = {}
    for number, steps in enumerate(layers):
        kept = sensible(steps)
        expected = unpack(expected, kept)
        tars[f"l{number}"] = as_tar(kept)
    with tempfile.TemporaryDirectory() as place:
        done = asyncio.run(convert(Path(place), tars))
        stack = [Inventory.load(layer.inventory) for layer in done]
    every = [f"{a}{b}{c}" for a in "abc" for b in ("", "/a", "/b", "/c") for c in ("", "/a", "/b", "/c") if b or not c]
    shown: Tree = {}
    for path in every:
        found = lookup(stack, path)
        if found:
            shown[path] = ("folder" if found.type is EntryType.DIRECTORY else "file", found.mode)
    assert shown == expected


def test_a_tar_is_read_with_every_common_header_form() -> None:
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        import io

        stream = io.BytesIO()
        name = "d" * 90 + "/" + "e" * 60
        with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
            archive.addfile(member(name, b"x")[0], io.BytesIO(b"x"))
        with tempfile.TemporaryDirectory() as place:
            done = asyncio.run(convert(Path(place), {"l": stream.getvalue()}))
            assert name in Inventory.load(done[0].inventory).entries
