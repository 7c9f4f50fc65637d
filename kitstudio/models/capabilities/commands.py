"""Commands as configs state them: one text for the shell, or an argv."""

from __future__ import annotations

from kitstudio.models.capabilities.shape import Reader

Argv = tuple[str, ...]


def command(fields: Reader, name: str) -> Argv | None:
    """A complete command: a text runs in ``sh -c``, a list is the argv. None when absent or null."""
    stated = fields.text_or_texts(name)
    if isinstance(stated, str):
        return ("sh", "-c", stated)
    return stated


def spoken(argv: Argv) -> str:
    """A command on one line for a person: the shell's text as it is, an argv joined by blanks."""
    if len(argv) == 3 and argv[:2] == ("sh", "-c"):
        return argv[2]
    return " ".join(argv)
