"""The manifest annotations of a Kit (§9.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kitstudio.models.canonical import encode, encode_value, readable
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.errors import DescriptorError
from kitstudio.models.relations import parse_provide

DESCRIPTOR: Final = "vnd.docker.sandbox.kit.descriptor"
SCHEMA_VERSION: Final = "vnd.docker.sandbox.kit.schema-version"
CAPABILITIES: Final = "vnd.docker.sandbox.kit.capabilities"
BUILT_BY: Final = "vnd.docker.sandbox.kit.built-by"
OCI_PREFIX: Final = "org.opencontainers.image."


@dataclass(frozen=True, slots=True)
class BuiltBy:
    """Which tool published a Kit: a label, never a trust input."""

    name: str
    version: str = "dev"
    revision: str = ""

    def encode(self) -> str:
        """Compact JSON in the order name, version, revision."""
        stated = {"name": self.name, "version": self.version, "revision": self.revision}
        parts = (
            f"{encode_value(key)}:{encode_value(text)}" for key, text in stated.items() if text or key != "revision"
        )
        return "{" + ",".join(parts) + "}"


def capability_types(descriptor: Descriptor) -> str:
    """The index annotation: every requested type once, sorted, joined by commas."""
    return ",".join(sorted({entry.type for entry in descriptor.entries()}))


def oci_annotations(descriptor: Descriptor) -> dict[str, str]:
    """The derived ``org.opencontainers.image.*`` annotations; empty values have no key."""
    stated = {
        "title": descriptor.display_name,
        "description": descriptor.description,
        "authors": descriptor.author,
        "source": descriptor.source_url,
        "licenses": ",".join(descriptor.licenses),
        "version": descriptor.version or _agreed_version(descriptor),
    }
    return {OCI_PREFIX + key: text for key, text in stated.items() if text}


def kit_annotations(descriptor: Descriptor, built_by: BuiltBy | None = None) -> dict[str, str]:
    """All annotations of a published Kit, sorted by key."""
    found = {
        # Characters canonical JSON leaves raw and no YAML reader takes are escaped: the annotation must decode.
        DESCRIPTOR: readable(encode(descriptor)),
        SCHEMA_VERSION: descriptor.schema_version,
        CAPABILITIES: capability_types(descriptor),
        BUILT_BY: built_by.encode() if built_by else "",
        **oci_annotations(descriptor),
    }
    return {key: found[key] for key in sorted(found) if found[key]}


def _agreed_version(descriptor: Descriptor) -> str:
    versions = set()
    for entry in descriptor.provides:
        try:
            provide = parse_provide(entry)
        except DescriptorError:
            # An entry that does not parse is validation's to report; here it has no version to agree on.
            continue
        if provide.version and not provide.derived:
            versions.add(provide.version)
    return versions.pop() if len(versions) == 1 else ""
