"""Kit folders with recipes in a real sandbox: a workload and a mixin, both from scratch."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitstudio.runtime.guest.image import BUSYBOX, default_folder
from tests.adapter.suite import Suite
from tests.runtime.bench import vm
from tests.runtime.busybox_kits import APPLETS, GROUP, PASSWD

pytestmark = vm

WORKLOAD = """\
FROM scratch
COPY root/ /
COPY --chown=1000:1000 home/ /home/agent/
ENV PATH=/bin GREETING="built here"
USER agent
WORKDIR /home/agent
CMD ["/bin/sh"]
"""
MIXIN = """\
FROM scratch
COPY --chmod=0755 --chown=1000:1000 tool /usr/local/bin/tool
"""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A workload's folder and a mixin's."""
    base, tool = tmp_path / "ground", tmp_path / "tool"
    for root, kind, recipe in ((base, "workload", WORKLOAD), (tool, "mixin", MIXIN)):
        root.mkdir()
        about = f'schemaVersion: "3"\nkind: {kind}\nversion: 1.0.0\nprovides: [{root.name}]\n'
        (root / "kit.yaml").write_text(about)
        (root / "kit.dockerfile").write_text(recipe)
    for place in ("bin", "etc", "tmp", "usr/local/bin"):
        (base / "root" / place).mkdir(parents=True)
    busybox = base / "root" / "bin" / "busybox"
    busybox.write_bytes((default_folder() / BUSYBOX).read_bytes())
    busybox.chmod(0o755)
    for name in APPLETS.split():
        (base / "root" / "bin" / name).symlink_to("busybox")
    (base / "root" / "etc" / "passwd").write_bytes(PASSWD)
    (base / "root" / "etc" / "group").write_bytes(GROUP)
    (base / "home").mkdir()
    (base / "home" / "note").write_text("mine\n")
    (tool / "tool").write_text("#!/bin/sh\necho tool one\n")
    return base, tool


def test_folders_with_recipes_run_and_a_changed_one_runs_changed(suite: Suite, folders: tuple[Path, Path]) -> None:
    base, tool = folders
    id = suite.create(base, tool)
    said = suite.sh(
        id, "id -un; pwd; echo $GREETING; cat note; stat -c %u . note /usr/local/bin/tool; /usr/local/bin/tool"
    )
    assert said.split("\n")[:-1] == ["agent", "/home/agent", "built here", "mine", "1000", "1000", "1000", "tool one"]
    assert "COPY --chmod=0755" in suite.sh(id, "cat /usr/share/sandbox/kit/tool/kit.dockerfile")
    suite.discard(id)
    (tool / "tool").write_text("#!/bin/sh\necho tool two\n")
    id = suite.create(base, tool)
    assert suite.sh(id, "/usr/local/bin/tool") == "tool two\n"
    suite.discard(id)
