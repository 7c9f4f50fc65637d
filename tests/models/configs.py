"""Hypothesis strategies for capability configs, valid and nearly so."""

from __future__ import annotations

from hypothesis import strategies as st

from kitstudio.models.descriptor import Capability, JsonValue

HOSTS = st.sampled_from(
    [
        "a.example",
        "a.example:443",
        "b.example",
        "*.c.example",
        "*",
        "**",
        "b.example:22",
        "localhost",
        "xn--80ak6aa92e.com",
    ]
)
LITERAL_HOSTS = st.sampled_from(["a.example", "b.example", "b.example:8443"])
PATHS = st.sampled_from(["/", "/v1", "/v1/**", "/**", "/v1/x", "/v2/**"])
METHODS = st.sampled_from([["ANY"], ["GET"], ["GET", "POST"], ["PUT"]])

BOUNDED = st.fixed_dictionaries(
    {"hosts": st.lists(LITERAL_HOSTS, min_size=1, max_size=2, unique=True), "methods": METHODS},
    optional={"paths": st.lists(PATHS, min_size=1, max_size=2, unique=True)},
)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "allow": st.lists(st.one_of(HOSTS, BOUNDED), max_size=4),
        "deny": st.lists(st.one_of(HOSTS, BOUNDED), max_size=3),
    },
)
NETWORK = st.fixed_dictionaries({}, optional={"install": RULES, "runtime": RULES})
PHASE = st.sampled_from(["install", "runtime", ["install", "runtime"]])
SSH = st.one_of(
    st.fixed_dictionaries({"phase": PHASE}),
    st.fixed_dictionaries(
        {
            "phase": PHASE,
            "unrestricted": st.just(False),
            "sign": st.lists(st.sampled_from(["git", "file"]), min_size=1, unique=True),
            "authenticate": st.lists(
                st.sampled_from(["ci.example", "u@ci.example", "u@x.example"]), min_size=1, unique=True
            ),
        }
    ),
)
CREDENTIAL = st.fixed_dictionaries(
    {"service": st.sampled_from(["gh", "acme"]), "phase": PHASE},
    optional={
        "apiKey": st.fixed_dictionaries({"name": st.just("KEY"), "proxyManaged": st.booleans()}),
        "oauth": st.fixed_dictionaries({"passthrough": st.booleans()}),
    },
)
OTHERS = st.one_of(
    st.fixed_dictionaries({"path": st.sampled_from(["/a", "/a/../b", "/c"])}).map(lambda c: ("volume@1", c)),
    st.fixed_dictionaries({"path": st.sampled_from(["/m", "/n"])}).map(lambda c: ("host-mount@1", c)),
    st.fixed_dictionaries({"container": st.integers(1, 3)}).map(lambda c: ("port@1", c)),
    st.fixed_dictionaries({"class": st.sampled_from(["hid", "audio"])}).map(lambda c: ("usb-device@1", c)),
    st.fixed_dictionaries(
        {"path": st.sampled_from(["/s", "/t"]), "mode": st.sampled_from(["readonly", "readwrite"])}
    ).map(lambda c: ("agent-skills@1", c)),
    st.sampled_from(["privileged@1", "git-identity@1", "kit-registry@1", "sbx@1", "long-running@1"]).map(
        lambda n: (n, None)
    ),
    st.fixed_dictionaries({"a": st.integers(0, 2)}).map(lambda c: ("newer@7", c)),
    st.just(("port@1", {"container": "eighty"})),
    st.fixed_dictionaries({"install": st.just([{"command": "true"}])}).map(lambda c: ("lifecycle@1", c)),
)
TYPED = st.one_of(
    NETWORK.map(lambda c: ("network-policy@2", c)),
    CREDENTIAL.map(lambda c: ("credential@1", c)),
    SSH.map(lambda c: ("ssh-agent@1", c)),
    OTHERS,
)


def request(name: str, config: JsonValue = None, **fields: object) -> Capability:
    """A request of the specification's own namespace."""
    assert config is None or isinstance(config, dict)
    return Capability(f"com.docker.sandbox/{name}", config, config is not None, **fields)  # type: ignore[arg-type]


REQUESTS = st.lists(TYPED.map(lambda typed: request(*typed)), max_size=5)
