"""Window and command line tell the same list of sandboxes."""

import asyncio
from dataclasses import replace

from kitstudio.cli.sandboxes import status_json
from kitstudio.runtime.backend import SandboxStatus, State
from kitstudio.services.images import Images
from kitstudio.services.jobs import Jobs
from kitstudio.services.sandboxes import Sandboxes
from kitstudio.ui.sandboxes.models import SandboxModel
from tests.services.fakes import FakeBackend


async def _never(*_: object) -> None:
    raise AssertionError("nothing is recreated here")


def test_both_lists_come_from_one_source_row_125(qapp: object) -> None:
    backend = FakeBackend()
    broken = SandboxStatus("id-2", "b", State.BROKEN, "set", "0" * 64, broken="It ended.", repair="Start again")
    backend.boxes = {"a": SandboxStatus("id-1", "a", State.RUNNING, "set", "0" * 64, 1000.0), "b": broken}
    sandboxes = Sandboxes(backend, Images(None), Jobs(), _never)  # type: ignore[arg-type]
    model = SandboxModel()

    def both() -> tuple[list[object], list[object]]:
        shown = [model.sandbox(row) for row in range(model.rowCount())]
        told = [status_json(status) for status in backend.boxes.values()]
        return [status_json(status) for status in shown], told

    for change in (
        lambda: None,
        lambda: backend.boxes.update(a=replace(backend.boxes["a"], state=State.STOPPED, started_at=0.0)),
        lambda: backend.boxes.pop("b"),
    ):
        change()
        model.show_sandboxes(asyncio.run(sandboxes.refresh()))
        shown, told = both()
        assert shown == told
        assert sandboxes.list() == tuple(backend.boxes.values())
