"""A launch as eight phases with their times: pure values from the progress told so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from kitstudio.models.words import claim
from kitstudio.runtime.backend import LaunchPhase, Progress
from kitstudio.ui.sandboxes.words import PHASES
from kitstudio.ui.widgets.text import tr


class StepState(Enum):
    DONE = auto()
    NOW = auto()
    TODO = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """One phase: its name, what it says, how long it took (None: not begun), how far it is."""

    phase: LaunchPhase
    name: str
    text: str
    state: StepState
    seconds: float | None = None
    fraction: float | None = None


START = (LaunchPhase.BOOT, LaunchPhase.STARTUP, LaunchPhase.READY)
"""Phases of starting a stopped sandbox: nothing is pulled, and no install hook runs again."""


def steps_of(
    progress: Sequence[Progress],
    elapsed: float,
    *,
    failed: bool = False,
    phases: Sequence[LaunchPhase] = tuple(LaunchPhase),
) -> tuple[Step, ...]:
    """The phases in order. ``elapsed``: seconds since the launch began, for the phase that runs."""
    order = list(phases)
    first: dict[LaunchPhase, float] = {}
    last: dict[LaunchPhase, Progress] = {}
    for told in (report for report in progress if report.phase in order):
        first.setdefault(told.phase, told.seconds)
        last[told.phase] = told
    current = max((order.index(phase) for phase in last), default=0)
    ready = order[current] is LaunchPhase.READY and LaunchPhase.READY in last
    found = []
    for number, phase in enumerate(order):
        name, what = PHASES[phase]
        report = last.get(phase)
        text = claim(report.text, 200) if report is not None and report.text else tr(what)
        begun = first.get(phase)
        if number > current or (number == current and not last and number > 0):
            found.append(Step(phase, tr(name), text, StepState.TODO))
            continue
        if number == current and not ready:
            state = StepState.FAILED if failed else StepState.NOW
            spent = max(0.0, elapsed - (begun or 0.0))
            found.append(Step(phase, tr(name), text, state, spent, report.fraction if report else None))
            continue
        ends = next((first[later] for later in order[number + 1 :] if later in first), elapsed)
        took = max(0.0, ends - begun) if begun is not None else None
        found.append(Step(phase, tr(name), text, StepState.DONE, took))
    return tuple(found)
