from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from multiprocessing import get_context
from pathlib import Path

import pytest

from kitstudio.registry.reference import RegistryError
from kitstudio.registry.source import ImageConfig
from kitstudio.registry.writer import Entry, EntryKind, LayoutWriter, build_image, build_layer, folder, symlink
from tests.builders import kit_image, kit_index, layer


def test_layer_holds_its_entries_in_path_order_with_fixed_owners_and_times() -> None:
    built = build_layer(
        [
            Entry("z/file", mode=0o755, uid=1000, gid=1000, data=b"z"),
            symlink("a/link", "../z/file"),
            Entry("a/hard", EntryKind.HARDLINK, target="z/file"),
            folder("z", 0o700, 1000),
        ],
        epoch=5,
    )
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(built.data))) as archive:
        rows = [(m.name, m.mode, m.uid, m.mtime, m.linkname) for m in archive]
    assert rows == [
        ("a/link", 0o777, 0, 5, "../z/file"),
        ("z", 0o700, 1000, 5, ""),
        ("z/file", 0o755, 1000, 5, ""),
        ("a/hard", 0o644, 0, 5, "z/file"),
    ]


def test_both_digests_of_a_layer_are_true() -> None:
    built = layer()
    assert built.layer.digest == f"sha256:{hashlib.sha256(built.data).hexdigest()}"
    assert built.diff_id == f"sha256:{hashlib.sha256(gzip.decompress(built.data)).hexdigest()}"


def test_same_inputs_give_same_digests_whatever_their_order() -> None:
    entries = [Entry("b", data=b"2"), Entry("a", data=b"1"), folder("c")]
    assert build_layer(entries).data == build_layer(reversed(entries)).data
    assert kit_index(attested=True).digest == kit_index(attested=True).digest


def test_later_entry_replaces_an_earlier_one() -> None:
    assert build_layer([Entry("a", data=b"1"), Entry("a", data=b"2")]).data == build_layer([Entry("a", data=b"2")]).data


def test_config_omits_what_is_empty() -> None:
    config = json.loads(build_image([layer()], ImageConfig(user="agent")).blobs[0])
    assert config["config"] == {"User": "agent"}
    assert config["rootfs"]["diff_ids"] == [layer().diff_id]


def test_name_is_moved_to_a_new_image_and_others_stay(tmp_path: Path) -> None:
    writer = LayoutWriter(tmp_path)
    writer.add("1.0", kit_image())
    writer.add("hub.example/a:1", kit_image())
    newest = writer.add("1.0", kit_index())
    rows = json.loads((tmp_path / "index.json").read_bytes())["manifests"]
    names = {row["annotations"]["org.opencontainers.image.ref.name"]: row["digest"] for row in rows}
    assert names == {"1.0": newest, "hub.example/a:1": kit_image().digest}


def test_processes_naming_images_at_once_lose_none(tmp_path: Path) -> None:
    context = get_context("fork")
    children = [context.Process(target=_name_many, args=(tmp_path, number)) for number in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
    assert len(json.loads((tmp_path / "index.json").read_bytes())["manifests"]) == 40


def _name_many(root: Path, number: int) -> None:
    for count in range(10):
        LayoutWriter(root).add(f"t{number}-{count}", kit_image())


def test_foreign_index_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"manifests": 3}')
    with pytest.raises(RegistryError, match="not an index"):
        LayoutWriter(tmp_path).add("1.0", kit_image())
    assert (tmp_path / "index.json").read_text() == '{"manifests": 3}'
