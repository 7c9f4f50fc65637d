from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.capabilities.paths import clean
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.host_mount import MOST, plan_mounts, wants_mounts
from kitstudio.runtime.capabilities.long_running import Sessions, idle_limit
from kitstudio.runtime.capabilities.port import plan_ports
from kitstudio.runtime.capabilities.privileged import is_privileged
from kitstudio.runtime.capabilities.volume import (
    DEFAULT_BYTES,
    SMALLEST_BYTES,
    PlannedVolume,
    plan_volumes,
    refuse_changed,
)
from kitstudio.runtime.host_mounts import list_mounts, mount_shares, remove_mount, why_not_shared
from tests.runtime.runtime_sets import approve, capability, descriptor

HERE = "kits.test/tool:2.0.0"


def volumes(*configs: dict[str, object], optional: bool = False) -> tuple[tuple[PlannedVolume, ...], tuple[str, ...]]:
    return plan_volumes(descriptor(*(capability("volume@1", c, optional=optional) for c in configs)))  # type: ignore[arg-type]


def test_equivalent_requests_at_one_path_are_one_volume_and_others_fail() -> None:
    (one,), _ = volumes(
        {"path": "/a/./b/", "size": "1.5g", "mode": "0755"}, {"path": "/a/b", "size": "1536m", "mode": "755"}
    )
    assert (one.path, one.bytes, one.permissions) == ("/a/b", 3 << 29, 0o755)
    for other in ({"path": "/a/b"}, {"path": "/a/b", "size": "1g"}, {"path": "/a/b", "tmpfs": True}):
        with pytest.raises(SandboxError, match="different storage at /a/b"):
            volumes({"path": "/a/b", "size": "2g"}, other)


@pytest.mark.parametrize("path", ["/", "/proc", "/dev/shm", "/sys/x", "/run/kit", "/a\nb"])
def test_place_that_cannot_be_given_is_refused_or_skipped(path: str) -> None:
    with pytest.raises(SandboxError, match="cannot be given"):
        volumes({"path": path})
    planned, skipped = volumes({"path": path}, optional=True)
    assert planned == () and len(skipped) == 1


def test_sizes_are_exact_and_never_below_what_a_disk_needs() -> None:
    (none, zero, memory), _ = volumes(
        {"path": "/a"}, {"path": "/b", "size": "0"}, {"path": "/c", "size": "0.3", "tmpfs": True}
    )
    assert (none.bytes, zero.bytes, memory.bytes) == (DEFAULT_BYTES, SMALLEST_BYTES, 4096)
    with pytest.raises(SandboxError, match="more than a disk"):
        volumes({"path": "/a", "size": "17t"})


def test_parents_are_mounted_before_what_lies_below() -> None:
    planned, _ = volumes({"path": "/a/b/c"}, {"path": "/a"}, {"path": "/a/b"})
    assert [volume.path for volume in planned] == ["/a", "/a/b", "/a/b/c"]


def test_kept_storage_fits_an_equal_request_however_it_is_spelled() -> None:
    kept = PlannedVolume("/a", "1g", False, "0755")
    refuse_changed((PlannedVolume("/a", "1024 MiB", False, "755"),), {"/a": kept})
    for other in (
        PlannedVolume("/a", "2g", False, "755"),
        PlannedVolume("/a", "1g", True, "755"),
        PlannedVolume("/a", "1g"),
    ):
        with pytest.raises(SandboxError, match="was made as"):
            refuse_changed((other,), {"/a": kept})


@given(st.text("ab./", max_size=12), st.text("ab./", max_size=12))
def test_storage_is_named_by_its_cleaned_path_alone(one: str, other: str) -> None:
    first, second = PlannedVolume(clean("/" + one)), PlannedVolume(clean("/" + other), "5g", False, "700")
    assert (first.key == second.key) == (first.path == second.path)


def test_shared_folder_is_the_repositorys_whatever_the_version() -> None:
    def of(reference: str, path: str = "/m") -> str:
        planned, _ = plan_mounts(approve({reference: [capability("host-mount@1", {"path": path})]}), (), "")
        return planned[0].id

    assert of("kits.test/a:1") == of("kits.test/a:2") == of("kits.test/a@sha256:" + "1" * 64)
    assert of("kits.test:5000/a:1") == of("kits.test:5000/a")
    assert len({of("kits.test/a:1"), of("kits.test/b:1"), of("other.test/a:1"), of("kits.test/a:1", "/n")}) == 4


def test_declaration_of_the_set_itself_belongs_to_the_lock_a_person_named() -> None:
    approved = approve({"kits.test/a:1": []}, name="mine")
    approved.selected["the set"] = descriptor(capability("host-mount@1", {"path": "/m"}))  # type: ignore[index]
    planned, _ = plan_mounts(approved, (), "")
    assert planned[0].owner == "set mine"


def test_one_place_has_one_owner() -> None:
    mount = capability("host-mount@1", {"path": "/m"})
    with pytest.raises(SandboxError, match="one owner"):
        plan_mounts(approve({"kits.test/a:1": [mount], "kits.test/b:1": [mount]}), (), "")
    with pytest.raises(SandboxError, match="one owner"):
        plan_mounts(approve({"kits.test/a:1": [mount]}), (PlannedVolume("/m"),), "")
    with pytest.raises(SandboxError, match="workspace"):
        plan_mounts(approve({"kits.test/a:1": [mount]}), (), "/m")


