"""Fetching the members of a set: reference (and pin) → ``Member``, with every failure told as a problem of the set."""

from __future__ import annotations

from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.plan import Member, Problem, ProblemKind, Remedy, RemedyKind
from kitstudio.registry.reference import parse
from kitstudio.registry.source import Artifact, MissingPlatform, NotFound, SignInRequired
from kitstudio.services import cards
from kitstudio.services.composition import is_local
from kitstudio.services.places import Places


async def fetch_member(places: Places, reference: str, digest: str = "") -> Member:
    """One Kit of a set as its source has it now, or at ``digest`` where the set pins one. Never raises."""
    try:
        located = await places.locate(reference)
        exact = located.reference
        if digest:
            exact = exact.with_digest(digest)
        return member_of(reference, await located.place.source.artifact(exact))
    except NotFound as error:
        return Member(reference, digest, failure=failure(reference, _elsewhere(reference) or error))
    except KitStudioError as error:
        return Member(reference, digest, failure=failure(reference, error))


def member_of(reference: str, artifact: Artifact) -> Member:
    """The member an artifact is, under the reference the set states."""
    reading = cards.read(artifact)
    if reading.problems:
        return Member(reference, artifact.digest, failure=failure(reference, reading.problems[0]))
    document = reading.document
    assert document is not None
    return Member(
        reference,
        artifact.digest,
        document.descriptor,
        image_env=dict(_pairs(artifact)),
        text=document.text,
        lines=document.lines(),
    )


def failure(reference: str, error: KitStudioError) -> Problem:
    """Why a member cannot be used, with what can be done about it here."""
    name = _name(reference)
    remove = Remedy(RemedyKind.REMOVE, f"Remove {name}", kit=reference)
    retry = Remedy(RemedyKind.RETRY, "Try again", kit=reference)
    remedies: tuple[Remedy, ...] = (remove,)
    if isinstance(error, MissingPlatform):
        kind = ProblemKind.MISSING_PLATFORM
    elif isinstance(error, DescriptorError | cards.NotAKit):
        kind = ProblemKind.NOT_A_KIT
    else:
        kind, remedies = ProblemKind.UNREACHABLE, (retry, remove)
        if isinstance(error, SignInRequired):
            host = _registry(reference)
            remedies = (Remedy(RemedyKind.SIGN_IN, "Sign in…", kit=reference, other=host), *remedies)
    place = error.where if error.where != reference else ""
    detail = ": ".join(part for part in (place, error.remedy) if part)
    return Problem(kind, (reference,), name, f"{name}: {error.what}", detail, remedies)


def loading_member(reference: str, digest: str = "") -> Member:
    """A member on its way."""
    return Member(reference, digest, loading=True)


def _elsewhere(reference: str) -> KitStudioError | None:
    """What it means that a local Kit is not here."""
    if not is_local(reference):
        return None
    return KitStudioError(
        "This Kit is not on this machine: the set was written where it was.",
        where=reference,
        remedy="Add the Kit's folder or layout here, or ask for a published one.",
    )


def _pairs(artifact: Artifact) -> list[tuple[str, str]]:
    pairs = []
    for text in artifact.config.env if artifact.config else ():
        name, _, value = text.partition("=")
        pairs.append((name, value))
    return pairs


def _registry(reference: str) -> str:
    try:
        return parse(reference).registry
    except KitStudioError:
        return ""


def _name(reference: str) -> str:
    try:
        return cards.last_segment(parse(reference))
    except KitStudioError:
        return reference
