"""Workspaces as people have them: behind links, with blanks, with very long paths."""

from pathlib import Path

import pytest

from kitstudio.runtime.backend import SandboxError
from tests.runtime.bench import bench, vm

pytestmark = vm


async def test_a_workspace_is_mounted_or_refused_before_the_boot_row_89(tmp_path: Path) -> None:
    real = tmp_path / ("deep folder, with a comma " + "x" * 150) / "été"
    real.mkdir(parents=True)
    (real / "here.txt").write_text("found")
    link = tmp_path / "link"
    link.symlink_to(real)
    assert len(str(real)) > 200
    async with bench(tmp_path / "home") as b:
        b.kits()
        await b.create(workspace=link)
        assert await b.sh("cat /work/here.txt; echo back > /work/answer") == "found"
        assert (real / "answer").read_text() == "back\n"
        await b.backend.remove("box")
        for wrong in (tmp_path / "nowhere", real / "here.txt", Path("/")):
            with pytest.raises(SandboxError, match="workspace"):
                await b.create(workspace=wrong)
        loop = tmp_path / "loop"
        loop.symlink_to(loop)
        with pytest.raises(SandboxError, match="workspace"):
            await b.create(workspace=loop)
        assert await b.backend.list() == ()
