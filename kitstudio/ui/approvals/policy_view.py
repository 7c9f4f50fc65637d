"""The person's own rules and the host policy: each list said in words, checked while it is typed, undone by removing.

No rule ever answers yes (§7.4): *never* refuses, *tick* asks for one more answer, *expected* only sorts the reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.models.policy import Rule, RuleKind, parse
from kitstudio.models.words import term
from kitstudio.services.policy import AUTO_APPLY, KEYS
from kitstudio.services.settings import Settings
from kitstudio.ui.flow import ScrollContent
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import (
    Icon,
    Switch,
    button,
    column,
    holder,
    icon_button,
    line,
    row,
    set_ground,
    text_label,
)
from kitstudio.ui.widgets.text import tr, visible


@dataclass(frozen=True, slots=True)
class _Part:
    """One list of rules: what it is called, what it does, what it may be about, an example."""

    kind: RuleKind
    title: str
    about: str
    icon: str
    subjects: tuple[tuple[str, str, str], ...]


_HOST = ("host", "Host", "metadata.internal or *.ads.example")
_TYPE = ("type", "Capability type", "com.docker.sandbox/privileged@1")
_CATEGORY = ("category", "Category", "privileged or credentials")
PARTS = (
    _Part(
        RuleKind.NEVER,
        "Never",
        "Whatever asks for this is refused, also by a person's yes. What was approved before is refused as well.",
        "deny",
        (_CATEGORY, _HOST, _TYPE),
    ),
    _Part(
        RuleKind.TICK,
        "Needs my tick",
        "Findings about this are critical for you: each needs a tick of its own before anything can be approved.",
        "check",
        (_CATEGORY, _HOST, _TYPE),
    ),
    _Part(
        RuleKind.EXPECTED,
        "Expected",
        "Hosts you expect of a publisher's Kits come last among findings of their weight. They are asked all the same.",
        "filter",
        (("expected", "Publisher and domain", "docker.io/acme=acme.example"),),
    ),
    _Part(
        RuleKind.HOST,
        "Host policy",
        "This machine never grants it, whatever is approved. Where it overrides an entry, the entry is struck out.",
        "lock",
        (_HOST, _TYPE),
    ),
)


LEAD = "Your rules refuse, ask for more, or sort. None of them ever says yes for you."
Change = Callable[[str, object, str], None]
"""Keeps a setting: key, value, and what is done, in words."""

ALWAYS = ("Ask before anything that asks for more", "Always on; this one can’t be turned off.")
AUTO = (
    "Apply updates within the surface by themselves",
    "An update that asks for no more than was approved is put in force and recorded. Off: it waits, too.",
)
SWITCHES = {
    AUTO_APPLY: AUTO,
    "updates.on_start": (
        "Look for updates when Kit Studio starts",
        "Asks the sources of approved Kits. “Look for updates” on the Approvals page asks at any time.",
    ),
    "updates.daily": ("Look for updates once a day", "While Kit Studio is open. What asks for more waits for you."),
}
"""What can be switched, by setting: title and sentence."""


class PolicyRules(QWidget):
    """The four lists, as the settings hold them; ``change`` keeps what is added or taken back."""

    def __init__(self, theme: Theme, settings: Settings, change: Change) -> None:
        super().__init__()
        self._settings = settings
        self._change = change
        self.lists = {part.kind: _RuleList(theme, part) for part in PARTS}
        self.setLayout(column(*self.lists.values(), spacing=theme.px(12)))
        for kind, shown in self.lists.items():
            shown.added.connect(partial(self._add, kind))
            shown.removed.connect(partial(self._remove, kind))
        self.destroyed.connect(settings.changed.subscribe(lambda key: self.refresh(key)))
        self.refresh()

    def refresh(self, key: str = "") -> None:
        """Show the rules again, those of one setting or all."""
        for kind, shown in self.lists.items():
            if key in ("", KEYS[kind]):
                shown.show_rules([parse(kind, text) for text in self._settings.texts(KEYS[kind])])

    def _add(self, kind: RuleKind, text: str) -> None:
        rules = self._settings.texts(KEYS[kind])
        if text not in rules:
            self._change(KEYS[kind], [*rules, text], tr("Add a rule"))

    def _remove(self, kind: RuleKind, text: str) -> None:
        rules = [rule for rule in self._settings.texts(KEYS[kind]) if rule != text]
        self._change(KEYS[kind], rules, tr("Take back a rule"))


def policy_switch(theme: Theme, settings: Settings, key: str, change: Change) -> Switch:
    """One of ``SWITCHES``; follows its setting."""
    title = tr(SWITCHES[key][0])
    made = Switch(theme, title, bool(settings.get(key)))
    made.setObjectName(f"policySwitch-{key}")
    made.toggled.connect(lambda on: change(key, on, title))
    follow = settings.changed.subscribe(lambda one: made.setChecked(bool(settings.get(key))) if one == key else None)
    made.destroyed.connect(follow)
    return made


class PolicyView(QScrollArea):
    """The tab of the Approvals page. ``failed`` carries the ``KitStudioError`` of a rule that could not be kept."""

    failed = Signal(object)

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self._theme = theme
        self._settings = settings
        self.setObjectName("policyView")
        self.setAccessibleName(tr("Approval policy and host policy"))
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.rules = PolicyRules(theme, settings, self._set)
        self.switches = {key: policy_switch(theme, settings, key, self._set) for key in SWITCHES}
        content = ScrollContent()
        content.setLayout(self._content())
        set_ground(content, "surface")
        self.setWidget(content)

    @property
    def lists(self) -> dict[RuleKind, _RuleList]:
        return self.rules.lists

    def _content(self) -> QVBoxLayout:
        theme = self._theme
        inner = column(spacing=theme.px(12), margins=(theme.px(24), theme.px(20), theme.px(24), theme.px(24)))
        inner.addWidget(text_label(tr(LEAD), Type.BODY, "secondary", wrap=True))
        first = self._line(ALWAYS)
        first.addWidget(Icon(theme, "lock", 16))
        first.addWidget(text_label(tr("On"), Type.SMALL, "secondary"))
        card = column(first, spacing=theme.px(12), margins=(16, 12, 16, 12))
        for key, words in SWITCHES.items():
            each = self._line(words)
            each.addWidget(self.switches[key])
            card.addWidget(line())
            card.addLayout(each)
        inner.addWidget(_card(card))
        inner.addWidget(self.rules)
        inner.addStretch(1)
        return inner

    def _line(self, words: tuple[str, str]) -> QHBoxLayout:
        title = text_label(tr(words[0]), Type.STRONG, wrap=True)
        about = text_label(tr(words[1]), Type.SMALL, "secondary", wrap=True)
        made = row(spacing=self._theme.px(8))
        made.addLayout(column(title, about, spacing=self._theme.px(2)), 1)
        return made

    def _set(self, key: str, value: object, _words: str) -> None:
        try:
            self._settings.set(key, value)
        except KitStudioError as error:
            self.failed.emit(error)
            self.rules.refresh()


class _RuleList(QWidget):
    """One kind of rules: each in words with a button that takes it back, and a line to add one."""

    added = Signal(str)
    removed = Signal(str)

    def __init__(self, theme: Theme, part: _Part) -> None:
        super().__init__()
        self._theme = theme
        self._part = part
        self._rows = QVBoxLayout()
        self._rows.setSpacing(theme.px(6))
        self.subject = QComboBox()
        self.subject.setObjectName(f"policySubject-{part.kind.name}")
        self.subject.setAccessibleName(tr("What the rule is about"))
        self.subject.addItems([tr(label) for _, label, _ in part.subjects])
        self.value = QLineEdit()
        self.value.setObjectName(f"policyValue-{part.kind.name}")
        self.value.setAccessibleName(tr("New rule: {title}").format(title=tr(part.title)))
        self.add = button(theme, tr("Add"), "plus", small=True, name=f"policyAdd-{part.kind.name}")
        self.add.setAccessibleName(tr("Add rule: {title}").format(title=tr(part.title)))
        self.told = text_label("", Type.SMALL, "secondary", wrap=True)
        self.told.setObjectName(f"policyTold-{part.kind.name}")
        self.subject.setVisible(len(part.subjects) > 1)
        self.subject.currentIndexChanged.connect(lambda _index: self._judge())
        self.value.textChanged.connect(lambda _text: self._judge())
        self.value.returnPressed.connect(self._add)
        self.add.clicked.connect(self._add)
        self._build()
        self._judge()

    def show_rules(self, rules: list[Rule]) -> None:
        """Show these rules."""
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for rule in rules:
            self._rows.addWidget(self._row(rule))
        if not rules:
            self._rows.addWidget(text_label(tr("No rules."), Type.SMALL, "secondary"))

    def _build(self) -> None:
        theme, part = self._theme, self._part
        head = row(Icon(theme, part.icon, 16), text_label(tr(part.title), Type.STRONG), None, spacing=theme.px(6))
        line_ = row(self.subject, spacing=theme.px(8))
        line_.addWidget(self.value, 1)
        line_.addWidget(self.add)
        inner = column(spacing=theme.px(8), margins=(16, 12, 16, 12))
        inner.addLayout(head)
        inner.addWidget(text_label(tr(part.about), Type.SMALL, "secondary", wrap=True))
        inner.addLayout(self._rows)
        inner.addLayout(line_)
        inner.addWidget(self.told)
        outer = column(_card(inner), spacing=0)
        self.setLayout(outer)

    def _row(self, rule: Rule) -> QWidget:
        theme = self._theme
        words = column(text_label(visible(rule_words(rule)), wrap=True), spacing=theme.px(2))
        words.addWidget(text_label(visible(rule.text), Type.MONO, "secondary", wrap=True))
        take = icon_button(theme, "close", tr("Take back: {rule}").format(rule=visible(rule.text)), small=True)
        take.setObjectName("policyRemove")
        take.clicked.connect(partial(self.removed.emit, rule.text))
        inner = row(spacing=theme.px(8))
        inner.addLayout(words, 1)
        inner.addWidget(take)
        made = QWidget()
        made.setObjectName("policyRule")
        made.setLayout(inner)
        return made

    def _typed(self) -> Rule:
        key, _, _ = self._part.subjects[self.subject.currentIndex()]
        text = self.value.text().strip()
        return parse(self._part.kind, text if key == "expected" else f"{key}={text}")

    def _judge(self) -> None:
        """What the rule being typed would do, or what is wrong with it."""
        _, _, example = self._part.subjects[self.subject.currentIndex()]
        self.value.setPlaceholderText(example)
        if not self.value.text().strip():
            self._say(tr("For example {example}.").format(example=example), "secondary", False)
            return
        try:
            self._say(rule_words(self._typed()), "secondary", True)
        except ValueError as error:
            self._say(tr("The rule {fault}.").format(fault=visible(str(error))), str(Token.CRITICAL), False)

    def _say(self, words: str, ink: str, good: bool) -> None:
        self.told.setText(visible(words))
        self.told.setProperty("ink", ink)
        self.told.style().unpolish(self.told)
        self.told.style().polish(self.told)
        self.value.setAccessibleDescription(words)
        self.add.setEnabled(good)

    def _add(self) -> None:
        if not self.add.isEnabled():
            return
        text = self._typed().text
        self.value.clear()
        self.added.emit(text)


def rule_words(rule: Rule) -> str:
    """One rule in a sentence."""
    about = {
        "host": tr("connections to {what}"),
        "type": tr("the capability type {what}"),
        "category": tr("everything of the category {what}"),
    }[rule.subject].format(what=term(rule.pattern))
    match rule.kind:
        case RuleKind.NEVER:
            return tr("Refuses {about}, without exception.").format(about=about)
        case RuleKind.TICK:
            return tr("Asks for a tick of its own for {about}.").format(about=about)
        case RuleKind.EXPECTED:
            words = tr(
                "Sorts hosts of {domain} last where {publisher} asks for them; they are asked about all the same."
            )
            return words.format(domain=term(rule.pattern), publisher=term(rule.publisher))
        case RuleKind.HOST:
            return tr("This machine never grants {about}, whatever is approved.").format(about=about)


def _card(layout: QVBoxLayout) -> QWidget:
    made = holder(layout, "raised")
    made.setProperty("card", True)
    return made
