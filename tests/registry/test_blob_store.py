from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from kitstudio.registry import blob_store
from kitstudio.registry.blob_store import BlobStore, digest_of, verify_file, write_atomically
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.threads import Cancelled, Stop

DATA = b"some content" * 1000
DIGEST = digest_of(DATA)


def leftovers(store: BlobStore) -> list[Path]:
    return [path for path in store.root.rglob("*") if path.is_file() and path.name not in ("oci-layout", "index.json")]


def test_blob_is_stored_under_its_digest_in_an_oci_layout(store: BlobStore) -> None:
    path = store.write(iter([DATA[:100], DATA[100:]]), DIGEST, len(DATA))
    assert path == store.root / "blobs" / "sha256" / DIGEST[7:]
    assert path.read_bytes() == DATA
    assert (store.root / "oci-layout").read_bytes() == b'{"imageLayoutVersion":"1.0.0"}'
    assert store.find(DIGEST, len(DATA)) == path
    assert store.read(DIGEST, 10**6) == DATA


@pytest.mark.parametrize(
    ("chunks", "size", "says"),
    [
        ([DATA, b"x"], len(DATA), "larger"),
        ([DATA[:-1]], len(DATA), "ends after"),
        ([b"y" * len(DATA)], len(DATA), "not what was asked for"),
        ([b"other"], None, "not what was asked for"),
    ],
)
def test_wrong_content_is_refused_and_leaves_nothing(
    store: BlobStore, chunks: list[bytes], size: int | None, says: str
) -> None:
    with pytest.raises(RegistryError, match=says) as refusal:
        store.write(iter(chunks), DIGEST, size, where="hub.example/a")
    assert refusal.value.where == "hub.example/a"
    assert refusal.value.remedy
    assert leftovers(store) == []


def test_full_disk_is_told_with_place_and_remedy_and_leaves_nothing(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(blob_store.os, "write", full)
    with pytest.raises(RegistryError, match="disk is full") as refusal:
        store.write([DATA], DIGEST, len(DATA))
    assert str(store.root) in refusal.value.where
    assert "space" in refusal.value.remedy
    assert leftovers(store) == []


def test_real_size_limit_of_the_system_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    context = get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_write_under_limit, args=(tmp_path / "store", answers))
    child.start()
    child.join(30)
    assert "larger than this disk" in answers.get(timeout=5)
    assert leftovers(BlobStore(tmp_path / "store")) == []


def _write_under_limit(root: Path, answers: object) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        BlobStore(root).write([DATA], DIGEST, len(DATA))
    except RegistryError as error:
        answers.put(str(error))  # type: ignore[attr-defined]


def test_failing_stream_leaves_nothing(store: BlobStore) -> None:
    def broken() -> Iterator[bytes]:
        yield DATA[:10]
        raise RegistryError("The connection broke off.")

    with pytest.raises(RegistryError, match="broke off"):
        store.write(broken(), DIGEST, len(DATA))
    assert leftovers(store) == []


def test_cancelled_write_stops_and_leaves_nothing(store: BlobStore) -> None:
    stop = Stop()

    def chunks() -> Iterator[bytes]:
        yield DATA[:10]
        stop.set()
        yield DATA[10:]

    with pytest.raises(Cancelled):
        store.write(chunks(), DIGEST, len(DATA), stop=stop)
    assert leftovers(store) == []


def test_killed_writer_leaves_no_blob_and_its_rest_is_swept(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import sys, time
        from pathlib import Path
        from kitstudio.registry.blob_store import BlobStore
        def chunks():
            yield b"x" * 1000
            print("writing", flush=True)
            time.sleep(60)
        BlobStore(Path({str(tmp_path / "store")!r})).write(chunks(), {DIGEST!r})
        """
    )
    writer = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    store = BlobStore(tmp_path / "store")
    [rest] = leftovers(store)
    long_ago = time.time() - 10_000
    os.utime(rest, (long_ago, long_ago))
    assert store.sweep() == 0, "a living writer's file is left alone"
    writer.kill()
    writer.wait()
    writer.stdout.close()
    assert store.find(DIGEST) is None
    assert store.sweep() == 1
    assert leftovers(store) == []


def test_store_clears_old_rests_before_its_first_write(store: BlobStore) -> None:
    store.prepare()
    rest = store.root / "ingest" / "1-dead.part"
    rest.write_bytes(b"x")
    os.utime(rest, (1, 1))
    BlobStore(store.root).put(b"new")
    assert not rest.exists()


def test_home_that_cannot_hold_a_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(RegistryError) as refusal:
        BlobStore(tmp_path / "file" / "store").put(b"x")
    assert refusal.value.where


def test_two_processes_may_write_the_same_blob(tmp_path: Path) -> None:
    context = get_context("fork")
    children = [context.Process(target=_write_often, args=(tmp_path / "store",)) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(30)
    assert [child.exitcode for child in children] == [0] * 4
    assert len(leftovers(BlobStore(tmp_path / "store"))) == 20


def _write_often(root: Path) -> None:
    for number in range(20):
        data = str(number).encode() * 5000
        assert BlobStore(root).write([data], digest_of(data), len(data)).read_bytes() == data


def test_damaged_blob_counts_as_absent_and_is_replaced(store: BlobStore) -> None:
    path = store.write([DATA], DIGEST, len(DATA))
    path.write_bytes(b"rotten" + DATA[6:])
    assert store.find(DIGEST, len(DATA)) is None
    assert store.write([DATA], DIGEST, len(DATA)).read_bytes() == DATA


def test_change_behind_our_back_is_noticed(store: BlobStore) -> None:
    path = store.write([DATA], DIGEST, len(DATA))
    verify_file(path, DIGEST, len(DATA))
    path.write_bytes(b"X" + DATA[1:])
    os.utime(path, ns=(1, 1))
    with pytest.raises(RegistryError):
        verify_file(path, DIGEST, len(DATA))


@pytest.mark.parametrize("digest", ["", "sha256:../../etc/passwd", "sha256:" + "A" * 64, "md5:" + "a" * 32])
def test_text_that_is_no_digest_never_becomes_a_path(store: BlobStore, digest: str) -> None:
    with pytest.raises(RegistryError):
        store.path(digest)


def test_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a" / "index.json"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert [child.name for child in path.parent.iterdir()] == ["index.json"]
