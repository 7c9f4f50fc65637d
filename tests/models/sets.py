"""Small sets for tests: descriptors in YAML, members, a plan."""

from __future__ import annotations

from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, ListedKit
from kitstudio.models.plan import Member, Plan, plan_set

CLAIMED = frozenset(
    f"com.docker.sandbox/{name}"
    for name in ("network-policy@1", "network-policy@2", "lifecycle@1", "resources@1", "sbx@1", "agent-context@1")
)


def kit(text: str, kind: str = "mixin") -> Descriptor:
    """A published descriptor; ``text`` is what stands behind schemaVersion, kind and version."""
    return decode(f'schemaVersion: "3"\nkind: {kind}\nversion: "1.0.0"\n{text}').descriptor


def member(name: str, text: str = "", kind: str = "mixin", **fields: object) -> Member:
    """``name`` is ``NAME`` or ``NAME:TAG``."""
    reference = f"demo.invalid/{name}" if ":" in name else f"demo.invalid/{name}:1.0.0"
    stated = {"digest": f"sha256:{name.encode().hex():0>64}", "descriptor": kit(text, kind), **fields}
    return Member(reference, **stated)  # type: ignore[arg-type]


def base(text: str = "", name: str = "base", **fields: object) -> Member:
    """A workload that provides ``base``."""
    return member(name, f"provides: [base]\n{text}", "workload", **fields)


def set_of(*members: Member, text: str = "") -> Descriptor:
    """The set that lists the members."""
    own = decode(f'schemaVersion: "3"\nkind: set\nkits: []\n{text}').descriptor
    listed = tuple(ListedKit(m.reference, m.digest, m.args) for m in members)
    return Descriptor(
        "3", "set", display_name="Team", capabilities=own.capabilities, args=own.args, kits=listed, kits_stated=True
    )


def plan(*members: Member, text: str = "", **stated: object) -> Plan:
    """The plan of a set of members."""
    return plan_set(set_of(*members, text=text), members, **stated)  # type: ignore[arg-type]


def allow(*hosts: str, deny: tuple[str, ...] = ()) -> str:
    """A network policy for the runtime phase, as YAML of a whole ``capabilities`` list."""
    return (
        "capabilities:\n- type: com.docker.sandbox/network-policy@1\n"
        f"  config: {{runtime: {{allow: {list(hosts)!r}, deny: {list(deny)!r}}}}}\n"
    )
