"""The subject of Settings: approval policy and host policy, each change one undoable step."""

from __future__ import annotations

from kitstudio.ui.approvals.policy_view import ALWAYS, LEAD, SWITCHES, PolicyRules, policy_switch
from kitstudio.ui.fonts import Type
from kitstudio.ui.navigator import PageName
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.widgets.basic import Icon, button, text_label
from kitstudio.ui.widgets.text import tr


class PolicySection(SettingsSection):
    """What cannot be turned off is shown with a lock and said; the person's own rules stand below it."""

    key = "approvals"

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(context, tr("Approval policy and host policy"), tr(LEAD))
        opened = button(self.theme, tr("Open approvals"), "approvals", small=True, name="settings-approvals")
        opened.clicked.connect(lambda: context.navigator.go.emit(str(PageName.APPROVALS)))
        self.action(opened)
        on = text_label(tr("On"), Type.SMALL, "secondary")
        self.add(tr(ALWAYS[0]), tr(ALWAYS[1]), Icon(self.theme, "lock", 16), on)
        for key, words in SWITCHES.items():
            self.add(tr(words[0]), tr(words[1]), policy_switch(self.theme, context.settings, key, self._change))
        self.rules = PolicyRules(self.theme, context.settings, self._change)
        self.below(self.rules)

    def _change(self, key: str, value: object, words: str) -> None:
        if not self.context.set(key, value, words):
            self.rules.refresh()
