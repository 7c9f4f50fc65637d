"""How pages reach each other without knowing each other: one object with signals, owned by the main window."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from kitstudio.services.approvals import Request


class PageName(StrEnum):
    """Pages of the rail, in order."""

    CATALOG = "catalog"
    COMPOSER = "composer"
    APPROVALS = "approvals"
    SANDBOXES = "sandboxes"
    SETTINGS = "settings"


class Navigator(QObject):
    """Emit to ask; the main window and the pages listen.

    ``add_to_set(reference)`` · ``open_kit(reference)`` · ``open_set(path)`` · ``show_request(Request)`` ·
    ``show_finding(Request, key)`` · ``show_sandbox(name)`` ·
    ``edit_kit(path)``, empty asks for a file · ``change_set(SandboxSet)`` of a sandbox · ``go(page)``.
    """

    add_to_set = Signal(str)
    open_kit = Signal(str)
    open_set = Signal(str)
    show_request = Signal(object)
    show_finding = Signal(object, str)
    show_sandbox = Signal(str)
    edit_kit = Signal(str)
    change_set = Signal(object)
    go = Signal(str)

    def request(self, request: Request) -> None:
        """Typed form of ``show_request``."""
        self.show_request.emit(request)
