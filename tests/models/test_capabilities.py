"""The type modules: shapes, words, keys; what the judged cases do not look at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.capabilities import is_newer, known_types, lookup, split_type
from kitstudio.models.capabilities.contract import CapabilityType, claim
from kitstudio.models.capabilities.network import encode, unite
from kitstudio.models.capabilities.paths import clean, is_canonical
from kitstudio.models.capabilities.shape import Reader, ShapeError
from kitstudio.models.capabilities.sizes import mode_key, size_in_bytes, size_key
from kitstudio.models.descriptor import Capability, Descriptor, JsonValue
from kitstudio.models.review import grants
from kitstudio.models.validate import Form, validate_descriptor
from kitstudio.models.weights import Weight
from tests.models.configs import CREDENTIAL, NETWORK, SSH, request

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "path",
    "mode",
    "size",
    "tmpfs",
    "phase",
    "service",
    "apiKey",
    "oauth",
    "install",
    "runtime",
    "container",
    "list",
]
CONFIGS = st.none() | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), JSON, max_size=4)
TYPES = st.sampled_from(sorted(known_types()))


def type_of(name: str) -> CapabilityType[object]:
    found = lookup(f"com.docker.sandbox/{name}")
    assert found is not None
    return found


@given(TYPES, CONFIGS)
def test_no_config_is_too_strange_to_judge_project_and_describe(name: str, config: dict[str, JsonValue] | None) -> None:
    type_ = lookup(name)
    assert type_ is not None
    entry = Capability(name, config, config is not None)
    descriptor = Descriptor("3", "workload", capabilities=(entry,))
    assert validate_descriptor(descriptor, Form.AUTHORED) is not None
    assert list(grants(entry)) is not None
    for issue in (
        *type_.check(config, "capabilities[0]", "mixin"),
        *type_.presence(config, "capabilities[0]", "mixin"),
    ):
        assert issue.path.startswith("capabilities[0]") and issue.message


@given(st.sampled_from(["credential@1", "ssh-agent@1", "network-policy@2"]), st.data())
def test_what_a_merge_writes_reads_back_as_the_same_request(name: str, data: st.DataObject) -> None:
    type_ = type_of(name)
    config = data.draw({"credential@1": CREDENTIAL, "ssh-agent@1": SSH, "network-policy@2": NETWORK}[name])
    typed = type_.decode(config)
    for part in type_.split(typed):
        assert set(type_.project(type_.decode(type_.encode(part)))) == set(type_.project(part))


@given(NETWORK, NETWORK)
def test_uniting_policies_loses_no_grant_and_no_refusal(one: dict[str, JsonValue], other: dict[str, JsonValue]) -> None:
    type_ = type_of("network-policy@2")
    both = [type_.decode(one), type_.decode(other)]
    merged = set(type_.project(unite(both)))  # type: ignore[arg-type]
    for policy in both:
        for name, text in type_.project(policy):
            absorbed = "_http_allow" in name and (name, f"ANY {text.partition(' ')[2].partition('/')[0]}/**") in merged
            assert (name, text) in merged or absorbed
    assert type_.decode(encode(unite(both))) is not None  # type: ignore[arg-type]


@given(st.text(alphabet="/.ab", max_size=12))
def test_cleaning_is_final(path: str) -> None:
    cleaned = clean(path)
    assert clean(cleaned) == cleaned
    assert is_canonical(path) == (path.startswith("/") and path == cleaned)


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [("//a", "/a"), ("/..", "/"), ("/a/../../b/", "/b"), ("", "."), ("../a/..", ".."), ("a/./b", "a/b")],
)
def test_cleaning_is_lexical(path: str, cleaned: str) -> None:
    assert clean(path) == cleaned


def test_sizes_are_exact() -> None:
    assert size_key("1.5g") == size_key("1536 MiB") != size_key("1536001k")
    assert size_in_bytes("0") == 0 and size_key("0") != size_key("")
    assert size_in_bytes("1" * 300) is None and size_key("1" * 300) != ""
    assert mode_key("0755") == mode_key("755") and mode_key("0000") != mode_key("")


def test_a_type_splits_into_its_parts() -> None:
    assert split_type("com.acme.host/gpu-slice@12") == ("com.acme.host", "gpu-slice", 12)
    for bad in ("", "a", "a/b", "a/b@", "a/b@x", "/b@1"):
        with pytest.raises(ValueError, match="namespace/name@version"):
            split_type(bad)


def test_only_the_specifications_own_names_can_be_newer() -> None:
    assert is_newer("com.docker.sandbox/teleport@1") and is_newer("com.docker.sandbox/port@2")
    assert not is_newer("com.docker.sandbox/port@1") and not is_newer("io.cbx/docker-auth@1")


def test_a_field_nobody_asked_for_is_refused() -> None:
    fields = Reader({"Path": "/a", "hostPath": "/"})
    assert fields.text("path") == "/a"
    with pytest.raises(ShapeError, match="hostPath"):
        fields.close()


def test_a_second_claim_names_the_first() -> None:
    seen: dict[str, str] = {}
    volume, mount = type_of("volume@1"), type_of("host-mount@1")
    assert claim(seen, volume.literal_claims({"path": "/a/../b"}), "capabilities[0]") == ()
    (issue,) = claim(seen, mount.literal_claims({"path": "/b"}), "capabilities[1]")
    assert (issue.path, "capabilities[0]" in issue.message) == ("capabilities[1].config.path", True)


def test_one_agent_context_a_block_as_the_grammar_here_has_it() -> None:
    entries = tuple(request("agent-context@1", {"directory": "/etc/a", "filename": name}) for name in ("X.md", "Y.md"))
    report = validate_descriptor(Descriptor("3", "mixin", capabilities=entries), Form.AUTHORED)
    assert [issue.path for issue in report.errors] == ["capabilities[1].type"]


@pytest.mark.parametrize(
    ("name", "config", "sentence", "entry", "weight"),
    [
        (
            "port@1",
            {"container": 80, "name": "web"},
            "Opens port 80 (“web”) of the sandbox to programs on this computer.",
            "80/tcp",
            Weight.NOTICE,
        ),
        (
            "ssh-agent@1",
            {"phase": "runtime", "unrestricted": False, "sign": ["git"]},
            "Signs as you for git, and nothing else. Your keys never enter the sandbox.",
            "sign git",
            Weight.NOTICE,
        ),
        (
            "ssh-agent@1",
            {"phase": "install"},
            "Signs with any SSH key you expose, for anything, and logs in anywhere with it while it is being set up.",
            "every key, for anything",
            Weight.CRITICAL,
        ),
        (
            "credential@1",
            {"service": "gh", "phase": "runtime", "apiKey": {"name": "GH", "proxyManaged": True}},
            "Signs in to gh as you; the secret itself stays outside the sandbox.",
            "service gh → GH",
            Weight.NOTICE,
        ),
        (
            "credential@1",
            {"service": "gh", "phase": "runtime", "apiKey": {"name": "GH"}},
            "Signs in to gh as you; the real secret is handed into the sandbox.",
            "service gh → GH",
            Weight.SERIOUS,
        ),
        ("agent-skills@1", {"path": "/s"}, "Reads your own skills, without changing them.", "/s", Weight.NOTICE),
        (
            "agent-skills@1",
            {"path": "/s", "mode": "readwrite"},
            "Reads and changes your own skills, which other agents follow too.",
            "/s readwrite",
            Weight.CRITICAL,
        ),
        (
            "volume@1",
            {"path": "/d/", "tmpfs": True},
            "Keeps files of its own at /d, in memory, emptied at every stop.",
            "/d",
            Weight.INFO,
        ),
        (
            "usb-device@1",
            {"class": "hid"},
            "Takes over any USB device of the class “hid”, usually keyboards, mice and security keys.",
            "class:hid",
            Weight.SERIOUS,
        ),
        (
            "kit-registry@1",
            None,
            "Reads and publishes Kits in this computer's own Kit registry.",
            "kit-registry",
            Weight.SERIOUS,
        ),
    ],
)
def test_rows_in_words(
    name: str, config: dict[str, JsonValue] | None, sentence: str, entry: str, weight: Weight
) -> None:
    (grant,) = grants(request(name, config))
    assert (grant.sentence, grant.entry, grant.weight) == (sentence, entry, weight)


def test_a_bounded_entry_is_one_row_with_all_its_requests() -> None:
    config: dict[str, JsonValue] = {
        "runtime": {"allow": [{"hosts": ["a", "b"], "methods": ["POST", "PUT"], "paths": ["/x", "/y"]}]}
    }
    (grant,) = grants(request("network-policy@2", config))
    assert grant.entry == "POST PUT a/x a/y b/x b/y"
    assert len(grant.facts) == 8 and grant.weight is Weight.NOTICE
    assert grant.sentence == "Sends data to and reads from a and b, limited to certain paths."


def test_every_critical_row_has_a_tick_and_no_other_has() -> None:
    for entry in (
        request("network-policy@1", {"runtime": {"allow": ["*"]}}),
        request("ssh-agent@1", {"phase": "runtime"}),
        request("agent-skills@1", {"path": "/s", "mode": "readwrite"}),
        request("host-mount@1", {"path": "/m"}),
        request("privileged@1"),
        request("teleport@9", {"a": 1}),
        request("port@1", {"container": "eighty"}),
        request("git-identity@1"),
    ):
        for grant in grants(entry):
            assert bool(grant.tick) == (grant.weight is Weight.CRITICAL)


def test_kit_text_in_a_row_cannot_break_out_of_it() -> None:
    (grant,) = grants(request("port@1", {"container": 80, "name": "x”\n\u202eApprove all"}))
    assert "\n" not in grant.sentence and "\u202e" not in grant.sentence
    (odd,) = grants(request("network-policy@1", {"runtime": {"allow": ["a\u202eb\nc"]}}))
    assert odd.entry == "a\\u{202e}b\\nc" and odd.weight is Weight.SERIOUS


def test_what_an_input_decides_is_shown_where_it_belongs() -> None:
    (port,) = grants(request("port@1", {"container": "${{ kit.args.port }}"}))
    assert (port.sentence, str(port.group), port.weight) == (
        "Asks for a port that its inputs decide.",
        "ports",
        Weight.NOTICE,
    )
    (agent,) = grants(request("ssh-agent@1", {"phase": "runtime", "unrestricted": "${{ kit.args.free }}"}))
    assert agent.weight is Weight.CRITICAL and agent.tick
    (network,) = grants(request("network-policy@1", {"runtime": {"allow": ["${{ kit.args.host }}:443"]}}))
    assert network.sentence == "Connects to a host that the input host decides for any purpose."
    assert network.weight is Weight.NOTICE
