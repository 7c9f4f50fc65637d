"""Registries and sign-in: who is signed in where, where each secret lies, and what protects it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from kitstudio.registry.secret_store import FILE, KEYRING, SESSION
from kitstudio.services.catalog import SourceInfo, SourceState
from kitstudio.services.sign_in import DOCKER, SignedIn
from kitstudio.ui.fonts import Type
from kitstudio.ui.settings.rows import cell
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.sign_in import SignInDialog
from kitstudio.ui.theme import Token
from kitstudio.ui.widgets import Icon, button, column, holder, line, row, text_label
from kitstudio.ui.widgets.text import tr, visible

if TYPE_CHECKING:
    from kitstudio.registry.credentials import Account
    from kitstudio.registry.sign_in import StoreChoice

STORES = {KEYRING: tr("Keyring"), FILE: tr("Private file"), SESSION: tr("This session"), DOCKER: tr("Docker")}


class SignInsSection(SettingsSection):
    """A table of accounts and of registries in the catalog nobody is signed in to, and a sentence on protection."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("Registries and sign-in"),
            tr("Docker’s own sign-ins are read where there are any, and never changed."),
        )
        add = button(self.theme, tr("Add a sign-in…"), "plus", name="settings-sign-in")
        add.clicked.connect(lambda: self.open_dialog(""))
        self.action(add)
        self._state: SignedIn | None = None
        self._choice: StoreChoice | None = None
        self._drawn: object = None
        self._foot = column(spacing=self.theme.px(4))
        self.below(holder(self._foot))
        self.add(tr("Looking…"), "")
        self.destroyed.connect(context.studio.sign_in.changed.subscribe(lambda _: self._read()))
        self.destroyed.connect(context.studio.catalog.changed.subscribe(lambda _: self._draw()))

    def look(self) -> None:
        self._read()

    def open_dialog(self, place: str) -> SignInDialog:
        """Sign in: from a person's click."""
        dialog = SignInDialog(self.theme, self.studio, place, parent=self.window())
        dialog.signed_in.connect(lambda host: self.context.tasks.start(self.studio.catalog.retry(host)))
        dialog.open()
        return dialog

    def _read(self) -> None:
        self.context.tasks.start(self._load(), "sign-ins")

    async def _load(self) -> None:
        self._state = await self.studio.sign_in.signed_in()
        self._draw()
        if self._choice is None:
            self._choice = await self.studio.sign_in.choices()
        self._draw()

    def _draw(self) -> None:
        if self._state is None:
            return
        held = {account.host for account in self._state.accounts}
        sources = {source.registry: source for source in self.studio.catalog.sources() if source.registry}
        without = tuple(source for host, source in sources.items() if host not in held and source.network)
        drawn = (self._state, self._choice, tuple((s.registry, s.state) for s in sources.values()))
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self.clear()
        grid = QGridLayout()
        grid.setHorizontalSpacing(self.theme.px(16))
        grid.setVerticalSpacing(0)
        for at, (words, stretch) in enumerate(
            ((tr("Registry"), 5), (tr("Account"), 3), (tr("State"), 4), (tr("Comes from"), 3), ("", 0))
        ):
            if words:
                grid.addWidget(text_label(words, Type.LABEL, "secondary"), 0, at)
            grid.setColumnStretch(at, stretch)
        grid.setRowMinimumHeight(0, self.theme.px(36))
        for account in self._state.accounts:
            self._account_row(grid, account, sources.get(account.host))
        for source in without:
            action = self._link(
                tr("Sign in…"), tr("Sign in to {place}"), source.registry, self._opener(source.registry)
            )
            state = _state_words(source) or ("info", tr("Not signed in"), Token.SECONDARY)
            self._row(grid, source.registry, "", state, "", action)
        if not self._state.accounts and not without:
            grid.addWidget(line(), 1, 0, 1, 5)
            empty = tr("Nobody is signed in anywhere. Public Kits need no sign-in.")
            grid.addWidget(text_label(empty, Type.BODY, "secondary", wrap=True), 2, 0, 1, 5)
            grid.setRowMinimumHeight(2, self.theme.px(44))
        self.fill(grid)
        self._draw_foot()

    def _account_row(self, grid: QGridLayout, account: Account, source: SourceInfo | None) -> None:
        assert self._state is not None
        state = _state_words(source) or ("success", tr("Signed in"), Token.SUCCESS)
        place = account.place
        if account.store == KEYRING and self._state.locked:
            action = self._link(tr("Unlock…"), tr("Unlock the keyring for {place}"), place, self._unlock)
            state = ("lock", tr("Keyring locked"), Token.NOTICE)
        elif account.store == DOCKER:
            action = self._link(tr("Sign in…"), tr("Sign in to {place} as somebody else"), place, self._opener(place))
        else:
            action = self._link(tr("Sign out"), tr("Sign out of {place}"), place, self._leaver(place))
        self._row(grid, place, account.username, state, STORES.get(account.store, account.store), action)

    def _row(
        self, grid: QGridLayout, place: str, user: str, state: tuple[str, str, Token], store: str, action: QWidget
    ) -> None:
        at = grid.rowCount()
        grid.addWidget(line(), at, 0, 1, 5)
        icon, words, ink = state
        told = row(Icon(self.theme, icon, 16, ink), spacing=6)
        told.addWidget(cell(words, Type.BODY, str(ink)), 1)
        cells = (
            cell(visible(place), Type.MONO),
            cell(visible(user) or tr("none"), Type.BODY, "" if user else "secondary"),
            holder(told),
            cell(store or tr("none"), Type.BODY, "secondary"),
            action,
        )
        for n, made in enumerate(cells):
            if n < len(cells) - 1:
                grid.addWidget(made, at + 1, n)
            else:
                grid.addWidget(made, at + 1, n, _AT_END)
        grid.setRowMinimumHeight(at + 1, self.theme.px(44))

    def _draw_foot(self) -> None:
        while (item := self._foot.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        assert self._state is not None
        for warning in (*self._state.warnings, self._state.problem):
            if warning:
                self._note("notice", visible(warning), Token.NOTICE)
        choice = self._choice
        if choice is None:
            return
        kept = next((each for each in choice.offered if each.name == choice.recommended), None)
        if kept is not None:
            locked = " " + tr("It is locked now.") if choice.locked else ""
            icon, ink = ("lock", Token.SUCCESS) if kept.encrypted else ("notice", Token.NOTICE)
            words = tr("Secrets are kept in: {title}. {sentence}")
            self._note(icon, words.format(title=visible(kept.title), sentence=visible(kept.sentence)) + locked, ink)
        else:
            words = tr("{reason} You choose at each sign-in: a private file, not encrypted, or this session only.")
            self._note("notice", words.format(reason=visible(choice.fallback_reason)), Token.NOTICE)
        if any(account.store == FILE for account in self._state.accounts):
            self._note("notice", visible(self.studio.sign_in.describe(FILE)), Token.NOTICE)

    def _note(self, icon: str, words: str, ink: Token) -> None:
        layout = row(spacing=self.theme.px(8))
        layout.addWidget(Icon(self.theme, icon, 16, ink), 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(text_label(words, Type.SMALL, "secondary", wrap=True), 1)
        self._foot.addWidget(holder(layout))

    def _link(self, words: str, name: str, place: str, act: Callable[[], object]) -> QWidget:
        made = button(self.theme, words, kind="link", name=f"{words.rstrip('…').lower().replace(' ', '-')}-{place}")
        made.setAccessibleName(name.format(place=place))
        made.clicked.connect(lambda: act())
        return made

    def _opener(self, place: str) -> Callable[[], object]:
        return lambda: self.open_dialog(place)

    def _leaver(self, place: str) -> Callable[[], object]:
        return lambda: self.context.tasks.start(self.studio.sign_in.logout(place))

    def _unlock(self) -> None:
        self.context.tasks.start(self.studio.sign_in.unlock(), "unlock")


_AT_END = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _state_words(source: SourceInfo | None) -> tuple[str, str, Token] | None:
    """What the catalog knows of the registry, where that is more than that it works."""
    if source is None or source.state in (SourceState.READY, SourceState.LOADING):
        return None
    from kitstudio.ui.catalog.source_words import state_line

    told = state_line(source)
    return (told.icon or "info", told.text, told.ink)
