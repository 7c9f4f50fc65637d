"""One validation finding: where in the descriptor, what is wrong, and what would repair it (§11)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Issue:
    """``path`` is dotted with ``[n]`` indices; empty for the document as a whole."""

    path: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        if not self.path or self.message.startswith(self.path):
            return self.message
        return f"{self.path}: {self.message}"
