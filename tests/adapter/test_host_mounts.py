"""Folders of this computer that every version of a Kit shares."""

from __future__ import annotations

from pathlib import Path

from tests.adapter.suite import Suite, asks, judges
from tests.runtime.bench import vm

pytestmark = vm


@judges("host-mount@1/listing", "host-mount@1/versions", "host-mount@1/read", "host-mount@1/rm")
def test_versions_share_their_folder_and_a_removed_one_starts_empty(suite: Suite) -> None:
    mount = asks("host-mount@1", {"path": "/shared/tck"})
    one, two = (suite.kit(f"host-mount-version-{v}", mount, description=f"version {v}") for v in ("v1", "v2"))
    assert suite.document("host-mounts", str(one)) == []

    first = suite.create(one)
    suite.sh(first, "echo from one > /shared/tck/one; ln -s /etc/passwd /shared/tck/out; ln -s . /shared/tck/in")
    suite.discard(first)
    listed = suite.document("host-mounts", str(two))
    assert [(each["path"], sorted(each)) for each in listed] == [("/shared/tck", ["hostPath", "id", "path"])]
    id, folder = listed[0]["id"], Path(listed[0]["hostPath"])
    assert (folder / "one").read_text() == "from one\n"
    assert suite.verb("host-mount-read", id, "one") == "from one\n"
    for outside in ("absent", "out"):
        assert suite.verb("host-mount-read", id, outside, code=1) == ""

    second = suite.create(two)
    assert suite.sh(second, "cat /shared/tck/one; echo from two > /shared/tck/two") == "from one\n"
    suite.discard(second)
    assert suite.verb("host-mount-read", id, "two") == "from two\n"

    suite.verb("host-mount-rm", id)
    assert suite.document("host-mounts", str(two)) == [] and not folder.exists()
    again = suite.create(one)
    assert suite.sh(again, "ls /shared/tck") == ""
    suite.discard(again)
