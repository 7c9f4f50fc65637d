"""Signatures and other attachments: folded out of the versions, named by their own types, never taken for the Kit."""

from __future__ import annotations

import json

import pytest

from kitstudio.registry.attached import attached_by_tag, attached_in_index, fold_tags, is_signature_tag
from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.manifest import OCI_INDEX, OCI_MANIFEST, parse_manifest
from kitstudio.registry.reference import parse
from kitstudio.registry.registry import RegistrySource
from tests.builders import kit_index
from tests.registry.servers import Answer, Double, Request
from tests.registry.test_client import kit

DIGEST = "sha256:" + "a" * 64


def row(artifact_type: str, **more: object) -> dict[str, object]:
    return {"mediaType": OCI_MANIFEST, "digest": DIGEST, "size": 7, "artifactType": artifact_type, **more}


def test_row_25_three_versions_stay_and_forty_signatures_fold_away() -> None:
    signatures = [f"sha256-{number:064x}.sig" for number in range(40)]
    shown, folded = fold_tags(["1.0", *signatures, "1.1", "2.0"])
    assert shown == ("1.0", "1.1", "2.0")
    assert len(folded) == 40


@pytest.mark.parametrize(
    ("tag", "signature"),
    [
        ("sha256-" + "0" * 64, True), ("sha256-" + "0" * 64 + ".att", True), ("sha256-" + "0" * 64 + ".sbom", True),
        ("sha512-" + "0" * 128, True), ("sha256-abc.sig", False), ("sha256-" + "g" * 64, False), ("1.0.sig", False),
        ("sha256-" + "0" * 64 + ".", False), ("v-sha256-" + "0" * 64, False),
    ],
)  # fmt: skip
def test_what_counts_as_a_signature_tag(tag: str, signature: bool) -> None:
    assert is_signature_tag(tag) is signature


async def test_row_26_attachments_are_named_by_their_own_artifact_type(double: Double, store: BlobStore) -> None:
    rows = [
        row("application/spdx+json"),
        row("application/vnd.dev.cosign.artifact.sig.v1+json"),
        row("application/vnd.acme.report"),
        row(""),
    ]
    body = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": rows}).encode()
    double.answer = lambda request: Answer(200, body) if "/referrers/" in request.path else Answer(404)
    found = await RegistrySource(double.host, store).attached(kit(double), DIGEST)
    assert [a.title for a in found] == [
        "SBOM (SPDX)", "signature (cosign)", "application/vnd.acme.report", "attachment of unstated type"
    ]  # fmt: skip
    assert [r.path for r in double.requests] == [f"/v2/acme/kit/referrers/{DIGEST}"]


async def test_registry_without_referrers_is_asked_for_the_tag_that_stands_in(double: Double, store: BlobStore) -> None:
    body = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [row("application/spdx+json")]})

    def answer(request: Request) -> Answer:
        return Answer(200, body.encode()) if request.path.endswith(f"sha256-{'a' * 64}") else Answer(404)

    double.answer = answer
    source = RegistrySource(double.host, store)
    assert [a.title for a in await source.attached(kit(double), DIGEST)] == ["SBOM (SPDX)"]
    double.answer = lambda request: Answer(404)
    assert await source.attached(kit(double), DIGEST) == ()


def test_tags_and_indexes_tell_of_attachments_without_a_request() -> None:
    stem = "sha256-" + "a" * 64
    found = attached_by_tag([f"{stem}.sig", f"{stem}.att", "1.0", f"sha256-{'b' * 64}.sig"], DIGEST)
    assert [a.title for a in found] == ["attestation (DSSE)", "signature (cosign)"]
    index = kit_index(attested=True)
    manifest = parse_manifest(parse("h.example/a:1"), index.raw, index.media_type)
    assert [a.title for a in attached_in_index(manifest)] == ["attestation (in-toto)"]
