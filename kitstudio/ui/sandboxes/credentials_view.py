"""Credentials: what a sandbox signs in to, when, and whether a secret is bound. Never the value."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.services.credential_uses import CREDENTIAL, Use
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.rows_pane import RowsPane
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import ExactEntry, Icon, button, holder, line, row, text_label
from kitstudio.ui.widgets.composite import StateView
from kitstudio.ui.widgets.text import tr, visible

_HOW = {
    "key": tr("put into requests on the way out"),
    "variable": tr("handed to the sandbox itself"),
    "tokens": tr("tokens, renewed by the host"),
}
_MOST_HOSTS = 4


class CredentialsView(RowsPane):
    """``bind_wanted(service)``: the person wants to bind a secret, or another one."""

    bind_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        empty = StateView(
            theme, "credentials", tr("Nothing to sign in to"), tr("No Kit of this set asks for a credential.")
        )
        super().__init__(empty, parent)
        self.theme = theme
        self._shown: object = None

    def show_credentials(self, uses: Sequence[Use], bound: Collection[str], skipped: Sequence[str]) -> None:
        """Show these. ``bound``: services with a secret; ``skipped``: what the sandbox was created without."""
        found = (tuple(uses), frozenset(bound), tuple(skipped))
        if found == self._shown:
            return
        self._shown = found
        self.begin()
        for at, use in enumerate(uses):
            if at:
                self.add(line())
            left_out = any(text.startswith(f"{CREDENTIAL} {use.service}:") for text in skipped)
            self.add(self._line(use, use.service in bound, left_out))
        self.end(empty=not uses)

    def _line(self, use: Use, bound: bool, left_out: bool) -> QWidget:
        theme = self.theme
        if left_out:
            icon, ink = "minus", Token.SECONDARY
            state = tr("Left out when the sandbox was created")
            state += " · " + (tr("recreate it to sign in") if bound else tr("bind a secret and recreate it to sign in"))
        elif bound:
            icon, ink, state = "success", Token.SUCCESS, tr("Bound")
        else:
            icon, ink, state = "notice", Token.NOTICE, tr("Not bound")
            state += " · " + tr("requests go out without signing in; the next start may refuse")
        phases = tr("in {phases}").format(phases=" and ".join(use.phases))
        need = tr("optional") if use.optional else tr("required")
        hosts = ", ".join(claim(host, 80) for host in use.hosts[:_MOST_HOSTS])
        if len(use.hosts) > _MOST_HOSTS:
            hosts += ", …"
        parts = (phases, need, *(_HOW[how] for how in use.how), tr("for {hosts}").format(hosts=hosts) if hosts else "")
        texts = QVBoxLayout()
        texts.setSpacing(theme.px(3))
        texts.addWidget(ExactEntry(theme, use.service))
        told = row(Icon(theme, icon, 16, ink), spacing=theme.px(6))
        told.addWidget(text_label(state, Type.BODY, str(ink), wrap=True), 1)
        texts.addWidget(holder(told))
        about = visible(" · ".join(part for part in parts if part))
        texts.addWidget(text_label(about, Type.SMALL, "secondary", wrap=True))
        words = tr("Replace…") if bound else tr("Bind…")
        tool = button(theme, words, "credentials", "flat", small=True, name=f"bind-{use.service}")
        name = tr("Replace the secret of {service}") if bound else tr("Bind a secret for {service}")
        tool.setAccessibleName(name.format(service=use.service))
        tool.clicked.connect(lambda: self.bind_wanted.emit(use.service))
        picture = Icon(theme, "credentials", 20)
        body = row(picture, spacing=theme.px(10), margins=(theme.px(16), theme.px(9), theme.px(12), theme.px(9)))
        body.setAlignment(picture, Qt.AlignmentFlag.AlignTop)
        body.addLayout(texts, 1)
        body.addWidget(tool, 0, Qt.AlignmentFlag.AlignTop)
        return holder(body)
