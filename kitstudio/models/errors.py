"""The one shape of every failure a person may see: what, where, remedy.

Each layer has its own family (``DescriptorError`` here, ``RegistryError``, ``SandboxError``, …), so a caller
can catch by layer, and nobody parses messages.
"""

from __future__ import annotations


class KitStudioError(Exception):
    """A failure told in three parts.

    ``what``: one sentence, the fact. ``where``: the place (reference, file:line:column, dotted path, host), may
    be empty. ``remedy``: what the person can do now, may be empty where nothing is known to help.
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" {self.remedy}" if self.remedy else ""
        return f"{place}{self.what}{advice}"


class DescriptorError(KitStudioError):
    """A document that does not decode as a Kit descriptor (§1.2), or a value the grammar refuses."""
