"""A source's state in words and icon: signed in, offline, limited with a countdown, not opened yet. Pure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from kitstudio.services.catalog import SourceInfo, SourceKind, SourceState
from kitstudio.services.places import VERIFIED
from kitstudio.ui.theme import Token
from kitstudio.ui.widgets.text import counted, duration_text, moment_text, number, tr, visible

ICONS = {
    SourceKind.DEMO: "sandboxes",
    SourceKind.REGISTRY: "network",
    SourceKind.LAYOUT: "layers",
    SourceKind.FOLDER: "folder",
    SourceKind.HUB: "seal",
    SourceKind.SET: "composer",
}


@dataclass(frozen=True, slots=True)
class Line:
    """The second line of a source. ``icon`` empty: none."""

    text: str
    icon: str = ""
    ink: Token = Token.SECONDARY


def state_line(source: SourceInfo, now: float | None = None) -> Line:
    """The state where there is one to tell, else who is signed in, else what the source holds."""
    if source.state is SourceState.LOADING:
        return Line(tr("Reading the list"), "spinner")
    if source.state is SourceState.OFFLINE:
        age = tr("Offline, from {when}").format(when=moment_text(source.fetched_at, now)) if source.fetched_at else ""
        return Line(age or tr("Offline"), "offline", Token.NOTICE)
    if source.state is SourceState.LIMITED:
        left = seconds_left(source, now)
        words = tr("Limit reached · {time}").format(time=duration_text(left)) if left else tr("Limit reached")
        return Line(words, "clock", Token.NOTICE)
    if source.state is SourceState.SIGN_IN:
        words = tr("Sign in again") if source.account else tr("Sign-in needed")
        return Line(words, "lock", Token.NOTICE)
    if source.state is SourceState.ERROR:
        return Line(
            visible(source.error.what if source.error else source.detail) or tr("Not readable"),
            "critical",
            Token.CRITICAL,
        )
    if unopened(source):
        if source.count and source.fetched_at:
            return Line(tr("Not opened, from {when}").format(when=moment_text(source.fetched_at, now)), "ring")
        return Line(tr("Not opened yet"), "ring")
    kits = counted(source.count, "Kit", "Kits")
    if source.account:
        return Line(tr("Signed in as {name}").format(name=visible(source.account)), "success")
    if source.kind is SourceKind.DEMO:
        return Line(f"{tr('Built in')}, {kits}")
    if source.kind is SourceKind.FOLDER:
        return Line(f"{tr('Folder')}, {kits}")
    if source.kind is SourceKind.LAYOUT:
        return Line(f"{tr('Image layout')}, {kits}")
    if source.kind is SourceKind.SET:
        return Line(f"{tr('Set file')}, {kits}")
    return Line(kits)


def status_words(sources: Sequence[SourceInfo]) -> tuple[str, str]:
    """The footer's icon and words: a source that shows nothing, or did not answer, is not counted among those that
    do."""
    silent = [source for source in sources if source.state not in (SourceState.READY, SourceState.LOADING)]
    closed = [source for source in sources if unopened(source) and not source.count]
    total = sum(source.count for source in sources)
    shown = len(sources) - len(closed) - sum(not source.count for source in silent)
    words = f"{counted(total, 'Kit', 'Kits')} {tr('in')} {counted(shown, 'source', 'sources')}"
    if closed:
        words += f" · {tr('{n} not opened yet').format(n=number(len(closed)))}"
    if silent:
        words += f" · {tr('{n} not readable now').format(n=number(len(silent)))}"
    return ("info" if silent else "success"), words


def lapsed(source: SourceInfo) -> bool:
    """Whether a sign-in that once worked no longer does."""
    return source.state is SourceState.SIGN_IN and (bool(source.account) or bool(source.count))


def removable(source: SourceInfo) -> bool:
    """Whether it can be taken from the list: what comes with Kit Studio stays."""
    return source.kind is not SourceKind.DEMO and source.id != VERIFIED


def unopened(source: SourceInfo) -> bool:
    """Whether nothing has been asked of a network source in this run."""
    return source.network and not source.opened and source.state is SourceState.READY


def seconds_left(source: SourceInfo, now: float | None = None) -> float:
    """Seconds until a limited source answers again; 0 where it did not say or the time is over."""
    if source.state is not SourceState.LIMITED or not source.retry_at:
        return 0.0
    return max(0.0, source.retry_at - (time.time() if now is None else now))


def host_of(source: SourceInfo) -> str:
    """The host a request to this source goes to, for a person to read."""
    if source.kind is SourceKind.HUB and not source.registry:
        return "hub.docker.com"
    return visible(source.registry or source.id)


def tool_tip(source: SourceInfo) -> str:
    """Everything there is to say of a source, a line each."""
    lines = [visible(source.id), visible(source.note)]
    if source.account:
        lines.append(tr("Signed in to {host} as {name}").format(host=host_of(source), name=visible(source.account)))
    if source.error is not None:
        lines += [visible(source.error.what), visible(source.error.remedy)]
    if source.fetched_at:
        lines.append(tr("Its list came {when}").format(when=moment_text(source.fetched_at)))
    if source.network:
        told = tr("Its icons are fetched") if source.trusted else tr("Its icons are not fetched")
        lines.append(told)
    return "\n".join(line for line in lines if line)
