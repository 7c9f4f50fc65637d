"""How a sandbox's state is told: icon, colour and words, the same in the list and on its page."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kitstudio.models.words import claim
from kitstudio.runtime.backend import LaunchPhase, SandboxStatus, State
from kitstudio.ui.theme import Tone
from kitstudio.ui.widgets.text import counted, duration_text, tr

PHASES: dict[LaunchPhase, tuple[str, str]] = {
    LaunchPhase.PULL: ("Pull", "Fetch the layers that are not cached"),
    LaunchPhase.CONVERT: ("Convert", "Make disk images of new layers"),
    LaunchPhase.COMPOSE: ("Compose", "Put the layers in order"),
    LaunchPhase.BOOT: ("Boot", "Start the machine"),
    LaunchPhase.INSTALL: ("Run install hooks", "With the grants of installation"),
    LaunchPhase.CLOSE: ("Close install grants", "What was open for installation is withdrawn"),
    LaunchPhase.STARTUP: ("Startup", "Run startup hooks"),
    LaunchPhase.READY: ("Ready", "The terminal opens"),
}
"""Phase → its name and what happens in it, in the order of a launch."""


@dataclass(frozen=True, slots=True)
class StateLook:
    """Icon, tone and words of a state."""

    icon: str
    tone: Tone
    words: str


def state_look(status: SandboxStatus) -> StateLook:
    """What the list and the header say."""
    match status.state:
        case State.STARTING:
            phase = claim(status.phase, 60)
            return StateLook(
                "spinner", Tone.INFO, tr("Starting: {phase}").format(phase=phase) if phase else tr("Starting")
            )
        case State.RUNNING if status.refused:
            return StateLook("deny", Tone.SERIOUS, tr("Running, {n} refused").format(n=status.refused))
        case State.RUNNING:
            return StateLook("running", Tone.SUCCESS, tr("Running"))
        case State.WAITING:
            return StateLook("user", Tone.NOTICE, tr("Waiting for you"))
        case State.STOPPED:
            return StateLook("stop", Tone.INFO, tr("Stopped"))
        case State.BROKEN:
            broken = claim(status.broken, 120)
            return StateLook(
                "critical", Tone.CRITICAL, tr("Broken: {why}").format(why=broken) if broken else tr("Broken")
            )


def uptime(status: SandboxStatus, now: float | None = None) -> str:
    """How long it has been running; empty when it is not."""
    if not status.started_at:
        return ""
    return duration_text(max(0.0, (time.time() if now is None else now) - status.started_at))


def gigabytes(mebibytes: int) -> str:
    """Memory with one decimal, in GB as elsewhere."""
    return f"{mebibytes * 1.048576 / 1000:.1f}"


def memory(status: SandboxStatus) -> str:
    """Memory in use; empty where it is not known."""
    return f"{gigabytes(status.memory)} GB" if status.memory else ""


def facts(status: SandboxStatus, now: float | None = None) -> str:
    """``team-agent · 1 h 12 min · 1.4 of 4.0 GB``."""
    parts = [status.set_name, uptime(status, now)]
    if status.memory and status.memory_limit:
        parts.append(
            tr("{used} of {limit} GB").format(used=gigabytes(status.memory), limit=gigabytes(status.memory_limit))
        )
    if status.idle_stop:
        left = max(0.0, status.idle_stop - (time.time() if now is None else now))
        minutes = max(1, round(left / 60))
        parts.append(tr("idle, stops in {minutes} min").format(minutes=minutes))
    parts.append(claim(status.note, 120))
    return " · ".join(part for part in parts if part)


def refused_text(count: int) -> str:
    """``2 requests refused``."""
    return tr("{requests} refused").format(requests=counted(count, "request", "requests"))


def acceleration_words(kind: str, why: str) -> str:
    """What runs the machines, and why it is not the hardware."""
    if kind == "kvm":
        return tr("Hardware acceleration (KVM)")
    lead = tr("Software emulation")
    if not why or why.startswith(lead):
        return why or lead
    return f"{lead}: {why}"
