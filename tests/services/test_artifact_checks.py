"""The artifact checks on whole images: sound ones of every kind, and one broken in each way a check is there for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kitstudio.models.annotations import BUILT_BY as BUILT_BY_KEY
from kitstudio.models.annotations import CAPABILITIES, DESCRIPTOR, OCI_PREFIX, SCHEMA_VERSION, kit_annotations
from kitstudio.models.artifact import RULES
from kitstudio.models.artifact_tree import STAGED
from kitstudio.models.artifact_view import Verdict
from kitstudio.models.canonical import encode
from kitstudio.models.descriptor import Descriptor
from kitstudio.registry.source import ArtifactKind, ImageConfig
from kitstudio.registry.writer import (
    Entry,
    EntryKind,
    Image,
    LayoutWriter,
    build_image,
    build_index,
    build_layer,
    folder,
    symlink,
)
from kitstudio.services.app import Options, Studio
from tests.builders import AMD64, ARM64, BUILT_BY, descriptor_from

HEAD = 'schemaVersion: "3"\nversion: "1.0.0"\ndisplayName: Test\n'
ROOT = STAGED.removeprefix("/")
PASSWD = Entry("etc/passwd", data=b"root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/bash\n")
STATUS = Entry("var/lib/dpkg/status", data=b"Package: bash\nStatus: install ok installed\nVersion: 5.2.15-2\n")
FLOOR = (PASSWD, Entry("bin/sh", mode=0o755), Entry("bin/bash", mode=0o755), Entry("etc/env"), STATUS)
SBX = "capabilities: [{type: com.docker.sandbox/sbx@1}]\n"
LAUNCH = ImageConfig(entrypoint=("/bin/bash",), user="agent", env=("BASH_ENV=/etc/env",), platform=AMD64)


def mixin(text: str = "") -> Descriptor:
    return descriptor_from(f"{HEAD}kind: mixin\n{text}")


def workload(text: str = SBX + "provides: [deb/bash@5.2.15]\n") -> Descriptor:
    return descriptor_from(f"{HEAD}kind: workload\n{text}")


def staged(about: Descriptor, stem: str = "test") -> Entry:
    return Entry(f"{ROOT}/{stem}/kit.yaml", data=encode(about).encode())


def image(
    about: Descriptor,
    *entries: Entry,
    config: ImageConfig = LAUNCH,
    without: Sequence[str] = (),
    stage: bool = True,
    **changed: str,
) -> Image:
    """A published Kit. ``changed``: annotations by key, with ``__`` for a dot; ``without``: keys left out."""
    notes = {**kit_annotations(about, BUILT_BY), **{key.replace("__", "."): text for key, text in changed.items()}}
    layer = build_layer([*entries, *([staged(about)] if stage else [])])
    return build_image([layer], config, {key: text for key, text in notes.items() if key not in without})


@dataclass(frozen=True)
class Broken:
    """One image and what is expected of it: check → verdict, of those that do not pass."""

    name: str
    made: Image
    expected: Mapping[str, str]


SKILL = "capabilities: [{type: com.docker.sandbox/agent-skill@1, config: {path: /opt/skills/tidy}}]\n"
CONTEXT = (
    "capabilities: [{type: com.docker.sandbox/agent-context@1,"
    " config: {directory: /home/agent, filename: A.md, contentFile: %s}}]\n"
)


def noted(about: Descriptor, key: str, text: str) -> Image:
    return image(about, **{key.replace(".", "__"): text})


def several(about: Descriptor, *entries: Entry, notes: Mapping[str, str] | None, **changed: str) -> Image:
    rows = [
        (platform, image(about, *entries, config=replace(LAUNCH, platform=platform), **changed))
        for platform in (AMD64, ARM64)
    ]
    return build_index(rows, notes)


def cases() -> list[Broken]:
    """Each image with the one check that finds it; a mixin under a floor breaks a rule of the grammar too."""
    plain = mixin()
    base = workload()
    notes = kit_annotations(plain, BUILT_BY)
    bash = Entry("bin/bash", mode=0o700)
    stated = (
        ("no descriptor", image(plain, without=list(notes)), {"descriptor-annotation": "fail"}),
        ("a descriptor that does not decode", noted(plain, DESCRIPTOR, "{"), {"descriptor-annotation": "fail"}),
        ("a descriptor that is not valid", image(mixin("requires: [a b]\n")), {"descriptor-valid": "fail"}),
        ("another schema version", noted(plain, SCHEMA_VERSION, "2"), {"schema-version-annotation": "fail"}),
        ("no schema version", image(plain, without=[SCHEMA_VERSION]), {"schema-version-annotation": "fail"}),
        ("an empty list of types", noted(plain, CAPABILITIES, ""), {"capabilities-annotation": "fail"}),
        (
            "a list of types without one",
            noted(mixin("capabilities: [{type: a/b@1}, {type: a/c@1}]\n"), CAPABILITIES, "a/b@1"),
            {"capabilities-annotation": "fail"},
        ),
        ("a builder in prose", noted(plain, BUILT_BY_KEY, "by hand"), {"built-by-annotation": "fail"}),
        ("another title", noted(plain, f"{OCI_PREFIX}title", "Other"), {"oci-annotations": "fail"}),
        ("a revision", noted(plain, f"{OCI_PREFIX}revision", "abc"), {"oci-annotations": "fail"}),
        (
            "a day that is none",
            noted(plain, f"{OCI_PREFIX}created", "2025-02-30T00:00:00Z"),
            {"oci-annotations": "fail"},
        ),
        ("no layer", build_image([], LAUNCH, notes), {"at-least-one-layer": "fail", "staged-sources": "fail"}),
        ("nothing staged", image(plain, Entry("usr/share/x"), stage=False), {"staged-sources": "fail"}),
        ("something else staged", image(plain, staged(mixin("author: a\n")), stage=False), {"staged-sources": "fail"}),
        ("no recipe", image(mixin("dockerfile: Dockerfile\n")), {"staged-recipe": "fail"}),
        (
            "instructions that are missing",
            image(mixin(CONTEXT % f"/{ROOT}/test/A.md")),
            {"agent-context-staged": "fail"},
        ),
        (
            "instructions of another Kit",
            image(mixin(CONTEXT % f"/{ROOT}/other/A.md"), Entry("usr/share/sandbox/A.md")),
            {"agent-context-staged": "fail"},
        ),
        ("a skill without its file", image(mixin(SKILL)), {"agent-skill-content": "fail"}),
        (
            "a skill that is a folder",
            image(mixin(SKILL), folder("opt/skills/tidy/SKILL.md")),
            {"agent-skill-content": "fail"},
        ),
        (
            "a workload that starts nothing",
            image(workload(""), config=replace(LAUNCH, entrypoint=())),
            {"image-config": "fail"},
        ),
        ("the home of root", image(plain, folder("home/agent", uid=0)), {"overlay-home-ownership": "fail"}),
        ("the homes of the agent", image(plain, folder("home", uid=1000)), {"overlay-home-ownership": "fail"}),
        ("a link to nowhere", image(plain, symlink("usr/bin/x", "/opt/gone")), {"overlay-links-resolve": "warn"}),
        ("links in a circle", image(plain, symlink("a", "b"), symlink("b", "a")), {"overlay-links-resolve": "warn"}),
        ("a floor under a mixin", image(mixin(SBX)), {"descriptor-valid": "fail", "sbx-platform-floor": "fail"}),
        ("no user", image(base, *FLOOR, config=replace(LAUNCH, user="")), {"sbx-platform-floor": "fail"}),
        (
            "a user nobody knows",
            image(base, *FLOOR, config=replace(LAUNCH, user="eve")),
            {"sbx-platform-floor": "fail"},
        ),
        ("a shell of root's alone", image(base, *FLOOR, bash), {"sbx-platform-floor": "fail"}),
        ("no shell", image(base, *FLOOR, symlink("bin/bash", "/gone")), {"sbx-platform-floor": "fail"}),
        ("no environment", image(base, *FLOOR, config=replace(LAUNCH, env=())), {"sbx-persistent-env": "warn"}),
        (
            "an environment not shipped",
            image(base, *FLOOR, config=replace(LAUNCH, env=("BASH_ENV=/etc/env", "BASH_ENV=/gone"))),
            {"sbx-persistent-env": "warn"},
        ),
        ("packages of a mixin", image(mixin("provides: [deb/bash@5.2.15]\n"), STATUS), {"derived-provides": "fail"}),
        ("packages without a database", image(workload("provides: [deb/bash@1]\n")), {"derived-provides": "fail"}),
        (
            "packages in another version",
            image(workload("provides: [deb/bash@5.1]\n"), STATUS),
            {"derived-provides": "fail"},
        ),
        (
            "a package nobody installed",
            image(workload("provides: [deb/zsh@5]\n"), STATUS),
            {"derived-provides": "fail"},
        ),
        ("an index that says less", several(plain, notes=None), {"index-annotations": "warn"}),
        (
            "an index that says something else",
            several(plain, notes={**notes, SCHEMA_VERSION: "4"}),
            {"index-annotations": "fail"},
        ),
        ("an index that says more", several(plain, notes={**notes, CAPABILITIES: ""}), {"index-annotations": "fail"}),
    )
    return [Broken(*case) for case in stated]


CASES = cases()


async def verdicts(studio: Studio, made: Image, name: str = "local.invalid/test:1.0.0") -> dict[str, str]:
    LayoutWriter(studio.home.blobs).add(name, made)
    _, outcomes = await studio.catalog.checked(name)
    assert len(outcomes) == 1
    return {check.id: check.verdict.value for check in outcomes[0].checks if check.verdict.value != "pass"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_each_check_finds_what_it_is_there_for_and_no_other_does(studio: Studio, case: Broken) -> None:
    found = await verdicts(studio, case.made)

    assert {name: verdict for name, verdict in found.items() if verdict != "skip"} == case.expected


@pytest.mark.parametrize(
    "made",
    [
        image(mixin()),
        image(mixin(SKILL), Entry("opt/skills/tidy/SKILL.md", data=b"# Tidy\n")),
        image(mixin(), folder("home", uid=0), folder("home/agent", uid=1000), symlink("a", "home/agent")),
        image(mixin(CONTEXT % f"/{ROOT}/test/A.md"), Entry(f"{ROOT}/test/A.md", data=b"# A\n")),
        image(mixin("dockerfile: Dockerfile\n"), Entry(f"{ROOT}/test/kit.dockerfile", data=b"FROM scratch\n")),
        image(workload(), *FLOOR),
        several(mixin(), notes=kit_annotations(mixin(), BUILT_BY)),
    ],
    ids=["mixin", "skill", "home", "instructions", "recipe", "workload", "platforms"],
)
async def test_a_sound_artifact_passes_everything(studio: Studio, made: Image) -> None:
    assert await verdicts(studio, made) == {}


async def test_platforms_that_differ_are_told_apart(studio: Studio) -> None:
    about = mixin()
    rows = [
        (AMD64, image(about)),
        (ARM64, image(about, symlink("x", "/gone"), config=replace(LAUNCH, platform=ARM64))),
    ]
    LayoutWriter(studio.home.blobs).add("local.invalid/test:1.0.0", build_index(rows, kit_annotations(about, BUILT_BY)))

    _, outcomes = await studio.catalog.checked("local.invalid/test:1.0.0")

    assert [outcome.platforms for outcome in outcomes] == [("linux/amd64",), ("linux/arm64",)]


async def test_later_layers_hide_and_reveal(studio: Studio) -> None:
    about = workload()
    lower = build_layer([*FLOOR, staged(about, "old"), staged(about)])
    gone = build_layer([Entry("bin/.wh.bash"), Entry(f"{ROOT}/.wh.old")])
    back = build_layer([Entry("usr/bash", mode=0o755), Entry("bin/bash", EntryKind.HARDLINK, target="usr/bash")])
    notes = kit_annotations(about, BUILT_BY)

    assert await verdicts(studio, build_image([lower, gone], LAUNCH, notes)) == {"sbx-platform-floor": "fail"}
    assert await verdicts(studio, build_image([lower, gone, back], LAUNCH, notes)) == {}


# Merged sets.

ONE = 'provides: ["one@2.0"]\nlicenses: [MIT]\nargs: {size: {enum: [s, m], default: s}}\n'
TWO = 'provides: [two]\nrequires: ["one >= 1"]\n'
SET = 'provides: ["one@2.0", "two@1.0.0"]\nlicenses: [MIT]\nargs: {size: {enum: [s], default: s}}\n'
SIZE = "args: {size: '${{ kit.args.size }}'}"


async def merged(
    studio: Studio, text: str = SET, args: str = SIZE, roots: Sequence[str] = ("one", "two", "set"), extra: str = ""
) -> dict[str, str]:
    """A set of two published Kits; what does not pass."""
    kits = {"one": mixin(ONE), "two": mixin(TWO)}
    writer = LayoutWriter(studio.home.blobs)
    digests = {name: writer.add(f"local.invalid/{name}:1.0.0", image(about)) for name, about in kits.items()}
    listed = "kits:\n" + "".join(
        f"- {{ref: 'local.invalid/{name}:1.0.0', digest: '{digest}'{f', {args}' if args and name == 'one' else ''}}}\n"
        for name, digest in digests.items()
    )
    about = mixin(text + listed + extra)
    made = image(about, *(staged({**kits, "set": about}[root], root) for root in roots), stage=False)
    return await verdicts(studio, made, "local.invalid/set:1.0.0")


async def test_a_sound_set_passes_everything(studio: Studio) -> None:
    assert await merged(studio) == {}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"roots": ("one", "set")}, {"merged-set", "merged-set-declarations"}),
        ({"roots": ("one", "two", "set"), "text": SET.replace("one@2.0", "one@2.1")}, {"merged-set-declarations"}),
        ({"text": SET.replace("licenses: [MIT]\n", "")}, {"merged-set-declarations"}),
        ({"text": SET + 'requires: ["one>=01"]\n'}, {"merged-set-declarations"}),
        ({"args": "args: {colour: red}"}, {"merged-set-declarations"}),
        ({"args": "args: {size: xl}"}, {"merged-set-declarations"}),
        ({"text": SET.replace("enum: [s], ", "")}, {"merged-set-declarations"}),
        ({"text": SET.replace(', "two@1.0.0"', "")}, {"merged-set-declarations"}),
    ],
    ids=["root", "version", "licence", "answered need", "unknown arg", "value", "wider input", "provide"],
)
async def test_what_a_merge_lost_is_found(studio: Studio, changes: dict[str, object], expected: set[str]) -> None:
    found = await merged(studio, **changes)  # type: ignore[arg-type]

    assert {name for name, verdict in found.items() if verdict == "fail"} == expected


async def test_a_listed_kit_that_cannot_be_reached_is_not_passed(studio: Studio) -> None:
    about = mixin(f"kits: [{{ref: 'local.invalid/away:1.0.0', digest: 'sha256:{'0' * 64}'}}]\n")
    made = image(about, staged(about, "set"), staged(mixin("author: a\n"), "away"), stage=False)

    assert await verdicts(studio, made) == {"merged-set-declarations": "skip"}


def test_every_check_is_broken_here_at_least_once() -> None:
    broken = {name for case in CASES for name in case.expected} | {"merged-set", "merged-set-declarations"}

    assert broken == {"descriptor-annotation", *(rule.id for rule in RULES)}
    assert len(CASES) > 25


DEMO = Path(__file__).parent.parent.parent / "build" / "demo"


@pytest.mark.skipif(not (DEMO / "index.json").exists(), reason="the demo catalog is not built")
async def test_every_kit_of_the_demo_conforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITSTUDIO_DEMO", str(DEMO))
    studio = await Studio.open(Options(home=tmp_path / "home"))
    rows = json.loads((DEMO / "index.json").read_text(encoding="utf-8"))["manifests"]
    judged = 0
    for name in (row["annotations"]["org.opencontainers.image.ref.name"] for row in rows):
        artifact, outcomes = await studio.catalog.checked(name)
        if artifact.kind is ArtifactKind.KIT:
            judged += 1
            assert [c for o in outcomes for c in o.checks if c.verdict is Verdict.FAIL] == [], name
    await studio.close()

    assert judged > 20
