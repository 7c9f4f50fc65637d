"""``agent-skill@1``: one skill a Kit ships in its own layers, shown to the agent at every skills path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from kitstudio.models.capabilities import paths
from kitstudio.models.capabilities.contract import CapabilityType, Claim, Config, FieldKeywords, MergeConflict
from kitstudio.models.capabilities.shape import Reader, ShapeError, holds_reference, is_parameterised
from kitstudio.models.issue import Issue

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class AgentSkill:
    """``name`` is None when not stated; the effective one is then the last segment of ``path``."""

    path: str
    name: str | None = None

    @property
    def effective_name(self) -> str:
        return self.name if self.name is not None else paths.clean(self.path).rpartition("/")[2]


class AgentSkillType(CapabilityType[AgentSkill]):
    name = "com.docker.sandbox/agent-skill@1"
    title = "bundled skill"
    silent = True
    keywords: ClassVar[FieldKeywords] = {"": {"required": ["path"]}, "name": {"pattern": f"^(?:{_NAME.pattern})$"}}

    def read(self, fields: Reader) -> AgentSkill:
        name = fields.text("name") if fields.has("name") else None
        return AgentSkill(fields.text("path"), name)

    def presence(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        path = (config or {}).get("path")
        if not isinstance(path, str) or (not holds_reference(path) and not _is_directory(path)):
            return (_path_issue(f"{where}.config"),)
        return ()

    def values(self, config: AgentSkill, at: str) -> Iterable[Issue]:
        """One fault an entry: the name is judged first."""
        name = config.effective_name
        if not _NAME.fullmatch(name) or len(name.encode()) > 255:
            stated = "the skill's name" if config.name is not None else "the skill's name, taken from its path,"
            yield Issue(f"{at}.name", f"{stated} begins with a letter or digit and holds only those and . _ -")
        elif not _is_directory(config.path):
            yield _path_issue(at)

    def check_published(self, config: Config, where: str) -> tuple[Issue, ...]:
        path = (config or {}).get("path")
        if is_parameterised(path):
            return (Issue(f"{where}.config.path", "a published skill's path holds no reference"),)
        return ()

    def claims(self, config: Config) -> tuple[Claim, ...]:
        try:
            skill = self.decode(config)
        except ShapeError:
            return ()
        if any(self.values(skill, "")):
            return ()
        name = skill.effective_name
        return (Claim(f"skill {name}", ".config", f"a skill named {name!r}"),)

    def merge_key(self, config: AgentSkill) -> str:
        return config.effective_name

    def merge(self, first: AgentSkill, second: AgentSkill) -> AgentSkill:
        if first.path != second.path:
            raise MergeConflict(f"different skills named {first.effective_name}")
        return first


def _is_directory(path: str) -> bool:
    return paths.is_canonical(path) and path != "/"


def _path_issue(at: str) -> Issue:
    return Issue(f"{at}.path", "a skill's path is absolute, in its shortest form, and not the root")


TYPE = AgentSkillType()
