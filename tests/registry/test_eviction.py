"""The blob store within a size: oldest first, and never what somebody needs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kitstudio.registry.blob_store import BlobStore, digest_of
from kitstudio.registry.eviction import IN_USE, trim, usage
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.writer import LayoutWriter
from tests.builders import kit_index


def aged(store: BlobStore, digest: str, seconds: float) -> None:
    when = time.time() - seconds
    os.utime(store.path(digest), (when, when))


def age_all(root: Path, seconds: float = 5000) -> None:
    for path in root.glob("blobs/sha256/*"):
        when = time.time() - seconds
        os.utime(path, (when, when))


def test_what_was_not_used_for_longest_goes_first(store: BlobStore) -> None:
    digests = [store.put(bytes([number]) * 1000) for number in range(5)]
    for position, digest in enumerate(digests):
        aged(store, digest, 9000 - position * 1000)
    assert store.find(digests[0]) is not None, "used again just now"
    result = trim(store, 2500, ())
    assert (result.removed, result.freed, result.left, result.over) == (3, 3000, 2000, 0)
    assert [store.path(digest).exists() for digest in digests] == [True, False, False, False, True]


def test_pinned_kits_keep_their_manifests_configs_and_layers(tmp_path: Path) -> None:
    image = kit_index(attested=True)
    writer = LayoutWriter(tmp_path / "store")
    writer.add("h.example/a:1", image)
    store = writer.store
    (store.root / "index.json").unlink()
    loose = store.put(b"loose" * 100)
    age_all(store.root)
    result = trim(store, 0, [image.digest])
    assert (result.removed, result.freed) == (1, 500)
    assert result.over == result.left > 0
    assert not store.path(loose).exists()
    assert all(store.path(digest_of(blob)).exists() for blob in (image.raw, *image.blobs))
    numbers = usage(store, [image.digest])
    assert numbers.total == numbers.needed == result.left
    assert trim(store, 0, ()).left == 0


def test_imported_kits_stay_without_a_pin(tmp_path: Path) -> None:
    writer = LayoutWriter(tmp_path / "store")
    writer.add("local.invalid/mine:1", kit_index())
    age_all(writer.store.root)
    assert trim(writer.store, 0, ()).removed == 0


def test_blob_in_use_is_left_alone(store: BlobStore) -> None:
    digest = store.put(b"fresh")
    assert trim(store, 0, ()).removed == 0
    assert trim(store, 0, (), now=lambda: time.time() + IN_USE + 1).removed == 1
    assert not store.path(digest).exists()


def test_nothing_goes_where_it_cannot_be_told_what_is_needed(store: BlobStore) -> None:
    digest = store.put(b"x")
    (store.root / "index.json").write_text("{")
    age_all(store.root)
    with pytest.raises(RegistryError, match="nothing is removed"):
        trim(store, 0, ())
    assert store.path(digest).exists()


def test_empty_and_missing_stores_are_small(store: BlobStore) -> None:
    assert trim(store, 0, ()).left == 0
    assert usage(store).total == 0
    assert not store.root.exists()


def test_use_is_noted_without_a_second_look_at_the_content(store: BlobStore) -> None:
    digest = store.put(b"content")
    aged(store, digest, 5000)
    store.find(digest)
    before = store.path(digest).stat().st_mtime_ns
    store.find(digest)
    status = store.path(digest).stat()
    assert status.st_mtime_ns == before
    assert status.st_atime > time.time() - 60
