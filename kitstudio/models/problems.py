"""Why a set cannot be used as it stands, and what one click can do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ProblemKind(StrEnum):
    """Kinds of the judged cases, then ours; the last one is the runtime's, not the set's."""

    NO_WORKLOAD = "no-workload"
    SEVERAL_WORKLOADS = "several-workloads"
    SEVERAL_PROVIDERS = "several-providers"
    SEVERAL_CREDENTIAL_OWNERS = "several-credential-owners"
    REQUIRES_MISSING = "requires-missing"
    REQUIRES_UNSATISFIED = "requires-unsatisfied"
    INTEGRATES_VIOLATED = "integrates-violated"
    CONFLICT = "conflict"
    CYCLE = "cycle"
    MALFORMED_ENTRY = "malformed-entry"
    EMPTY_SET = "empty-set"
    ARG = "arg"
    MERGE = "merge"
    FILE_COLLISION = "file-collision"
    MISSING_PLATFORM = "missing-platform"
    NOT_A_KIT = "not-a-kit"
    UNREACHABLE = "unreachable"
    UNSUPPORTED_CAPABILITY = "unsupported-capability"


class RemedyKind(StrEnum):
    """What one click can do about a problem."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"
    SET_ARG = "set-arg"
    RETRY = "retry"
    SIGN_IN = "sign-in"


@dataclass(frozen=True, slots=True)
class Remedy:
    """One undoable step. ``label`` is the button's text; ``kit`` acts, ``other`` is what replaces or is added.

    ``sign-in``: ``other`` is the registry; what failed is tried again afterwards, and nothing of the set changes.
    """

    kind: RemedyKind
    label: str
    kit: str = ""
    other: str = ""
    arg: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a set cannot be used as it stands. ``kits``: references as the set states them."""

    kind: ProblemKind
    kits: tuple[str, ...]
    name: str
    message: str
    detail: str = ""
    remedies: tuple[Remedy, ...] = ()
