"""What people reported about descriptors, as tests. The number is the report's row in our list."""

from __future__ import annotations

import pytest

from kitstudio.models.canonical import encode
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.document import DecodeError
from kitstudio.models.schema import capability_schema, schemas
from kitstudio.models.surface import project
from tests.models.sets import allow, base, member, plan

DOCUMENTED = {
    "acp@1": "agent command env protocolVersion",
    "agent-context@1": "filename directory contentFile content",
    "agent-interactive-sessions@1": "prompt resume continue list newSession sessionPicker",
    "agent-sessions@1": "prompt resume continue list",
    "agent-skill@1": "name path",
    "agent-skills@1": "path mode",
    "credential@1": "service phase apiKey apiKey.name apiKey.proxyManaged apiKey.inject apiKey.inject.domain"
    " apiKey.inject.header apiKey.inject.format apiKey.inject.scheme apiKey.inject.username oauth oauth.tokenEndpoint"
    " oauth.tokenEndpoint.host oauth.tokenEndpoint.path oauth.resourceHosts oauth.sentinels"
    " oauth.sentinels.accessToken oauth.sentinels.refreshToken oauth.credentialFile oauth.credentialFile.path"
    " oauth.credentialFile.format oauth.credentialFile.structure oauth.responseFields"
    " oauth.responseFields.accessToken oauth.responseFields.refreshToken oauth.responseFields.expiresIn"
    " oauth.passthrough",
    "git-identity@1": "",
    "host-mount@1": "path mode",
    "kit-registry@1": "",
    "lifecycle@1": "install install.command install.user install.env install.description startup startup.command"
    " startup.user startup.env startup.description startup.background files files.path files.content files.mode"
    " files.overwrite files.description interactive",
    "long-running@1": "",
    "network-policy@1": "install install.allow install.deny runtime runtime.allow runtime.deny",
    "network-policy@2": "install install.allow install.allow.hosts install.allow.methods install.allow.paths"
    " install.deny install.deny.hosts install.deny.methods install.deny.paths runtime runtime.allow"
    " runtime.allow.hosts runtime.allow.methods runtime.allow.paths runtime.deny runtime.deny.hosts"
    " runtime.deny.methods runtime.deny.paths",
    "port@1": "container transport name",
    "privileged@1": "",
    "resources@1": "cpu memory gpu",
    "sbx@1": "",
    "ssh-agent@1": "phase unrestricted sign authenticate",
    "usb-device@1": "vendorId productId class",
    "volume@1": "path size tmpfs mode",
}
"""Every field of the specification's pages, by type."""


def fields(schema: JsonValue, above: str = "") -> set[str]:
    found: set[str] = set()
    if isinstance(schema, dict):
        properties = schema.get("properties")
        for name, below in properties.items() if isinstance(properties, dict) else ():
            found |= {f"{above}{name}", *fields(below, f"{above}{name}.")}
        for inside in (schema.get("items"), *(schema.get("anyOf") or ())):  # type: ignore[union-attr, misc]
            found |= fields(inside, above)
    return found


@pytest.mark.parametrize("name", DOCUMENTED)
def test_row_43_every_documented_field_is_known_and_no_other(name: str) -> None:
    assert fields(capability_schema(name)) == set(DOCUMENTED[name].split())


def test_row_43_every_type_is_documented() -> None:
    assert {name.removesuffix(".schema.json") for name in schemas()} == {"descriptor", *DOCUMENTED}


@pytest.mark.parametrize(
    "text", ['schemaVersion: "2"\nkind: sandbox\ncommands: {a: b}\nnetwork: {}\n', "schemaVersion: 1"]
)
def test_row_44_an_older_descriptor_is_told_as_one_and_not_by_its_fields(text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(text)

    assert "cannot be mixed" in caught.value.what and "v3" in caught.value.what
    assert "commands" not in str(caught.value) and caught.value.remedy


def test_row_46_what_is_effective_can_be_written_out_and_grants_the_same() -> None:
    made = plan(base(allow("a.example", "*.b.example")), member("two", allow("c.example:443", deny=("d.example",))))

    assert made.effective is not None
    assert project(decode(encode(made.effective)).descriptor) == made.surface
