"""Credentials for sandboxes: which services have a secret, where it lies, which sets ask for it. Never a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.secret_store import FILE, KEYRING, SESSION
from kitstudio.services.credential_uses import Wanted, wanted_services
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.confirm import ConfirmDialog
from kitstudio.ui.settings.rows import cell
from kitstudio.ui.settings.section import SettingsContext, SettingsSection
from kitstudio.ui.sign_in.bind_dialog import BindDialog
from kitstudio.ui.theme import Token
from kitstudio.ui.widgets import Icon, button, column, holder, line, row, text_label
from kitstudio.ui.widgets.text import tr, visible

if TYPE_CHECKING:
    from kitstudio.services.credentials import Binding

STORES = {KEYRING: tr("Keyring"), FILE: tr("Private file"), SESSION: tr("This session")}
_AT_END = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class ServicesSection(SettingsSection):
    """A table of bound services and of those that approved sets ask for and nobody bound."""

    def __init__(self, context: SettingsContext) -> None:
        super().__init__(
            context,
            tr("Credentials for sandboxes"),
            tr(
                "What a Kit may sign in with. The value stays on this computer: a sandbox sees a placeholder, and the "
                "real one is put in on the way out, unless its review says that the Kit is handed the value itself."
            ),
        )
        add = button(self.theme, tr("Bind a service…"), "plus", name="settings-bind")
        add.clicked.connect(lambda: self.open_dialog(""))
        self.action(add)
        self._foot = column(spacing=self.theme.px(4))
        self.below(holder(self._foot))
        self._drawn: object = None
        self.add(tr("Looking…"), "")
        self.destroyed.connect(context.studio.credentials.changed.subscribe(lambda _: self.look()))
        self.destroyed.connect(context.studio.approvals.changed.subscribe(lambda _: self.look()))

    def look(self) -> None:
        self.context.tasks.start(self._load(), "services")

    def open_dialog(self, service: str) -> BindDialog:
        """Bind a service or put another secret in place: from a person's click."""
        dialog = BindDialog(self.theme, self.studio, service, parent=self.window())
        dialog.bound.connect(lambda name: self.context.tasks.start(self._rebind(name)))
        dialog.open()
        return dialog

    async def _load(self) -> None:
        approvals = self.studio.approvals
        try:
            found = await self.studio.credentials.list()
            names = await approvals.names()
            locks = [lock for name in names if (lock := await approvals.lock(name)) is not None]
        except KitStudioError as error:
            self._failed(error)
            return
        self._draw(found, {wanted.service: wanted for wanted in wanted_services(locks)})

    def _failed(self, error: KitStudioError) -> None:
        self._drawn = None
        self.clear()
        again = button(self.theme, tr("Try again"), "refresh", name="services-again")
        again.clicked.connect(self.look)
        about = " ".join(part for part in (error.where, error.remedy) if part)
        self.add(error.what, about, again, icon="critical", ink=Token.CRITICAL)

    def _draw(self, bound: tuple[Binding, ...], wanted: dict[str, Wanted]) -> None:
        if (bound, wanted) == self._drawn:
            return
        self._drawn = (bound, wanted)
        self.clear()
        held = {binding.service: binding for binding in bound}
        services = sorted({*held, *wanted})
        if not services:
            self.add(
                tr("Nothing is bound"),
                tr("No approved set asks for a credential. Bind one beforehand, or when a launch wants it."),
                icon="credentials",
            )
        else:
            self.fill(self._table(services, held, wanted))
        self._draw_foot(bound)

    def _table(self, services: list[str], held: dict[str, Binding], wanted: dict[str, Wanted]) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(self.theme.px(16))
        grid.setVerticalSpacing(0)
        heads = ((tr("Service"), 4), (tr("State"), 3), (tr("Kept in"), 3), (tr("Asked for by"), 5), ("", 0))
        for at, (words, stretch) in enumerate(heads):
            if words:
                grid.addWidget(text_label(words, Type.LABEL, "secondary"), 0, at)
            grid.setColumnStretch(at, stretch)
        grid.setRowMinimumHeight(0, self.theme.px(36))
        for service in services:
            self._row(grid, service, held.get(service), wanted.get(service))
        return grid

    def _row(self, grid: QGridLayout, service: str, binding: Binding | None, asked: Wanted | None) -> None:
        at = grid.rowCount()
        grid.addWidget(line(), at, 0, 1, 5)
        state = row(spacing=6)
        icon, ink, words = (
            ("success", Token.SUCCESS, tr("Bound")) if binding else ("notice", Token.NOTICE, tr("Not bound"))
        )
        state.addWidget(Icon(self.theme, icon, 16, ink))
        state.addWidget(cell(words, Type.BODY, str(ink)), 1)
        sets = ", ".join(asked.sets) if asked else ""
        store = STORES.get(binding.store, binding.store) if binding else ""
        cells = (
            cell(visible(service), Type.MONO),
            holder(state),
            cell(store or tr("none"), Type.BODY, "secondary"),
            cell(visible(sets) or tr("no approved set"), Type.BODY, "" if sets else "secondary"),
        )
        for number, made in enumerate(cells):
            grid.addWidget(made, at + 1, number)
        if binding:
            tools = row(
                self._link(tr("Replace…"), tr("Replace the secret of {service}"), service, self._opener(service)),
                self._link(tr("Remove…"), tr("Remove the secret of {service}"), service, self._remover(service, sets)),
                spacing=self.theme.px(8),
            )
        else:
            tools = row(self._link(tr("Bind…"), tr("Bind a secret for {service}"), service, self._opener(service)))
        grid.addWidget(holder(tools), at + 1, 4, _AT_END)
        grid.setRowMinimumHeight(at + 1, self.theme.px(44))

    def _draw_foot(self, bound: tuple[Binding, ...]) -> None:
        while (item := self._foot.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for protection in dict.fromkeys(binding.protection for binding in bound):
            icon, ink = ("lock", Token.SUCCESS) if protection.encrypted else ("notice", Token.NOTICE)
            layout = row(spacing=self.theme.px(8))
            layout.addWidget(Icon(self.theme, icon, 16, ink), 0, Qt.AlignmentFlag.AlignTop)
            words = f"{protection.title}: {protection.sentence}"
            layout.addWidget(text_label(visible(words), Type.SMALL, "secondary", wrap=True), 1)
            self._foot.addWidget(holder(layout))

    def _link(self, words: str, name: str, service: str, act: Callable[[], object]) -> QWidget:
        made = button(self.theme, words, kind="link", name=f"{words.rstrip('…').lower()}-{service}")
        made.setAccessibleName(name.format(service=service))
        made.clicked.connect(lambda: act())
        return made

    def _opener(self, service: str) -> Callable[[], object]:
        return lambda: self.open_dialog(service)

    def _remover(self, service: str, sets: str) -> Callable[[], object]:
        def ask() -> None:
            words = tr("Kit Studio forgets it; it cannot be brought back from here. Running sandboxes lose it at once.")
            if sets:
                words += " " + tr("Asked for by: {sets}.").format(sets=visible(sets))
            title = tr("Remove the secret of {service}?").format(service=service)
            dialog = ConfirmDialog(self.theme, title, words, tr("Remove the secret"), self.window())
            dialog.confirmed.connect(lambda: self.context.tasks.start(self._unbind(service), f"unbind-{service}"))
            dialog.open()

        return ask

    async def _unbind(self, service: str) -> None:
        await self.studio.credentials.unbind(service)
        await self._rebind(service)

    async def _rebind(self, service: str) -> None:
        """Running sandboxes get what counts now."""
        await self.studio.sandboxes.rebind(service)
