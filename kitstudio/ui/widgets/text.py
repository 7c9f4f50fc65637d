"""Words and numbers as screens show them: sizes, moments, counts, and text whose invisible characters are told."""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

from kitstudio.models.review import Group, Permission, Phase, Weight
from kitstudio.models.words import exact

BREAKS = "/,"
ZERO_WIDTH_SPACE = "\u200b"


def tr(text: str, count: int = -1) -> str:
    """Translate an English string of the window; ``%n`` takes ``count``."""
    return QCoreApplication.translate("KitStudio", text, "", count).replace("%n", number(count))


def counted(count: int, one: str, many: str) -> str:
    """``3 hosts``, ``1 host``: a number with its noun."""
    return f"{number(count)} {tr(one) if count == 1 else tr(many)}"


def number(value: int) -> str:
    """With the locale's separators."""
    return QLocale().toString(value)


def size_text(size: int) -> str:
    """kB, MB, GB with one decimal."""
    value, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{size} B" if unit == "B" else f"{QLocale().toString(value, 'f', 1)} {unit}"


def moment_text(seconds: float, now: float | None = None) -> str:
    """Relative under seven days, a date after that."""
    passed = max(0.0, (time.time() if now is None else now) - seconds)
    if passed < 60:
        return tr("just now")
    if passed < 3600:
        return tr("{n} min ago").format(n=int(passed // 60))
    if passed < 86400:
        return tr("{n} h ago").format(n=int(passed // 3600))
    days = int(passed // 86400)
    if days < 7:
        return tr("yesterday") if days == 1 else tr("{n} days ago").format(n=days)
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(seconds)), "d MMM yyyy")


def duration_text(seconds: float) -> str:
    """0:09 under an hour, ``1 h 12 min`` beyond."""
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return tr("{h} h {m} min").format(h=whole // 3600, m=whole % 3600 // 60)


def short_digest(digest: str) -> str:
    """Eight hex digits and an ellipsis; the whole digest belongs in the tool tip and in what is copied."""
    value = digest.partition(":")[2] or digest
    return f"{value[:8]}…" if len(value) > 8 else value


def visible(text: str) -> str:
    """``text`` with control, format and bidirectional characters spelled out, so nothing hides or reorders."""
    return exact(text)


def breakable(text: str) -> str:
    """``visible`` with break opportunities after ``/`` and ``,``; for layout only, never for what is copied."""
    shown = visible(text)
    for mark in BREAKS:
        shown = shown.replace(mark, mark + ZERO_WIDTH_SPACE)
    return shown


def weight_word(weight: Weight) -> str:
    return tr(
        {Weight.INFO: "Info", Weight.NOTICE: "Notice", Weight.SERIOUS: "Serious", Weight.CRITICAL: "Critical"}[weight]
    )


def group_word(group: Group) -> str:
    """The heading of a group: its name with a capital."""
    name = str(group)
    return tr(name[:1].upper() + name[1:])


def phase_words(permission: Permission) -> str:
    """``Runtime · optional``."""
    phase = tr({Phase.INSTALL: "Install", Phase.RUNTIME: "Runtime", Phase.ALWAYS: "Always"}[permission.phase])
    if permission.denies:
        return phase
    return f"{phase} · {tr('optional') if permission.optional else tr('required')}"
