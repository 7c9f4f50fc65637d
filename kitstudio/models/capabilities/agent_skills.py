"""``agent-skills@1``: a place where the agent looks for skills, and whether it may write the person's own there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kitstudio.models import words
from kitstudio.models.capabilities import paths
from kitstudio.models.capabilities.contract import (
    CapabilityType,
    Claim,
    Config,
    Fact,
    FieldKeywords,
    Grant,
    MergeConflict,
)
from kitstudio.models.capabilities.shape import Reader, ShapeError
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Weight


@dataclass(frozen=True, slots=True)
class AgentSkills:
    """``mode`` as stated; empty means readonly."""

    path: str
    mode: str = ""

    @property
    def writes(self) -> bool:
        return self.mode == "readwrite"


class AgentSkillsType(CapabilityType[AgentSkills]):
    name = "com.docker.sandbox/agent-skills@1"
    title = "shared skills"
    family = Group.SKILLS
    heaviest = Weight.CRITICAL
    keywords: ClassVar[FieldKeywords] = {
        "": {"required": ["path"]},
        "path": {"pattern": "^/"},
        "mode": {"enum": ["", "readonly", "readwrite"]},
    }

    def read(self, fields: Reader) -> AgentSkills:
        return AgentSkills(fields.text("path"), fields.text("mode"))

    def values(self, config: AgentSkills, at: str) -> Iterable[Issue]:
        if not paths.is_canonical(config.path) or config.path == "/":
            yield Issue(f"{at}.path", "a skills path is absolute, in its shortest form, and not the root")
        if config.mode not in ("", "readonly", "readwrite"):
            yield Issue(f"{at}.mode", f"{config.mode!r} is neither readonly nor readwrite")

    def claims(self, config: Config) -> tuple[Claim, ...]:
        try:
            path = self.decode(config).path
        except ShapeError:
            return ()
        return (Claim(f"skills {path}", ".config.path", f"the skills path {path!r}"),)

    def project(self, config: AgentSkills) -> Iterable[Fact]:
        yield "skills_paths", config.path
        if config.writes:
            yield "skills_write_paths", config.path

    def describe(self, config: AgentSkills) -> Iterable[Grant]:
        path = words.exact(config.path)
        if config.writes:
            yield Grant(
                Group.SKILLS,
                tuple(self.project(config)),
                f"{path} readwrite",
                "Reads and changes your own skills, which other agents follow too.",
                Weight.CRITICAL,
                at=".config",
                tick="I accept that it can change the skills my other agents follow",
            )
        else:
            yield Grant(
                Group.SKILLS,
                tuple(self.project(config)),
                path,
                "Reads your own skills, without changing them.",
                Weight.NOTICE,
                at=".config",
            )

    def merge_key(self, config: AgentSkills) -> str:
        return config.path

    def merge(self, first: AgentSkills, second: AgentSkills) -> AgentSkills:
        if (first.mode or "readonly") != (second.mode or "readonly"):
            raise MergeConflict(f"the skills path {first.path} read-only here and writable there")
        return first


TYPE = AgentSkillsType()
