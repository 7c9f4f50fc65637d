"""The index of Kits seen: search, age, limits, several processes, and being killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.registry.blob_store import BlobStore
from kitstudio.registry.index import IndexUnusable, KitIndex, SeenKit
from kitstudio.registry.memory import Seen
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.registry import RegistrySource
from tests.registry.servers import Double
from tests.registry.test_client import IMAGE, kit, serve


def seen(name: str, **more: str) -> SeenKit:
    return SeenKit("hub", f"docker.io/acme/{name}", title=more.pop("title", name), **more)


@pytest.fixture
def index(tmp_path: Path) -> KitIndex:
    return KitIndex(tmp_path / "index.db")


def test_kits_are_found_by_the_beginning_of_every_word_best_first(index: KitIndex) -> None:
    index.put(
        [
            seen("gh", title="GitHub CLI", description="Works with issues", words="network-policy"),
            seen("other", title="Other", description="Talks to the github API"),
            seen("cafe", title="Café"),
        ]
    )
    assert [k.title for k in index.search("git")] == ["GitHub CLI", "Other"]
    assert [k.title for k in index.search("github iss")] == ["GitHub CLI"]
    assert [k.title for k in index.search("acme/gh")] == ["GitHub CLI"]
    assert [k.title for k in index.search("network")] == ["GitHub CLI"]
    assert [k.title for k in index.search("CAFE")] == ["Café"]
    assert index.search("nothing") == ()
    assert len(index.search("")) == 3
    assert index.search("git", source="demo") == ()


@given(query=st.text(max_size=60))
def test_no_query_is_a_program(tmp_path_factory: pytest.TempPathFactory, query: str) -> None:
    index = KitIndex(tmp_path_factory.getbasetemp() / "queries.db")
    index.search(query)
    index.close()


def test_kit_seen_again_replaces_what_was_known_in_the_search_too(index: KitIndex) -> None:
    index.put([seen("a", title="Before", body="1")])
    index.put([seen("a", title="After", body="2")])
    assert [k.body for k in index.kits()] == ["2"]
    assert index.search("before") == ()
    assert len(index.search("after")) == 1


def test_text_a_database_does_not_take_is_kept_harmless(index: KitIndex) -> None:
    index.put([seen("a", title="nul\0 and \ud800 half", description="x" * 10_000)])
    [kept] = index.kits()
    assert "\0" not in kept.title
    assert len(kept.description) == 4000
    with pytest.raises(RegistryError, match="larger"):
        index.put([seen("b"), seen("c", body="x" * 600_000)])
    assert len(index.kits()) == 1, "all or nothing"


def test_age_counts_from_the_last_list_and_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    now = [1000.0]
    index = KitIndex(tmp_path / "index.db", now=lambda: now[0])
    assert index.age("hub") is None
    index.put([seen("a"), seen("b"), SeenKit("demo", "demo.invalid/x")])
    index.listed("hub", ["docker.io/acme/a"])
    now[0] += 3 * 3600
    assert index.age("hub") == 3 * 3600
    assert [k.repository for k in index.kits("hub")] == ["docker.io/acme/a"]
    assert len(index.kits("demo")) == 1
    index.forget("hub")
    assert index.age("hub") is None
    assert index.kits("hub") == ()


def test_oldest_go_first_where_there_are_too_many_or_they_are_too_big(tmp_path: Path) -> None:
    now = [1000.0]
    index = KitIndex(tmp_path / "a.db", now=lambda: now[0], most=5)
    for number in range(9):
        now[0] += 1
        index.put([seen(f"k{number}")])
    assert [k.title for k in index.kits()] == ["k4", "k5", "k6", "k7", "k8"]
    small = KitIndex(tmp_path / "b.db", now=lambda: now[0], most_bytes=400_000)
    for number in range(20):
        now[0] += 1
        small.put([seen(f"k{number:02}", body="x" * 60_000)])
    kept = [k.title for k in small.kits()]
    assert kept
    assert kept[-1] == "k19"
    assert len(kept) < 8
    small.clear()
    assert small.kits() == ()
    assert small.size() < 300_000


async def test_index_is_a_registrys_memory_and_answers_offline(
    double: Double, store: BlobStore, index: KitIndex
) -> None:
    double.answer = serve
    first = await RegistrySource(double.host, store, memory=index).artifact(kit(double))
    index.close()
    again = RegistrySource(double.host, store, memory=KitIndex(index.path), offline=True)
    assert await again.artifact(kit(double)) == first
    assert first.digest == IMAGE.digest


def test_damaged_file_is_put_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(b"this is no database, but it is long enough to be read as one" * 100)
    index = KitIndex(path)
    with pytest.raises(IndexUnusable, match="begun anew"):
        index.kits()
    index.put([seen("a")])
    assert len(index.kits()) == 1
    assert path.with_name("index.db.damaged").exists()


def test_file_of_a_newer_version_is_left_alone_and_forgets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    KitIndex(path).put([seen("a")])
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    index = KitIndex(path)
    with pytest.raises(IndexUnusable, match="newer"):
        index.put([seen("b")])
    assert index.recall("x") is None
    index.keep("x", Seen("m", "v"))
    assert path.exists()


def test_file_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    from kitstudio.registry import index as module

    path = tmp_path / "index.db"
    connection = sqlite3.connect(path)
    connection.executescript(module._STEPS[0])
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO kits VALUES (1, 's', 'h/a', 'Old', '', '', '', '', '', 1.0)")
    connection.commit()
    connection.close()
    index = KitIndex(path)
    assert [k.title for k in index.search("old")] == ["Old"]
    index.keep("key", Seen("m", "v"))
    assert index.recall("key") == Seen("m", "v")


def test_threads_share_one_index(index: KitIndex) -> None:
    failures: list[Exception] = []

    def work(part: int) -> None:
        try:
            for number in range(20):
                index.put([seen(f"k{part}-{number}")])
                index.search("k")
                index.keep(f"key{part}", Seen("m", str(number)))
        except Exception as error:  # noqa: BLE001 - handed to the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(index.kits()) == 80


WRITER = """
import sys
from pathlib import Path
from kitstudio.registry.index import KitIndex, SeenKit
index = KitIndex(Path(sys.argv[1]))
number = 0
while number < int(sys.argv[3]):
    index.put([SeenKit(sys.argv[2], f"h/{number}-{part}", title=f"word{number}", body="x" * 2000) for part in range(5)])
    number += 1
    if number == 3:
        print("begun", flush=True)
"""


def writer(path: Path, source: str, rounds: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), source, str(rounds)], stdout=subprocess.PIPE)


def test_two_processes_write_and_search_at_once(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    processes = [writer(path, f"s{number}", 40) for number in range(2)]
    mine = KitIndex(path)
    for number in range(40):
        mine.put([SeenKit("mine", f"h/{number}", title="mine")])
        mine.search("word")
    assert [process.wait(60) for process in processes] == [0, 0]
    for process in processes:
        assert process.stdout is not None
        process.stdout.close()
    assert (len(mine.kits("s0")), len(mine.kits("s1")), len(mine.kits("mine"))) == (200, 200, 40)


def test_killed_writer_leaves_the_index_whole(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    for _ in range(3):
        process = writer(path, "killed", 1_000_000)
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        process.stdout.close()
        index = KitIndex(path)
        kits = index.kits("killed")
        assert len(kits) % 5 == 0, "a put is whole or not there"
        assert len(index.search("word0")) == 5
        index.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute("INSERT INTO kits_text (kits_text) VALUES ('integrity-check')")
