"""Ten version bumps as a reviewer meets them: everything the right decision needs stands in the dialog's own texts."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from kitstudio.models.review import Weight
from kitstudio.ui.approvals import texts
from kitstudio.ui.approvals.dialog import ApprovalDialog
from kitstudio.ui.theme import Mode, Theme
from tests.ui.approvals.bumps import BUMPS, Bump, request_of

SAYS = {
    "gh-host-mount": (
        "gh 2.73.0 asks for more than you approved for 2.72.0",
        "2 new permissions and 1 refusal taken away. Nothing has been applied yet.",
        ("Every sandbox with this Kit shares it.", "No longer refuses metadata.internal.example on port 80."),
    ),
    "code-server-second-port": (
        "code-server 4.10.0 asks for more than you approved for 4.9.1",
        "1 new permission. Nothing has been applied yet.",
        ("Opens port 8443 (“https”) of the sandbox to programs on this computer.",),
    ),
    "opencode-one-more-key": (
        "opencode 1.5.0 asks for more than you approved for 1.4.0",
        "2 new permissions. Nothing has been applied yet.",
        ("Signs in to second as you; the secret itself stays outside the sandbox.", "api.second.example on port 443"),
    ),
    "builder-any-host": (
        "builder 0.19.0 asks for more than you approved for 0.18.0",
        "2 new permissions. Nothing has been applied yet.",
        ("Connects to any host on any port for any purpose.", "with elevated privileges."),
    ),
    "cursor-real-token": (
        "cursor 2.1.0 asks for more than you approved for 2.0.0",
        "1 new permission. Below: 1 serious change the specification does not count. Nothing has been applied yet.",
        ("Serious. Changed: Finds the real key for cursor in the variable CURSOR_KEY.", "as root at every start."),
    ),
    "github-ssh-every-key": (
        "github-ssh 1.3.0 asks for more than you approved for 1.2.0",
        "1 new permission. Nothing has been applied yet.",
        ("Signs with any SSH key you expose, for anything, and logs in anywhere with it.",),
    ),
    "ecc-writes-skills": (
        "ecc 1.0.0 asks for more than you approved for 0.9.0",
        "1 new permission. Nothing has been applied yet.",
        ("Reads and changes your own skills, which other agents follow too.",),
    ),
    "docker-auth-config": (
        "hub-login 3.1.0 asks for more than you approved for 3.0.0",
        "1 new permission. Nothing has been applied yet.",
        ("which this app does not know: what it grants cannot be told.",),
    ),
    "statusline-look-alike": (
        "statusline 0.4.1 asks for more than you approved for 0.4.0",
        "1 new permission. Nothing has been applied yet.",
        ("(Cyrillic and Latin mixed)", "on the network it is api.xn--frge-55d.example."),
    ),
    "deny-moves-and-narrows": (
        "team-agent asks for what you approved, but from other Kits",
        "1 permission moved to another Kit. Nothing has been applied yet.",
        ("Moved here from dev-tools 2.0.0: the set as a whole asks for no more.",),
    ),
}


@pytest.fixture
def theme(qapp: object) -> Theme:
    theme = Theme(Mode.LIGHT)
    theme.install()
    return theme


@pytest.mark.parametrize("bump", BUMPS, ids=lambda bump: bump.name)
def test_the_dialog_alone_tells_what_to_decide(qtbot: QtBot, theme: Theme, bump: Bump) -> None:
    asked = request_of(bump)
    dialog = ApprovalDialog(theme, asked)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.complete)
    title, summary, sentences = SAYS[bump.name]
    read = [label.text() for label in dialog.findChildren(QLabel)]
    assert title in read and summary in read
    for sentence in sentences:
        assert any(sentence in text for text in read), sentence
    assert dialog.keep.isDefault() and dialog.approve.text() == texts.approve_text(asked.review)
    critical = any(finding.weight is Weight.CRITICAL for finding in asked.review.findings)
    assert dialog.approve.isEnabled() is not critical
    if bump.right == "without-optional":
        assert not dialog.without.isHidden()
    if critical:
        assert bump.right == "keep"


@pytest.mark.parametrize("bump", BUMPS, ids=lambda bump: bump.name)
def test_what_a_wider_entry_covers_is_not_called_narrowed(bump: Bump) -> None:
    narrowed = [row.entry for row in request_of(bump).review.narrowed]
    assert narrowed == (["8022/tcp"] if bump.name == "gh-host-mount" else [])
