"""A Kit card in words and chips: what the painter draws, the table says and a screen reader speaks. Pure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

from kitstudio.models.words import claim
from kitstudio.registry.source import RateLimited, SignInRequired, Unreachable
from kitstudio.services.catalog import CardKind, KitCard
from kitstudio.ui.theme import Tone
from kitstudio.ui.widgets import painters
from kitstudio.ui.widgets.painters import ChipLook
from kitstudio.ui.widgets.text import counted, duration_text, moment_text, number, tr, visible


class CardAction(StrEnum):
    """What can be done about a card that failed, from the card itself."""

    NONE = ""
    SIGN_IN = "sign-in"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed card: the headline, what happened, what to do, and the action that does it."""

    headline: str
    what: str
    remedy: str
    tone: Tone
    icon: str
    action: CardAction = CardAction.RETRY
    label: str = ""


def failure(card: KitCard, retry_at: float = 0.0, now: float | None = None) -> Failure | None:
    """What is said of a card that could not be read; None for one that could. ``retry_at``: when its source answers
    again, where it said so."""
    if card.kind is not CardKind.ERROR:
        return None
    error = card.error
    what, remedy = (visible(error.what), visible(error.remedy)) if error is not None else (tr("Not readable."), "")
    if isinstance(error, SignInRequired):
        label = tr("Sign in to {host}").format(host=visible(registry_of(card)))
        headline = tr("Sign in to see this Kit.")
        return Failure(headline, what, remedy, Tone.NOTICE, "lock", CardAction.SIGN_IN, label)
    again = tr("Try again")
    if isinstance(error, RateLimited):
        left = retry_at - (time.time() if now is None else now)
        if left > 0:
            words = tr("Limit reached, again in {time}.").format(time=duration_text(left))
            return Failure(words, what, remedy, Tone.NOTICE, "clock", CardAction.NONE)
        return Failure(tr("Limit reached."), what, remedy, Tone.NOTICE, "clock", CardAction.RETRY, again)
    if isinstance(error, Unreachable):
        headline = tr("Not reachable.")
        return Failure(headline, what, remedy, Tone.NOTICE, "offline", CardAction.RETRY, again)
    return Failure(tr("Not readable."), what, remedy, Tone.CRITICAL, "critical", CardAction.RETRY, again)


def card_chips(card: KitCard) -> tuple[ChipLook, ...]:
    """The chips of a card: authority, or what stands in its place."""
    if card.kind is CardKind.V2:
        return (ChipLook(tr("v2 artifact"), Tone.PLAIN, "tag"), ChipLook(tr("cannot be mixed with v3"), Tone.PLAIN))
    if card.kind is CardKind.IMAGE:
        return (ChipLook(tr("Plain image"), Tone.PLAIN, "sandboxes"), ChipLook(tr("not a Kit"), Tone.PLAIN))
    if card.kind is CardKind.LOADING:
        return (ChipLook(tr("Permissions not fetched yet"), Tone.PLAIN, "clock"),)
    told = failure(card)
    if told is not None:
        return (ChipLook(told.headline, told.tone, told.icon),)
    newer = len(card.newer_types)
    if newer:
        text = counted(newer, "type newer than this app", "types newer than this app")
        return (ChipLook(text, Tone.CRITICAL, "critical"), *(painters.chip_looks(card.chips, 3) if card.chips else ()))
    return painters.chip_looks(card.chips)


def figures(card: KitCard, now: float | None = None) -> str:
    """The quiet words at a card's lower right: what the Hub counts, and the age of what is kept."""
    parts = []
    if card.stars:
        parts.append(counted(card.stars, "star", "stars"))
    if card.pulls is not None:
        parts.append(tr("{n} pulls").format(n=short_number(card.pulls)))
    if card.fetched_at:
        parts.append(tr("from {when}").format(when=moment_text(card.fetched_at, now)))
    return " · ".join(parts)


def short_number(value: int) -> str:
    """1,182 as it is, 12.4k, 3.1M: figures to compare at a glance."""
    for limit, unit in ((1_000_000_000, "B"), (1_000_000, "M"), (10_000, "k")):
        if value >= limit:
            shown = value / (1000 if unit == "k" else limit)
            return f"{shown:.0f}{unit}" if shown >= 100 else f"{shown:.1f}{unit}"
    return number(value)


def kind_word(kind: CardKind) -> str:
    return tr(
        {
            CardKind.WORKLOAD: "Workload",
            CardKind.MIXIN: "Mixin",
            CardKind.V2: "v2 artifact",
            CardKind.IMAGE: "Plain image",
            CardKind.LOADING: "Loading",
            CardKind.ERROR: "Not readable",
        }[kind]
    )


def kind_and_version(card: KitCard) -> str:
    """``Mixin · 2.73.0``."""
    parts = [] if card.kind in (CardKind.ERROR, CardKind.LOADING) else [kind_word(card.kind)]
    return " · ".join((*parts, visible(card.version)) if card.version else parts)


def card_name(card: KitCard) -> str:
    """What a card is called; the repository's own name where the Kit says nothing."""
    return claim(card.display_name) or visible(card.repository.rpartition("/")[2] or card.repository)


def registry_of(card: KitCard) -> str:
    """The host a card's Kit lies on."""
    return card.repository.partition("/")[0]


def vouched(card: KitCard, source_title: str) -> str:
    """Who vouches for the publisher."""
    if not card.verified:
        return ""
    return tr("{publisher} is verified: vouched by {source}").format(
        publisher=visible(card.publisher), source=visible(source_title or card.source)
    )


def tool_tip(card: KitCard, source_title: str = "", reason: str | None = None) -> str:
    """Everything a card only hints at, a line each."""
    lines = [visible(card.reference)]
    lines += [vouched(card, source_title)]
    if card.newer_types:
        lines.append(tr("Newer than this app: {types}").format(types=", ".join(map(visible, card.newer_types))))
    if card.fetched_at:
        lines.append(tr("Shown from what was kept {when}").format(when=moment_text(card.fetched_at)))
    told = failure(card)
    if told is not None:
        lines += [told.what, told.remedy]
    if reason is not None:
        works = tr("Works with the current set")
        lines.append(tr("Does not fit the current set: {why}").format(why=visible(reason)) if reason else works)
    return "\n".join(line for line in lines if line)


def spoken(card: KitCard, reason: str | None = None) -> str:
    """A card in words."""
    if card.kind is CardKind.LOADING:
        return tr("{name}, loading").format(name=visible(card.repository))
    told = failure(card)
    chips = ", ".join(look.text for look in card_chips(card))
    state = f"{told.headline} {told.what} {told.remedy}" if told is not None else chips
    verified = f", {tr('verified')}" if card.verified else ""
    why = tr("Does not fit the current set: {why}").format(why=visible(reason)) if reason else ""
    parts = (
        card_name(card),
        f"{visible(card.publisher)}{verified}",
        kind_and_version(card),
        claim(card.description),
        state,
        figures(card),
        why,
    )
    return ". ".join(part for part in parts if part)
