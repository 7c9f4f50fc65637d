"""One quiet notice when a request begins to wait: a strip in the window, and the desktop's own where there is a tray.

It begins with what would be reached and by which Kit, and leads to that very finding. Dismissing it answers nothing:
the request stays where it waits.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QSystemTrayIcon, QWidget

from kitstudio.models import words
from kitstudio.models.review import Finding, Group
from kitstudio.services.app import Studio
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets.composite import Banner
from kitstudio.ui.widgets.text import tr, visible

if TYPE_CHECKING:
    from kitstudio.services.approvals import Request

DESK = "approvalDesk"
"""The object name of the window's desk; there is none before anything was asked."""
_LONGEST = 80


class ApprovalNotices(QObject):
    """``banner`` stands above the pages. What a person has had on screen already is not told again."""

    def __init__(self, studio: Studio, theme: Theme, navigator: Navigator, window: QWidget) -> None:
        super().__init__(window)
        self._studio = studio
        self._theme = theme
        self._navigator = navigator
        self._window = window
        self._known: set[str] = set()
        self._quiet = False
        self._shown: tuple[Request, str] | None = None
        self._tray: QSystemTrayIcon | None = None
        self.banner = Banner(theme, Tone.NOTICE)
        self.banner.setObjectName("approvalNotice")
        self.banner.acted.connect(self._act)

    def follow(self) -> None:
        """Tell from now on what begins to wait; what waits already is known."""
        approvals = self._studio.approvals
        self._known |= {request.id for request in approvals.waiting()}
        self.destroyed.connect(approvals.changed.subscribe(lambda _: self.look()))

    async def begin(self) -> None:
        """Bring back what waited when the program ended: the badge counts it, no notice tells it a second time."""
        self.follow()
        self._quiet = True
        try:
            await self._studio.approvals.load()
        finally:
            self._quiet = False

    def look(self) -> None:
        """Tell what waits since the last look, and take back a notice of what no longer does."""
        waiting = self._studio.approvals.waiting()
        desk = self._window.findChild(QObject, DESK)
        seen: Collection[str] = getattr(desk, "seen", ())
        new = [request for request in waiting if request.id not in self._known and request.id not in seen]
        self._known |= {request.id for request in waiting}
        if self._shown is not None and all(request.id != self._shown[0].id for request in waiting):
            self._hide()
        if new and not self._quiet:
            self._tell(new)

    def _tell(self, new: list[Request]) -> None:
        request = max(new, key=lambda each: max((f.weight for f in each.review.findings), default=0))
        finding = request.review.findings[0] if request.review.findings else None
        lead, words_ = notice_words(request, finding)
        if len(new) > 1:
            words_ += " " + tr("{n} more wait.").format(n=len(new) - 1)
        self._shown = (request, finding.key if finding is not None else "")
        review, later = ("review", tr("Review…"), "approvals"), ("later", tr("Later"), "close")
        self.banner.tell("notice", lead, words_, review, later)
        if QSystemTrayIcon.isSystemTrayAvailable():
            tray = self._with_tray()
            tray.show()
            tray.showMessage(lead, words_, self._theme.icon("approvals", 32, Token.ACCENT))

    def _act(self, key: str) -> None:
        if key == "review" and self._shown is not None:
            self._open()
        self._hide()

    def _open(self) -> None:
        """From the desktop's notice, too: the window comes to the front at that very finding."""
        if self._shown is None:
            return
        request, finding = self._shown
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()
        self._hide()
        self._navigator.show_finding.emit(request, finding)

    def _hide(self) -> None:
        self._shown = None
        self.banner.hide()
        if self._tray is not None:
            self._tray.hide()

    def _with_tray(self) -> QSystemTrayIcon:
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._theme.icon("approvals", 32, Token.ACCENT), self)
            self._tray.setToolTip(tr("Kit Studio: something waits for your answer"))
            self._tray.messageClicked.connect(self._open)
            self._tray.activated.connect(lambda _reason: self._open())
        return self._tray


def notice_words(request: Request, finding: Finding | None) -> tuple[str, str]:
    """What the notice says: first the host (or entry) and the Kit, then the sentence."""
    from kitstudio.ui.approvals import texts  # read with the gate, which a start does not wait for

    if finding is None:
        return visible(request.name), visible(request.review.title)
    item = finding.permission
    kit = item.askers[0].kit if item.askers else ""
    who = words.exact(f"{texts.short_name(kit)} {texts.version_of(kit)}".strip()) if kit else request.name
    return f"{_subject(finding)} · {who}", item.sentence


def _subject(finding: Finding) -> str:
    """The host of a network finding, else the exact entry; one line, no longer than a notice has room for."""
    detail = finding.widenings[0].detail
    if finding.permission.group is Group.NETWORK and detail:
        host = detail.partition(" ")[2].partition("/")[0] if ".http." in finding.widenings[0].category else detail
        return words.claim(words.exact(host), _LONGEST)
    return words.claim(finding.permission.entry, _LONGEST)
