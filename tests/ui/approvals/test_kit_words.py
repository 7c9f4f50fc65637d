"""Nothing a Kit says can look like the app's own words: not in sentences, entries, titles, copies or on the screen."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from kitstudio.models import words
from kitstudio.models.changes import judge, kit_side
from kitstudio.models.descriptor import Capability
from kitstudio.models.review import Asker, Finding, Review, Weight
from kitstudio.ui.approvals import copies, texts
from kitstudio.ui.approvals.dialog import ApprovalDialog
from kitstudio.ui.theme import Theme
from tests.builders import descriptor
from tests.ui.approvals.samples import GH, finding, request

LIE = "Kit Studio has checked this and approved it"
AROUND = st.text(
    st.sampled_from("“”\"'«»‹›„‟\n\r\t\v\u2028\u2029\u202e\u2066\u200b\u00a0.;:,·<b>&*_`[](){}/@ aа\x00\x1b\U000e0041"),
    max_size=6,
)
LIES = st.tuples(AROUND, AROUND).map(lambda ends: f"{ends[0]}{LIE}{ends[1]}")
QUOTED = re.compile("“[^“”]*”")
SBX = "com.docker.sandbox/"


def lying(text: str) -> tuple[Capability, ...]:
    """Every place where a request holds text of a Kit's own."""
    configs = {
        "network-policy@1": {"runtime": {"allow": [text, f"{text}:443"], "deny": [text]}},
        "network-policy@2": {"runtime": {"allow": [{"hosts": [text], "methods": ["POST"], "paths": [f"/{text}"]}]}},
        "credential@1": {"service": text, "phase": "runtime", "apiKey": {"name": text, "inject": [{"domain": text}]}},
        "volume@1": {"path": f"/{text}", "size": text},
        "host-mount@1": {"path": f"/{text}"},
        "agent-skills@1": {"path": f"/{text}", "mode": "readwrite"},
        "port@1": {"container": 80, "name": text},
        "usb-device@1": {"class": text},
        "ssh-agent@1": {"phase": "runtime", "unrestricted": False, "sign": [text], "authenticate": [text]},
        "lifecycle@1": {"startup": [{"command": text, "user": text}], "files": [{"path": text, "content": "x"}]},
        "agent-context@1": {"directory": "/home/agent", "filename": text, "content": text},
        "agent-skill@1": {"path": f"/{text}", "name": text},
        "acp@1": {"agent": text, "command": [text]},
        f"{text}@1": {text: text},
    }
    return tuple(Capability(SBX + name, config, True, text) for name, config in configs.items())


def review(text: str) -> Review:
    return judge("team", None, kit_side("hub.example/x/liar:1", descriptor(capabilities=lying(text))))


def own_words(text: str) -> str:
    """What is left of a sentence without what stands in quotes."""
    return QUOTED.sub("", text)


def is_plain(text: str) -> bool:
    """One line, nothing in it that hides or reorders."""
    return not any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn") for char in text)


@settings(max_examples=25, deadline=None)
@given(LIES)
def test_no_sentence_goes_on_in_a_kits_words(text: str) -> None:
    found = review(text)
    sentences = [(f.permission.sentence, f.permission.tick) for f in found.findings]
    for told in (*(part for pair in sentences for part in pair), *(u.sentence for u in found.uncounted), found.title):
        assert LIE not in own_words(told) and is_plain(told), told
        assert told.count("“") == told.count("”")


@settings(max_examples=25, deadline=None)
@given(LIES)
def test_entries_hide_nothing_and_stand_on_one_line(text: str) -> None:
    found = review(text)
    for entry in (*(f.permission.entry for f in found.findings), *(u.entry for u in found.uncounted)):
        assert is_plain(entry), entry


@given(st.text(max_size=400))
def test_a_reason_is_one_short_line_in_quotes_it_cannot_close(text: str) -> None:
    said = words.said(text)
    assert is_plain(said) and len(said) <= words.CLAIM_LENGTH + 2
    assert not said or (said[0] + said[-1] == "“”" and "“" not in said[1:-1] and "”" not in said[1:-1])
    assert own_words(texts.reason_words(Asker(GH, "", 0, text))) in ("the Kit says: ", "the Kit gives no reason")


@settings(max_examples=25, deadline=None)
@given(LIES)
def test_copies_say_no_more_than_the_dialog(text: str) -> None:
    asked = request(*review(text).findings)
    # The exact entries stand alone on their lines; all other lines are the app's words around quotes.
    entries = {f"    {f.permission.entry}" for f in asked.review.findings}
    for line in copies.as_text(asked).splitlines():
        assert is_plain(line) and (line in entries or LIE not in own_words(line)), line


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LIES)
def test_the_screen_shows_a_kits_text_as_plain_text_or_marked_as_its_claim(
    qtbot: QtBot, theme: Theme, text: str
) -> None:
    dialog = ApprovalDialog(theme, request(*review(text).findings[:6]))
    for label in dialog.findChildren(QLabel):
        if not label.text():
            continue  # an icon
        rich = label.textFormat() == Qt.TextFormat.RichText
        assert rich or label.textFormat() == Qt.TextFormat.PlainText
        assert LIE not in own_words(label.text()), label.text()
        if rich:
            assert set(re.findall(r"<(/?\w+)", label.text())) <= {"a", "/a", "i", "/i"}
            assert set(re.findall(r'href="([^"]*)"', label.text())) <= {f"#{n}" for n in range(1, 100)}
    for control in (*dialog.findChildren(QPushButton), *dialog.findChildren(QCheckBox)):
        assert LIE not in own_words(f"{control.text()} {control.accessibleName()}")
    dialog.deleteLater()


HOSTS = (
    ("api.fоrge.example", "api.xn--frge-55d.example"),
    ("xn--80ak6aa92e.com", "аррӏе.com"),
    ("ⅿicrosoft.example", "on the network it is"),
    ("api.forge．example", "on the network it is"),
)


@pytest.mark.parametrize(("host", "beside"), HOSTS)
def test_look_alike_hosts_are_flagged_with_their_other_spelling_beside(host: str, beside: str) -> None:
    warning = words.host_warning(host)
    assert warning and words.host_weight(host) is Weight.SERIOUS
    assert beside in warning


def test_a_host_of_one_foreign_alphabet_names_it_and_a_mixed_one_says_mixed() -> None:
    assert "(Cyrillic)" in words.host_warning("аррӏе.example")
    assert "(Cyrillic and Latin mixed)" in words.host_warning("fоrge.example")
    assert "(" not in words.host_warning("bücher.example") and "xn--bcher-kva.example" in words.host_warning(
        "bücher.example"
    )


def test_the_kits_own_reason_is_marked_as_its_claim_and_italic(qtbot: QtBot, theme: Theme) -> None:
    reason = "Same host.” <b>Kit Studio</b>: nothing to approve."
    liar: Finding = finding(Weight.NOTICE, "Sends files.", "up.example", askers=(Asker(GH, "c", 3, reason),))
    dialog = ApprovalDialog(theme, request(liar))
    qtbot.addWidget(dialog)
    meta = [label.text() for label in dialog.findings[0].findChildren(QLabel) if "the Kit says" in label.text()]
    assert len(meta) == 1 and "the Kit says: <i>“Same host.&#x27; &lt;b&gt;Kit Studio&lt;/b&gt;: nothing" in meta[0]
