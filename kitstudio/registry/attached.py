"""What is attached to a Kit: signatures, SBOMs, attestations. Present is all that is said; nothing is verified here.

By the referrers API where a registry has one, else by the tag that stands in for it. Tags of the form ``sha256-…`` hold
such attachments and are no versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kitstudio.registry.manifest import ATTESTATION
from kitstudio.registry.source import IndexEntry, Manifest

_SIGNATURE_TAG = re.compile(
    r"sha(256-[0-9a-f]{64}|384-[0-9a-f]{96}|512-[0-9a-f]{128})(\.[A-Za-z0-9][A-Za-z0-9._-]{0,40})?"
)
_SUFFIXES = {
    "sig": "application/vnd.dev.cosign.artifact.sig.v1+json",
    "att": "application/vnd.dsse.envelope.v1+json",
    "sbom": "application/vnd.dev.cosign.artifact.sbom.v1+json",
}


@dataclass(frozen=True, slots=True)
class Attachment:
    """One thing that refers to a manifest. ``artifact_type`` is its own word for what it is."""

    digest: str
    artifact_type: str
    size: int = 0
    tag: str = ""

    @property
    def title(self) -> str:
        """A few words for a person; the artifact type itself where it is not a common one."""
        known = next((words for part, words in _TITLES if part in self.artifact_type.lower()), "")
        return known or self.artifact_type or "attachment of unstated type"


def is_signature_tag(tag: str) -> bool:
    """Whether a tag holds a signature or attachment of another manifest, by the naming tools agreed on."""
    return _SIGNATURE_TAG.fullmatch(tag) is not None


def fold_tags(tags: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Versions and names, then the tags that only hold attachments."""
    listed = tuple(tags)
    return tuple(t for t in listed if not is_signature_tag(t)), tuple(t for t in listed if is_signature_tag(t))


def referrers_tag(digest: str) -> str:
    """The tag that lists a digest's referrers where a registry has no API for them."""
    return digest.replace(":", "-", 1)


def attached_by_tag(tags: Iterable[str], digest: str) -> tuple[Attachment, ...]:
    """Attachments of ``digest`` that show in a tag list already."""
    stem = referrers_tag(digest)
    named = (tag for tag in tags if tag.startswith(f"{stem}.") and is_signature_tag(tag))
    return tuple(Attachment("", _SUFFIXES.get(tag.removeprefix(f"{stem}."), ""), tag=tag) for tag in sorted(named))


def attached_in_index(manifest: Manifest) -> tuple[Attachment, ...]:
    """The attestation manifests an index carries beside its images."""
    rows = [entry for entry in manifest.entries or () if ATTESTATION in entry.annotations]
    return tuple(Attachment(e.digest, e.artifact_type or "application/vnd.in-toto+json", e.size) for e in rows)


def attached_by_referrers(manifest: Manifest) -> tuple[Attachment, ...]:
    """The rows of a referrers answer, each by its own artifact type."""
    return tuple(Attachment(entry.digest, _stated_type(entry), entry.size) for entry in manifest.entries or ())


def _stated_type(entry: IndexEntry) -> str:
    return entry.artifact_type or entry.annotations.get("artifactType", "") or entry.annotations.get(ATTESTATION, "")


_TITLES = (
    ("cosign.artifact.sig", "signature (cosign)"),
    ("cosign.simplesigning", "signature (cosign)"),
    ("sigstore.bundle", "signature bundle (Sigstore)"),
    ("notary.signature", "signature (Notary)"),
    ("spdx", "SBOM (SPDX)"),
    ("cyclonedx", "SBOM (CycloneDX)"),
    ("sbom", "SBOM"),
    ("in-toto", "attestation (in-toto)"),
    ("dsse", "attestation (DSSE)"),
    ("attestation-manifest", "attestation"),
)
