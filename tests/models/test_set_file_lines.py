"""An edit of a set file is a splice: every line it is not about stays byte for byte, in files as people write them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitstudio.models.descriptor import Arg
from kitstudio.models.set_file import add_kit, declare_arg, parse, remove_kit, replace_kit, set_field, set_kit_arg

DIGEST = "sha256:" + "ab" * 32

FROM_AN_INPUT = """\
# syntax=docker/sandbox-kit:3
# yaml-language-server: $schema=https://schemas.example/kit.json
#
# The environment of the team: an agent, its tools, nothing else.
# Build with --build-arg REGISTRY=…

schemaVersion: "3"
kind: set
displayName: Team environment
description: >-
  An agent with its tools,
  for everybody on the team.
version: "1.0.0"

args:
  # Where the Kits live. Everything below takes it from here.
  registry:
    default: docker.io/acme
    buildArg: REGISTRY
    pattern: '[a-z0-9./:-]+'   # no scheme

kits:
  # --- the base -----------------------------------------------
  - ref: ${{ kit.args.registry }}/agent:1.0.0

  # --- tools ----------------------------------------------------
  - ref: ${{ kit.args.registry }}/gh:2.72.0   # releases
  - ref: docker.io/acme/notes:1.1.0
    # answered here, so that nobody is asked
    args:
      folder: "/home/agent/notes"
      colour: ""   # none
"""

WITH_ITS_OWN_WISHES = """\
schemaVersion: '3'
kind: workload   # derived; stating it is the same
kits: [ {ref: 'docker.io/acme/agent:1.0.0'}, {ref: docker.io/acme/gh:2.72.0, digest: sha256:%s} ]  # one line

capabilities:
- type: com.docker.sandbox/network-policy@1
  config:
    runtime:
      allow:
      - api.acme.example   # ours
- type: com.docker.sandbox/lifecycle@1
  config:
    startup:
    - command: |
        # not a comment of ours
        cat <<'EOF'
        {{.Prompt}} ${VAR:-x}
        EOF
""" % ("cd" * 32)

WRITTEN_BY_A_SCRIPT = (
    '{"schemaVersion": "3", "kind": "set", "kits": [\n{"ref": "docker.io/acme/agent:1.0.0"},\n'
    '{"ref": "docker.io/acme/gh:2.72.0", "args": {"host": "x"}}\n]}\n'
)

FILES = [FROM_AN_INPUT, WITH_ITS_OWN_WISHES, WRITTEN_BY_A_SCRIPT]
FILES += [FROM_AN_INPUT.replace("\n", "\r\n"), "\ufeff" + FROM_AN_INPUT, FROM_AN_INPUT.rstrip("\n")]

edits = st.tuples(
    st.sampled_from(["add", "remove", "replace", "pin", "unpin", "arg", "no-arg", "declare", "field"]),
    st.integers(0, 2),
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(FILES), st.lists(edits, min_size=1, max_size=5))
def test_lines_an_edit_is_not_about_stay_as_they_are(text: str, run: list[tuple[str, int]]) -> None:
    for number, (kind, place) in enumerate(run):
        kits = [kit.ref for kit in parse(text).descriptor.kits]
        if kind not in ("add", "declare", "field") and place >= len(kits):
            continue
        ref = kits[place] if place < len(kits) else ""
        before = text
        if kind == "add":
            text = add_kit(text, f"docker.io/acme/new-{number}:1.0", DIGEST if place else "")
        elif kind == "remove" and len(kits) > 1:
            text = remove_kit(text, ref)
        elif kind == "replace":
            text = replace_kit(text, ref, f"docker.io/acme/other-{number}:2.0")
        elif kind in ("pin", "unpin"):
            text = replace_kit(text, ref, ref, DIGEST if kind == "pin" else "")
        elif kind in ("arg", "no-arg"):
            text = set_kit_arg(text, ref, "folder", "/elsewhere" if kind == "arg" else None)
        elif kind == "declare" and f"own{number}" not in parse(text).descriptor.args:
            text = declare_arg(text, f"own{number}", Arg(default="", description="one of ours", enum=("", "a")))
        elif kind == "field":
            text = set_field(text, "author", f"somebody {number}")
        _compare(before, text, kind, ref)


def _compare(before: str, after: str, kind: str, ref: str) -> None:
    """Every line of before that does not belong to the edited entry is in after, in order, byte for byte."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = next((i for i, line in enumerate(old) if ref and ref in line), len(old))
    entry = set()
    if start < len(old) and not re.match(r"\s*(kits:\s*\[|\{)", old[start]):
        entry = set(range(start, len(old)))
        for number in range(start + 1, len(old)):
            if re.match(r"\s*-\s|\S|\s*#|\s*$", old[number]) and not old[number].startswith("    "):
                entry = set(range(start, number))
                break
    elif start < len(old):
        entry = {start}
    kept = [line for i, line in enumerate(old) if i not in entry and not _is_touched(line, kind)]
    rest = iter(line.rstrip("\r\n") for line in new)
    for line in kept:
        assert line.rstrip("\r\n") in rest, (kind, line)


def _is_touched(line: str, kind: str) -> bool:
    """Lines an edit may rewrite beside its entry: a collection on one line, the field itself, a bracket that moves."""
    one_line = re.match(r"\s*(kits:\s*\[|\{|\]|author:|args:\s*\{)", line.lstrip("\ufeff"))
    return bool(one_line) or (kind in ("add", "declare", "field", "remove") and line.lstrip("\ufeff").startswith("{"))


@pytest.mark.parametrize("text", FILES[:3])
def test_undoing_an_edit_by_its_opposite_gives_the_file_back(text: str) -> None:
    added = add_kit(text, "docker.io/acme/new:1.0")
    assert remove_kit(added, "docker.io/acme/new:1.0") == text
    ref = parse(text).descriptor.kits[0].ref
    assert replace_kit(replace_kit(text, ref, ref, DIGEST), ref, ref, "") == text


def test_an_input_is_declared_where_a_careful_author_puts_it() -> None:
    text = declare_arg(FROM_AN_INPUT, "name", Arg(required=True, description="Who is greeted"))
    assert "    pattern: '[a-z0-9./:-]+'   # no scheme\n  name:\n    required: true\n" in text
    bare = declare_arg('schemaVersion: "3"\nkind: set\nkits:\n- ref: r.example/a:1\n', "name", Arg(default=""))
    assert bare.index("args:") < bare.index("kits:") and 'default: ""' in bare
