"""Menus of the composer: what can be done with the chosen Kits, and the versions one could be replaced with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from kitstudio.models.plan import Plan
from kitstudio.services.catalog import Catalog
from kitstudio.ui.composer.edits import Edits
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import counted, tr, visible

VERSIONS = 30


@dataclass(frozen=True, slots=True)
class KitActions:
    """What the page does for a menu: open a page, offer versions, copy as text."""

    open_page: Callable[[str], None]
    offer_versions: Callable[[str, QPoint], None]
    copy: Callable[[Sequence[str]], None]


def kit_menu(
    theme: Theme,
    plan: Plan,
    pinned: frozenset[str],
    edits: Edits,
    actions: KitActions,
    chosen: Sequence[str],
    place: QPoint,
    parent: QWidget,
) -> QMenu:
    """What can be done with the chosen Kits of the set."""
    menu = QMenu(parent)
    menu.setObjectName("kitMenu")
    one = chosen[0] if len(chosen) == 1 else ""
    known = {member.reference: member.digest for member in plan.members}
    free = [ref for ref in chosen if ref not in pinned and known.get(ref) and "@sha256:" not in ref]
    held = [ref for ref in chosen if ref in pinned]
    many = "" if one else f" {counted(len(chosen), 'Kit', 'Kits')}"

    def add(name: str, words: str, icon: str, act: Callable[[], object], shortcut: str = "") -> None:
        action = menu.addAction(theme.icon(icon, 16, Token.SECONDARY), words)
        action.setObjectName(f"kit-{name}")
        if shortcut:
            action.setShortcut(shortcut)
            action.setShortcutVisibleInContextMenu(True)
        action.triggered.connect(lambda _=False: act())

    if one:
        add("open", tr("Open Kit page"), "catalog", lambda: actions.open_page(one), "Return")
        add("version", tr("Replace version…"), "swap", lambda: actions.offer_versions(one, place), "F2")
        digest = known.get(one, "")
        exact = f"{one.partition('@')[0]}@{digest}" if digest else one
        add("copy", tr("Copy reference and digest"), "copy", lambda: QGuiApplication.clipboard().setText(exact))
    menu.addSeparator()
    add("entries", tr("Copy for another set"), "file", lambda: actions.copy(chosen), "Ctrl+C")
    if free:
        add("pin", tr("Pin digest") + many, "lock", lambda: edits.pin(*free), "Ctrl+P")
    if held:
        add("unpin", tr("Unpin digest") + many, "tag", lambda: edits.unpin(*held), "Ctrl+Shift+P")
    menu.addSeparator()
    add("remove", tr("Remove") + many, "trash", lambda: edits.remove(*chosen), "Del")
    return menu


async def version_menu(
    catalog: Catalog, reference: str, replace: Callable[[str, str], object], parent: QWidget
) -> QMenu:
    """The versions a Kit could be replaced with, newest first."""
    details = await catalog.details(reference)
    menu = QMenu(parent)
    menu.setObjectName("versionMenu")
    repository, tag = split(reference)
    for version in details.versions[:VERSIONS]:
        action = menu.addAction(visible(version.tag))
        action.setObjectName(f"version-{version.tag}")
        action.setEnabled(version.tag != tag)
        new = f"{repository}:{version.tag}"
        action.triggered.connect(lambda _=False, new=new: replace(reference, new))
    if not details.versions:
        menu.addAction(tr("No other version is known")).setEnabled(False)
    return menu


def split(reference: str) -> tuple[str, str]:
    """Repository and tag."""
    name = reference.partition("@")[0]
    head, slash, tail = name.rpartition("/")
    base, _, tag = tail.partition(":")
    return f"{head}{slash}{base}", tag
