"""Git identity: the name and address a Kit may put on commits. Both or none."""

from __future__ import annotations

from PySide6.QtCore import Qt

from kitstudio.ui.fonts import Type
from kitstudio.ui.settings.fields import TextSetting
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.theme import Token
from kitstudio.ui.widgets import Icon, holder, row, text_label
from kitstudio.ui.widgets.text import tr, visible


class GitIdentitySection(SettingsSection):
    """Two fields, and a sentence on what a sandbox gets from them."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("Git identity"),
            tr(
                "Commits in a sandbox carry this name and address, where its Kit asks for your Git identity. Nothing "
                "is read from Git’s own configuration, and a sandbox keeps the pair it was created with."
            ),
        )
        self.name = TextSetting(context, "git.name", tr("Name for commits"), "Ada Lovelace")
        self.email = TextSetting(context, "git.email", tr("E-mail address for commits"), "ada@example.com")
        for title, field in ((tr("Name"), self.name), (tr("E-mail address"), self.email)):
            field.setMinimumWidth(self.theme.px(320))
            field.field.setProperty("mono", False)
            self.add(title, "", field)
        self._icon = Icon(self.theme, "info", 16, Token.SECONDARY)
        self.state = text_label("", Type.SMALL, "secondary", wrap=True)
        self.state.setObjectName("git-identity-state")
        note = row(spacing=self.theme.px(8))
        note.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        note.addWidget(self.state, 1)
        self.below(holder(note))
        self._tell()

    def changed(self, key: str) -> None:
        if key in ("git.name", "git.email"):
            self._tell()

    def _tell(self) -> None:
        name, email = (self.context.settings.text(key) for key in ("git.name", "git.email"))
        look = ("info", Token.SECONDARY)
        words = tr("Not stated. Kits that require an identity do not start; others run without one.")
        if name and email:
            look = ("success", Token.SUCCESS)
            words = tr("New sandboxes commit as {name} <{email}>.").format(name=name, email=email)
        elif name or email:
            look = ("notice", Token.NOTICE)
            words = tr("Incomplete: {missing} is missing. Until then no sandbox gets an identity.")
            words = words.format(missing=tr("the e-mail address") if name else tr("the name"))
        self.state.setText(visible(words))
        self._icon.show_icon(*look)
