"""The artifact checks: one small case each, and what was not at hand is never passed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kitstudio.models.accounts import Account, resolve_user
from kitstudio.models.annotations import BuiltBy, kit_annotations
from kitstudio.models.artifact import check_artifact, conforms
from kitstudio.models.artifact_manifest import is_timestamp
from kitstudio.models.artifact_tree import Node, NodeType, Tree
from kitstudio.models.artifact_view import LaunchConfig, Verdict, View
from kitstudio.models.canonical import encode
from kitstudio.models.descriptor import Descriptor
from tests.models.sets import kit

FILE, FOLDER = Node(NodeType.FILE, 0o644), Node(NodeType.FOLDER)
ROOT = "/usr/share/sandbox/kit/acme"
PASSWD = b"root:x:0:0::/root:/bin/bash\nagent:x:1000:1000::/home/agent:/bin/bash\n"
FLOOR = {"/bin/sh": Node(NodeType.FILE, 0o755), "/bin/bash": Node(NodeType.FILE, 0o755), "/etc/passwd": FILE}
LAUNCH = LaunchConfig(("/bin/bash",), (), "agent", ("BASH_ENV=/etc/env",))


def tree(nodes: dict[str, Node], texts: dict[str, bytes] | None = None, stage: Descriptor | None = None) -> Tree:
    texts = dict(texts or {})
    nodes = dict(nodes)
    if stage is not None:
        nodes[f"{ROOT}/kit.yaml"] = FILE
        texts[f"{ROOT}/kit.yaml"] = encode(stage).encode()
    for path in list(nodes):
        while path.count("/") > 1:
            path = path.rpartition("/")[0]
            nodes.setdefault(path, FOLDER)
    return Tree(nodes, texts)


def view(about: Descriptor, layers: Tree | None = None, **fields: object) -> View:
    stated = {
        "annotations": kit_annotations(about, BuiltBy("tests", "1")),
        "config": LAUNCH,
        "layers": 1,
        "tree": layers,
    }
    return View(**{**stated, **fields})  # type: ignore[arg-type]


def verdicts(given: View) -> dict[str, Verdict]:
    return {check.id: check.verdict for check in check_artifact(given)}


def failed(given: View) -> set[str]:
    return {name for name, verdict in verdicts(given).items() if verdict is Verdict.FAIL}


WORKLOAD = kit("provides: [base, deb/bash@5.2]\ncapabilities: [{type: com.docker.sandbox/sbx@1}]\n", "workload")
STATUS = b"Package: bash\nStatus: install ok installed\nVersion: 5.2-1\n"


def sound() -> View:
    nodes = {**FLOOR, "/etc/env": FILE, "/var/lib/dpkg/status": FILE}
    return view(WORKLOAD, tree(nodes, {"/etc/passwd": PASSWD, "/var/lib/dpkg/status": STATUS}, WORKLOAD))


def test_a_sound_workload_passes_everything() -> None:
    assert set(verdicts(sound()).values()) == {Verdict.PASS}
    assert conforms(check_artifact(sound()))


def test_without_layers_nothing_about_them_is_passed() -> None:
    found = verdicts(replace(sound(), tree=None))
    skipped = {name for name, verdict in found.items() if verdict is Verdict.SKIP}
    assert skipped == {
        "staged-sources",
        "staged-recipe",
        "agent-context-staged",
        "sbx-platform-floor",
        "sbx-persistent-env",
        "derived-provides",
    }


def test_without_a_descriptor_there_is_one_finding() -> None:
    assert list(verdicts(View({}, LAUNCH, 1))) == ["descriptor-annotation"]


def test_an_empty_capabilities_annotation_fails() -> None:
    plain = kit("")
    assert failed(view(plain, annotations={**kit_annotations(plain), "vnd.docker.sandbox.kit.capabilities": ""})) == {
        "capabilities-annotation"
    }


def test_derived_annotations_must_agree() -> None:
    about = kit("displayName: A\n")
    wrong = {**kit_annotations(about), "org.opencontainers.image.title": "B", "org.opencontainers.image.revision": "x"}
    (check,) = [c for c in check_artifact(view(about, annotations=wrong)) if c.id == "oci-annotations"]
    assert len(check.findings) == 2


def test_a_staged_descriptor_that_differs_fails() -> None:
    about = kit("displayName: A\n")
    assert failed(view(about, tree({}, stage=kit("")))) == {"staged-sources"}


def test_several_roots_without_a_match_leave_no_own_one() -> None:
    about = kit("displayName: A\n")
    other = "/usr/share/sandbox/kit/other/kit.yaml"
    found = verdicts(view(about, tree({other: FILE}, {other: encode(kit("")).encode()}, stage=kit(""))))
    assert found["staged-sources"] is Verdict.FAIL
    assert found["staged-recipe"] is found["agent-context-staged"] is Verdict.SKIP


@pytest.mark.parametrize(
    ("path", "fine"),
    [
        (f"{ROOT}/docs/kit.yaml", True),
        (f"{ROOT}/kit.yaml", False),
        ("/usr/share/sandbox/kit/other/a.md", False),
        (f"{ROOT}/gone.md", False),
        (f"{ROOT}/./a.md", False),
    ],
)
def test_context_files_lie_in_the_own_root(path: str, fine: bool) -> None:
    about = kit(f"capabilities: [{{type: com.docker.sandbox/agent-context@1, config: {{contentFile: {path}}}}}]\n")
    layers = tree({f"{ROOT}/docs/kit.yaml": FILE, f"{ROOT}/a.md": FILE}, stage=about)
    assert ("agent-context-staged" in failed(view(about, layers))) is not fine


def test_an_empty_entrypoint_fails() -> None:
    assert "image-config" in failed(replace(sound(), config=replace(LAUNCH, entrypoint=("",))))


def test_a_mixin_must_not_take_the_home() -> None:
    about = kit("")
    layers = tree({"/home": Node(NodeType.FOLDER, uid=1000), "/home/agent": Node(NodeType.FOLDER, uid=0)}, stage=about)
    assert failed(view(about, layers)) == {"overlay-home-ownership"}


def test_a_dangling_link_is_a_warning() -> None:
    about = kit("")
    layers = tree({"/usr/local/bin/x": Node(NodeType.LINK, target="/opt/gone/x")}, stage=about)
    checks = check_artifact(view(about, layers))
    assert {c.id: c.verdict for c in checks}["overlay-links-resolve"] is Verdict.WARN and conforms(checks)


def test_a_shell_the_user_cannot_run_fails() -> None:
    given = sound()
    assert given.tree is not None
    nodes = {**given.tree.nodes, "/bin/bash": Node(NodeType.FILE, 0o700)}
    assert failed(replace(given, tree=replace(given.tree, nodes=nodes))) == {"sbx-platform-floor"}


def test_shells_may_be_links() -> None:
    given = sound()
    assert given.tree is not None
    nodes = {
        **given.tree.nodes,
        "/bin": Node(NodeType.LINK, target="usr/bin"),
        "/usr/bin": FOLDER,
        "/usr/bin/bash": Node(NodeType.FILE, 0o755),
        "/usr/bin/sh": Node(NodeType.LINK, target="bash"),
    }
    assert failed(replace(given, tree=replace(given.tree, nodes=nodes))) == set()


def test_links_in_a_circle_lead_nowhere() -> None:
    layers = tree({"/a": Node(NodeType.LINK, target="b"), "/b": Node(NodeType.LINK, target="/a")})
    assert layers.node("/a") is None


def test_packages_are_what_the_layers_record() -> None:
    about = kit("provides: [deb/bash@5.3, deb/zsh@1]\n", "workload")
    layers = tree({"/var/lib/dpkg/status": FILE}, {"/var/lib/dpkg/status": STATUS}, about)
    (check,) = [c for c in check_artifact(view(about, layers)) if c.id == "derived-provides"]
    assert check.verdict is Verdict.FAIL and len(check.findings) == 2
    assert "derived-provides" in failed(view(kit("provides: [deb/zlib1g@1.3]\n")))


def test_a_merged_set_carries_every_root() -> None:
    digest = "sha256:" + "0" * 64
    about = kit(f"kits: [{{ref: a.example/x:1, digest: '{digest}'}}, {{ref: a.example/y:1, digest: '{digest}'}}]\n")
    assert "merged-set" in failed(view(about, tree({}, stage=about)))


def test_the_index_is_compared_with_the_manifest() -> None:
    about = kit("")
    bare = check_artifact(view(about, tree({}, stage=about), index={}))
    assert [f.verdict for c in bare if c.id == "index-annotations" for f in c.findings] == [Verdict.WARN] * 3
    other = {**kit_annotations(about), "vnd.docker.sandbox.kit.schema-version": "4"}
    assert "index-annotations" in failed(view(about, tree({}, stage=about), index=other))


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("2026-11-30T10:00:00Z", True),
        ("2026-11-30t10:00:60.5+02:00", True),
        ("2026-02-30T10:00:00Z", False),
        ("2026-11-30T24:00:00Z", False),
        ("2026-11-30 10:00:00Z", False),
        ("2026-11-30T10:00:00", False),
        ("2026-11-30T10:00:00+24:00", False),
    ],
)
def test_timestamps(text: str, fine: bool) -> None:
    assert is_timestamp(text) is fine


@pytest.mark.parametrize(
    ("user", "found"),
    [
        ("agent", Account(1000, 1000, "agent", "/home/agent")),
        ("001000", Account(1000, 1000, "agent", "/home/agent")),
        ("agent:", Account(1000, 1000, "agent", "/home/agent")),
        ("agent:50", Account(1000, 50, "agent", "/home/agent")),
        ("agent:staff", Account(1000, 20, "agent", "/home/agent")),
        ("agent:nobody", None),
        ("7", None),
        (" agent", None),
    ],
)
def test_users_resolve_as_the_floor_says(user: str, found: Account | None) -> None:
    passwd = "# comment\n7:x:8:8::/srv:/bin/sh\n" + PASSWD.decode()
    assert resolve_user(user, passwd, "staff:x:20:\nbad\n") == found