def test_more_shared_folders_than_a_machine_takes_are_refused() -> None:
    many = [capability("host-mount@1", {"path": f"/m{n}"}) for n in range(MOST + 1)]
    with pytest.raises(SandboxError, match=f"at most {MOST}"):
        plan_mounts(approve({"kits.test/a:1": many}), (), "")


def test_computer_that_shares_no_folder_skips_optional_requests_and_refuses_the_rest() -> None:
    asked = approve({"kits.test/a:1": [capability("host-mount@1", {"path": "/m"}, optional=True)]})
    assert wants_mounts(asked) and not wants_mounts(approve({"kits.test/a:1": []}))
    planned, skipped = plan_mounts(asked, (), "", "no user namespaces")
    assert planned == () and skipped == ("com.docker.sandbox/host-mount@1 /m: no user namespaces",)
    with pytest.raises(SandboxError, match="no user namespaces"):
        plan_mounts(
            approve({"kits.test/a:1": [capability("host-mount@1", {"path": "/m"})]}), (), "", "no user namespaces"
        )


async def test_sharing_is_found_out_by_trying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert await why_not_shared(1000, 1000) == ""
    refusing = tmp_path / "launch.py"
    refusing.write_text("import sys; print('not here', file=sys.stderr); sys.exit(70)")
    monkeypatch.setattr("kitstudio.runtime.host_mounts._LAUNCHER", refusing)
    assert await why_not_shared(1000, 1000) == "not here"


def test_folder_is_made_once_kept_and_deleted_with_what_a_sandbox_closed(tmp_path: Path) -> None:
    planned, _ = plan_mounts(approve({HERE: [capability("host-mount@1", {"path": "/m", "mode": "0777"})]}), (), "")
    root = tmp_path / "mounts"
    (share,) = mount_shares(root, planned)
    assert share.host_path.stat().st_mode & 0o777 == 0o777 and not share.readonly
    share.host_path.chmod(0o700)
    mount_shares(root, planned)
    assert share.host_path.stat().st_mode & 0o777 == 0o700
    closed = share.host_path / "closed"
    closed.mkdir()
    (closed / "file").write_bytes(b"12345")
    (share.host_path / "link").symlink_to("/etc/passwd")
    (found,) = list_mounts(root, [("box", False, planned)])
    assert (found.owner, found.path, found.sandboxes, found.running) == ("kits.test/tool", "/m", ("box",), ())
    assert found.files == 3 and found.size >= 5
    closed.chmod(0)
    remove_mount(root, found)
    assert list(root.iterdir()) == [] and Path("/etc/passwd").exists()


def test_folder_that_was_swapped_for_a_link_is_not_shared(tmp_path: Path) -> None:
    planned, _ = plan_mounts(approve({HERE: [capability("host-mount@1", {"path": "/m"})]}), (), "")
    (share,) = mount_shares(tmp_path, planned)
    share.host_path.rmdir()
    share.host_path.symlink_to("/etc")
    with pytest.raises(SandboxError, match="The shared folder for /m"):
        mount_shares(tmp_path, planned)


def test_two_kits_asking_for_one_port_is_one_publication_and_udp_is_not_claimed() -> None:
    asked = (
        capability("port@1", {"container": 80}),
        capability("port@1", {"container": 80, "transport": "tcp", "name": "web"}),
        capability("port@1", {"container": 80, "transport": "udp"}, optional=True),
    )
    planned, skipped = plan_ports(descriptor(*asked))
    assert [(port.key, port.name) for port in planned] == [("80/tcp", "web")]
    assert skipped == ("com.docker.sandbox/port@1 80/udp: datagrams are not published by this program",)
    with pytest.raises(SandboxError, match="80/udp cannot be published"):
        plan_ports(descriptor(capability("port@1", {"container": 80, "transport": "udp"})))


def test_one_kit_makes_the_whole_sandbox_privileged_and_one_keeps_it_running() -> None:
    assert not is_privileged(descriptor(capability("port@1", {"container": 1})))
    assert is_privileged(descriptor(capability("port@1", {"container": 1}), capability("privileged@1", optional=True)))
    assert idle_limit(descriptor(), 60) == 60
    assert idle_limit(descriptor(), 0) == 0
    assert idle_limit(descriptor(capability("long-running@1")), 60) == 0


def test_idle_time_counts_only_while_nobody_is_connected() -> None:
    now = [100.0]
    sessions = Sessions(60, lambda: now[0])
    assert sessions.left() is None  # not ready yet
    sessions.ready()
    now[0] += 50
    assert sessions.left() == 10
    sessions.begin()
    now[0] += 1000
    assert sessions.left() is None
    sessions.begin()
    sessions.end()
    assert sessions.left() is None
    sessions.end()
    assert sessions.left() == 60
    now[0] += 61
    assert sessions.left() == 0
    assert Sessions(0, lambda: now[0], since=0.0).left() is None
