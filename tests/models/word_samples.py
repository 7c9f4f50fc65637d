"""One request of every kind a reviewer can meet, so that the words about them can be read as one text.

python -m tests.models.word_samples > docs/words.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kitstudio.models.capabilities import known_types
from kitstudio.models.changes import Side, judge
from kitstudio.models.descriptor import Capability, JsonValue
from kitstudio.models.notes import notes
from kitstudio.models.recall import permission_of
from kitstudio.models.review import Permission, entry_permissions
from kitstudio.models.surface import CATEGORIES, DENIES, SURFACE_FIELDS, Surface
from kitstudio.models.words import WEIGHT_WORDS

Config = dict[str, JsonValue]

_READS: Config = {"hosts": ["a.example"], "methods": ["GET"], "paths": ["/v1/**"]}
_SENDS: Config = {"hosts": ["a.example"], "methods": ["POST"]}
_KEY: Config = {"name": "TOKEN", "proxyManaged": True, "inject": [{"domain": "a.example", "header": "Authorization"}]}
_HOOKS: Config = {
    "install": [{"command": "apt-get install tidy"}],
    "startup": [{"command": "tidy --watch", "user": "agent"}],
    "files": [{"path": "/etc/tidy.conf", "content": "a", "mode": "0600"}],
    "interactive": ["--color"],
}
REQUESTS: tuple[tuple[str, Config | None], ...] = (
    ("network-policy@1", {"install": {"allow": ["a.example"], "deny": ["b.example"]}}),
    ("network-policy@1", {"runtime": {"allow": ["a.example", "a.example:8443"], "deny": ["b.example"]}}),
    ("network-policy@1", {"runtime": {"allow": ["*.a.example", "**.a.example", "*", "localhost", "10.0.0.1"]}}),
    ("network-policy@1", {"runtime": {"allow": ["xn--80ak6aa92e.com", "${{ kit.args.host }}"]}}),
    ("network-policy@2", {"install": {"allow": [_READS], "deny": [_SENDS]}}),
    ("network-policy@2", {"runtime": {"allow": [_READS, _SENDS], "deny": [_SENDS]}}),
    ("credential@1", {"service": "forge", "phase": ["install", "runtime"], "apiKey": _KEY}),
    ("credential@1", {"service": "forge", "phase": "runtime", "apiKey": {"name": "TOKEN"}}),
    ("credential@1", {"service": "forge", "phase": "runtime", "oauth": {"passthrough": True}}),
    ("ssh-agent@1", {"phase": "runtime"}),
    ("ssh-agent@1", {"phase": "install", "unrestricted": False, "sign": ["git"], "authenticate": ["git@a.example"]}),
    ("volume@1", {"path": "/data", "size": "2g"}),
    ("volume@1", {"path": "/cache", "tmpfs": True}),
    ("host-mount@1", {"path": "/work"}),
    ("agent-skills@1", {"path": "/skills"}),
    ("agent-skills@1", {"path": "/skills", "mode": "readwrite"}),
    ("port@1", {"container": 8080}),
    ("port@1", {"container": 53, "transport": "udp", "name": "dns"}),
    ("usb-device@1", {"vendorId": "1a2b", "productId": "0001"}),
    ("usb-device@1", {"class": "hid"}),
    ("usb-device@1", {"class": "thermometer"}),
    ("privileged@1", None),
    ("git-identity@1", None),
    ("kit-registry@1", None),
    ("teleport@1", {"a": 1}),
    ("port@1", {"container": "eighty"}),
    ("port@1", {"container": "${{ kit.args.port }}"}),
    ("lifecycle@1", _HOOKS),
    ("resources@1", {"cpu": 2, "memory": "4g"}),
    ("agent-context@1", {"directory": "/home/agent", "filename": "AGENTS.md", "content": "Be tidy."}),
    ("agent-skill@1", {"path": "/opt/skills/tidy"}),
    ("agent-sessions@1", {"prompt": ["-p", "{{.Prompt}}"]}),
    ("agent-interactive-sessions@1", {"newSession": ["--new"]}),
    ("acp@1", {"agent": "tidy", "command": ["tidy-acp"]}),
    ("long-running@1", None),
    ("sbx@1", None),
)
HOSTILE: tuple[tuple[str, Config | None], ...] = (
    (
        "network-policy@1",
        {"runtime": {"allow": ["a\x1b[31m.example", "b\u202e.example", "c\n.example"], "deny": ["\x07"]}},
    ),
    ("credential@1", {"service": "a\x1b[0m\nb", "phase": "runtime", "apiKey": {"name": "A\x00"}}),
    ("volume@1", {"path": "/a\x1b]0;x\x07\nb", "size": "1\u202eg"}),
    ("host-mount@1", {"path": "/a\x1bb"}),
    ("agent-skills@1", {"path": "/a\x1bb", "mode": "readwrite"}),
    ("port@1", {"container": 80, "name": "a\x1b[2J\nb"}),
    ("usb-device@1", {"class": "a\x1b\nb"}),
    ("ssh-agent@1", {"phase": "runtime", "unrestricted": False, "sign": ["a\x1b"], "authenticate": ["b\n"]}),
    ("lifecycle@1", {"install": [{"command": "a\x1b\nb", "user": "c\x1bd"}], "files": [{"path": "/a\x1b\n"}]}),
    ("agent-skill@1", {"path": "/a\x1b\n", "name": "b\x1b\n"}),
    ("acp@1", {"agent": "a\x1b\n", "command": ["b"]}),
    ("tele\x1bport@1", {"\x1b": "\n"}),
)
ENTRIES = {
    "network": "a.example",
    "http": "POST a.example/v1/**",
    "credentials": "forge",
    "ssh_agent": "runtime",
    "storage": "/data",
    "host_mount": "/work",
    "skills": "/skills",
    "ports": "8080/tcp",
    "usb": "class:hid",
    "services": "com.docker.sandbox/teleport@1+0123456789ab",
    "privileged": "",
}


def request(name: str, config: Config | None) -> Capability:
    return Capability(f"com.docker.sandbox/{name}", config, config is not None)


def rows(requests: tuple[tuple[str, Config | None], ...]) -> Iterator[tuple[str, Permission]]:
    """Every row of some requests, with its type."""
    for name, config in requests:
        for row in entry_permissions(request(name, config), "capabilities[0]", "demo.invalid/kit:1.0.0", None):
            yield name, row


def entry_of(field: str) -> str:
    """A sample entry of a field of the surface."""
    return ENTRIES["http"] if "_http_" in field else next(ENTRIES[k] for k in ENTRIES if field.startswith(k))


def widening_rows() -> Iterator[tuple[str, Permission]]:
    """A widening of every category, told from the surface alone."""
    for field, category in CATEGORIES.items():
        entry = entry_of(field)
        if field in DENIES:
            found = judge("team", Side((), Surface(**{field: (entry,)})), Side((), Surface()))
            yield category, found.findings[0].permission
        else:
            yield category, permission_of((field, entry))


def main() -> None:
    """Print the words as Markdown."""
    print("# What a reviewer reads\n")
    print("Made by `python -m tests.models.word_samples > docs/words.md`; a test keeps it current.\n")
    print("## Each kind of request\n\n| Type | Weight | Entry | Sentence | To accept |\n|---|---|---|---|---|")
    for name, row in rows(REQUESTS):
        cells = (f"`{name}`", WEIGHT_WORDS[row.weight], f"`{row.entry}`", row.sentence, row.tick)
        print("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    print("\n## What is told beside the permissions\n\n| Type | Weight | Sentence |\n|---|---|---|")
    for name, config in REQUESTS:
        for note in notes([("capabilities[0]", request(name, config))]):
            print(f"| `{name}` | {WEIGHT_WORDS[note.weight]} | {note.sentence} |")
    print("\n## Each category of widening, when nothing but the surface is known")
    print("\n| Category | Weight | Entry | Sentence |\n|---|---|---|---|")
    for category, row in widening_rows():
        print(f"| `{category}` | {WEIGHT_WORDS[row.weight]} | `{row.detail}` | {row.sentence} |")


ALL_TYPES = known_types()
ALL_FIELDS = frozenset(SURFACE_FIELDS)

if __name__ == "__main__":
    main()
