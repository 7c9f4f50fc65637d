"""The ``kitstudio`` program: arguments → command (``cli.md``)."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code of ``cli.md`` (0 done, 1 failed, 2 refused, 64 usage)."""
    raise NotImplementedError
