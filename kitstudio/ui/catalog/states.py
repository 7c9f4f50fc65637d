"""The catalog's designed states: what stands above the cards, and in their place where there are none."""

from __future__ import annotations

from kitstudio.services.catalog import SourceInfo, SourceKind, SourceState
from kitstudio.ui.catalog.source_words import host_of, seconds_left, unopened
from kitstudio.ui.widgets import Banner, StateView
from kitstudio.ui.widgets.text import duration_text, moment_text, tr, visible

_ICONS = {SourceState.OFFLINE: "offline", SourceState.LIMITED: "clock", SourceState.SIGN_IN: "lock"}


def draw_banner(banner: Banner, source: SourceInfo | None) -> None:
    """One strip for the source that is looked at, while its cards are shown from what was kept."""
    if source is None or not source.count:
        banner.hide()
        return
    age = tr("Showing what was fetched before.")
    if source.fetched_at:
        age = tr("Showing what was fetched {when}.").format(when=moment_text(source.fetched_at))
    if unopened(source):
        words = f"{age} " + tr("Opening sends the first request to {host}.").format(host=host_of(source))
        banner.tell("ring", tr("Not opened yet."), words, ("open", tr("Open"), "external"))
        return
    if source.state in (SourceState.READY, SourceState.LOADING, SourceState.SIGN_IN):
        banner.hide()
        return
    lead = {SourceState.OFFLINE: tr("Offline."), SourceState.LIMITED: tr("Limit reached.")}
    what = visible(source.error.what if source.error else source.detail)
    words = age if source.state is SourceState.OFFLINE else f"{what} {age}"
    if left := seconds_left(source):
        words = tr("{what} Again in {time}.").format(what=what, time=duration_text(left)) + f" {age}"
    action = None if seconds_left(source) else ("retry", tr("Try again"), "refresh")
    banner.tell(_ICONS.get(source.state, "critical"), lead.get(source.state, tr("Not readable.")), words, action)


def draw_state(
    state: StateView,
    sources: tuple[SourceInfo, ...],
    source: SourceInfo | None,
    *,
    loading: bool,
    narrowed: bool,
) -> None:
    """What stands where no card does."""
    again = ("retry", tr("Try again"), "refresh")
    looked_at = (source,) if source is not None else sources
    if loading or any(info.state is SourceState.LOADING for info in looked_at):
        state.show_state("spinner", tr("Reading the list"), tr("The first Kits appear in a moment."))
    elif source is not None and unopened(source) and not source.count:
        words = tr("Nothing has been asked of {host}. Opening it sends the first request.")
        opening = ("open", tr("Open {host}").format(host=host_of(source)), "external")
        state.show_state("ring", tr("Not opened yet"), words.format(host=host_of(source)), [opening])
    elif source is not None and source.state is SourceState.LIMITED and not source.count:
        what = visible(source.error.what if source.error else source.detail)
        actions = [] if seconds_left(source) else [again]
        state.show_state("clock", tr("Limit reached"), what, actions)
    elif source is not None and source.state is SourceState.OFFLINE and not source.count:
        what = visible(source.error.what if source.error else source.detail or tr("It did not answer."))
        what = what[:1].upper() + what[1:]
        what = what if what.endswith(".") else f"{what}."
        words = f"{what} " + tr("Nothing was fetched from it before.")
        state.show_state("offline", tr("Offline"), words, [again])
    elif source is not None and source.state is SourceState.SIGN_IN and not source.count:
        words = tr("{host} lists nothing without a sign-in.").format(host=host_of(source))
        state.show_state("lock", tr("Sign in to see its Kits"), words)
    elif source is not None and source.error is not None and not source.count:
        state.show_error(source.error, [again])
    elif narrowed:
        state.show_state(
            "search",
            tr("No Kit fits"),
            tr("Nothing in this list matches the words and boxes chosen."),
            [("clear", tr("Show all Kits"), "catalog")],
        )
    elif source is not None:
        words = visible(source.note) or tr("The source lists nothing for this account.")
        if nameable(source):
            words += " " + tr("Name a repository below, or type a reference in the search field.")
        state.show_state("catalog", tr("No Kits here"), words, [again])
    else:
        _draw_empty(state, sources)


def nameable(source: SourceInfo | None) -> str:
    """What a repository's name is put behind where a registry was asked and lists nothing; empty: not to be asked."""
    if source is None or source.kind not in (SourceKind.REGISTRY, SourceKind.HUB) or unopened(source):
        return ""
    unlisted = source.state in (SourceState.READY, SourceState.ERROR, SourceState.SIGN_IN)
    return source.id if unlisted and not source.count and source.kind is SourceKind.REGISTRY else ""


def _draw_empty(state: StateView, sources: tuple[SourceInfo, ...]) -> None:
    demo = any(info.kind is SourceKind.DEMO and info.count for info in sources)
    add = ("add", tr("Add a source"), "plus")
    actions = [("demo", tr("Show the demo Kits"), "sandboxes"), add] if demo else [add]
    words = tr("Add a registry or a folder to see its Kits.")
    if demo:
        words += " " + tr("The built-in demo works without a network and without signing in.")
    hint = tr("or drop a folder, an image layout or a .yaml file on Composer")
    state.show_state("catalog", tr("No Kits yet"), words, actions, hint)
