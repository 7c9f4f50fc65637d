"""How fast a set is judged again after a change, and its graph drawn: 50, 200 and 1,000 Kits (§5.3, §9.5).

    python -m benchmarks.compose [--window]

Each figure is the median of several changes, one Kit each, as they are made by hand. With ``--window`` the stack and
the graph follow as well, offscreen. A frame is 16 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

from kitstudio.models.descriptor import Arg, Capability, Descriptor, ListedKit
from kitstudio.models.plan import Member, Plan, plan_set
from kitstudio.ui.composer.graph.layout import Box, Link, lay_out
from kitstudio.ui.composer.graph.picture import LineKind, picture_of

COUNTS = (50, 200, 1000)
CHANGES = 15
FRAME = 16.0
PACKAGES = 400


def main() -> None:
    """Print every figure beside the frame."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--window", action="store_true", help="follow in the stack and the graph, offscreen")
    window = arguments.parse_args().window
    for count in COUNTS:
        members = made_members(count)
        _tell(f"{count:5} Kits judged", _each(members, _judge))
        plan = _judge(members)
        assert not plan.problems, plan.problems[0]
        _tell(f"{count:5} Kits laid out", [_timed(partial(_drawn, plan)) for _ in range(CHANGES)])
        if window:
            for name, times in _shown(members):
                _tell(f"{count:5} Kits, {name}", times)


def made_members(count: int) -> tuple[Member, ...]:
    """A workload with packages and mixins in chains and fans, each with a few requests and an input."""
    packages = tuple(f"deb/package-{number}@1.{number}.0" for number in range(PACKAGES))
    base = Descriptor("3", kind="workload", version="1.0.0", provides=("agent@1.0.0", *packages))
    members = [Member("registry.example/team/agent:1.0.0", _digest(0), base)]
    for number in range(1, count):
        about = Descriptor(
            "3",
            kind="mixin",
            version="1.0.0",
            provides=(f"tool-{number}@1.0.0",),
            requires=("agent", f"tool-{number // 3}") if number % 3 and number > 3 else ("deb/package-7",),
            integrates=(f"tool-{number - 5}",) if number % 7 == 0 and number > 6 else (),
            args={"region": Arg(default="eu", description="Where it runs", pattern="[a-z]+")},
            capabilities=(
                Capability(
                    "com.docker.sandbox/network-policy@1",
                    {"runtime": {"allow": [f"host-{number}.example", "${{ kit.args.region }}.shared.example"]}},
                    True,
                ),
            ),
        )
        members.append(Member(f"registry.example/team/tool-{number}:1.0.0", _digest(number), about))
    return tuple(members)


def _judge(members: Sequence[Member]) -> Plan:
    kits = tuple(ListedKit(member.reference) for member in members)
    return plan_set(Descriptor("3", kind="set", kits=kits, kits_stated=True), members)


def _each(members: tuple[Member, ...], act: Callable[[Sequence[Member]], object]) -> list[float]:
    """One Kit out, one in, again and again: what is remembered of the others may help, as it does by hand."""
    act(members)
    found = []
    for change in range(CHANGES):
        gone = len(members) - 1 - change % 3
        found.append(_timed(lambda gone=gone: act((*members[:gone], *members[gone + 1 :]))))  # type: ignore[misc]
        found.append(_timed(lambda: act(members)))
    return found


def _drawn(plan: Plan) -> None:
    picture = picture_of(plan)
    boxes = [Box(node.key, 196.0, 56.0, 0 if node.workload else 1) for node in picture.nodes]
    lay_out(boxes, [Link(e.source, e.target, e.kind) for e in picture.lines if e.kind is not LineKind.CONFLICT])


def _shown(members: tuple[Member, ...]) -> list[tuple[str, list[float]]]:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from kitstudio.ui.composer.columns import InputsColumn, PermissionsColumn, StackColumn
    from kitstudio.ui.composer.graph.pane import GraphPane
    from kitstudio.ui.theme import Mode, Theme

    application = QApplication.instance() or QApplication([])
    theme = Theme(Mode.LIGHT)
    theme.install()
    found = []
    plans = {len(part): _judge(part) for part in (members, members[:-1], members[:-2], members[:-3])}
    stack, inputs, permissions, graph = (
        StackColumn(theme),
        InputsColumn(theme),
        PermissionsColumn(theme),
        GraphPane(theme),
    )
    shows: dict[str, Callable[[Plan], object]] = {
        "stack": lambda plan: stack.show_plan(plan, frozenset()),
        "problems and inputs": inputs.show_plan,
        "permissions": permissions.show_plan,
        "graph": graph.show_plan,
    }
    for name, show in shows.items():
        times = []
        for change in range(CHANGES):
            plan = plans[len(members) - change % 2]
            times.append(_timed(lambda show=show, plan=plan: show(plan)))  # type: ignore[misc]
            application.processEvents()
        found.append((name, times))
    return found


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1000


def _tell(name: str, times: Sequence[float]) -> None:
    middle = statistics.median(times)
    print(f"{name:40} {middle:8.1f} ms   worst {max(times):8.1f} ms   {middle / FRAME:6.2f} frames")


def _digest(number: int) -> str:
    return f"sha256:{number:064x}"


if __name__ == "__main__":
    main()
