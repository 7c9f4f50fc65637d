"""What the checks on an artifact look at, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kitstudio.models.artifact_tree import Tree
from kitstudio.models.descriptor import Descriptor


class Verdict(StrEnum):
    """Outcome of a check. ``FAIL`` is the breach of a MUST, ``WARN`` of a SHOULD; ``SKIP`` was not judged."""

    PASS = "pass"
    WARN = "warn"
    SKIP = "skip"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Found:
    """One finding of a check."""

    verdict: Verdict
    detail: str


@dataclass(frozen=True, slots=True)
class Check:
    """One check that applied: its name, the requirement it stands for, its worst verdict, what it found."""

    id: str
    requirement: str
    verdict: Verdict
    findings: tuple[Found, ...] = ()

    @property
    def detail(self) -> str:
        return " ".join(found.detail for found in self.findings)


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """What the image config says of §8 and §12. ``env`` as ``NAME=value``."""

    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    user: str = ""
    env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """One platform of an artifact, as far as it is at hand.

    ``index``: annotations of the outermost index, None without one. ``config`` None: it does not parse. ``tree`` None:
    the layers were not fetched. ``listed``: the descriptor annotation of each Kit a merged set lists, None for one that
    cannot be reached; None altogether where nobody asked.
    """

    annotations: Mapping[str, str]
    config: LaunchConfig | None
    layers: int
    index: Mapping[str, str] | None = None
    tree: Tree | None = None
    listed: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A view whose descriptor decoded."""

    view: View
    descriptor: Descriptor
    text: str
    types: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_set(self) -> bool:
        return bool(self.descriptor.kits)


NOT_FETCHED = Found(Verdict.SKIP, "The layers were not fetched.")


def fail(detail: str) -> Found:
    """The breach of a MUST."""
    return Found(Verdict.FAIL, detail)


def always(subject: Subject) -> bool:
    """For checks that apply to every Kit."""
    return True


@dataclass(frozen=True, slots=True)
class Rule:
    """One check: its name, the requirement, to what it applies, what it finds."""

    id: str
    requirement: str
    judge: Callable[[Subject], Iterable[Found]]
    applies: Callable[[Subject], bool] = always

    def check(self, subject: Subject) -> Check:
        """Judge; the worst finding decides."""
        return outcome(self.id, self.requirement, self.judge(subject))


def outcome(name: str, requirement: str, findings: Iterable[Found]) -> Check:
    """A check out of its findings."""
    found = tuple(findings)
    worst = (Verdict.FAIL, Verdict.WARN, Verdict.SKIP)
    verdict = next((v for v in worst if any(f.verdict is v for f in found)), Verdict.PASS)
    return Check(name, requirement, verdict, found)
