"""Ports: where this computer reaches what a sandbox publishes, and where a person wants it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QSpinBox, QVBoxLayout, QWidget

from kitstudio.models.words import claim
from kitstudio.runtime.backend import PublishedPort
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.rows_pane import RowsPane
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import (
    Elided,
    ExactEntry,
    Icon,
    button,
    holder,
    icon_button,
    line,
    row,
    text_label,
)
from kitstudio.ui.widgets.composite import StateView
from kitstudio.ui.widgets.text import tr


class PortsView(RowsPane):
    """``chosen(container, host_port)``: publish it there, 0 for any free port."""

    chosen = Signal(str, int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        empty = StateView(
            theme,
            "port",
            tr("No published port"),
            tr("No Kit of this set asks for a port of the sandbox to be opened to programs on this computer."),
        )
        super().__init__(empty, parent)
        self.theme = theme
        self.rows: list[PortRow] = []
        self._shown: tuple[PublishedPort, ...] | None = None

    def show_ports(self, ports: Sequence[PublishedPort]) -> None:
        """Show these; nothing is rebuilt, and nothing typed is lost, where nothing changed."""
        found = tuple(ports)
        if found == self._shown:
            return
        self._shown = found
        self.begin()
        self.rows = []
        for port in found:
            made = PortRow(self.theme, port)
            made.chosen.connect(self.chosen)
            self.rows.append(made)
            self.add(made)
            self.add(line())
        note = tr("Only programs on this computer reach a published port, whoever runs them.")
        small = text_label(note, Type.SMALL, "secondary", wrap=True)
        self.add(holder(row(small, margins=(16, 10, 16, 10))))
        self.end(empty=not found)


class PortRow(QWidget):
    """One port: what it is inside, what the Kit calls it, where it is here."""

    chosen = Signal(str, int)

    def __init__(self, theme: Theme, port: PublishedPort, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.port = port
        self.address = f"{port.host}:{port.host_port}" if port.host_port else ""
        inside = ExactEntry(theme, port.container)
        inside.setFixedWidth(theme.px(110))
        name = Elided(claim(port.name, 80), ink="secondary")
        name.setFixedWidth(theme.px(170))
        where: QWidget = ExactEntry(theme, self.address) if self.address else text_label(self._waiting(), wrap=True)
        if self.address:
            where.setFixedWidth(theme.px(165))
        self.copy = icon_button(theme, "copy", tr("Copy the address"), small=True, object_name="portCopy")
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.address))
        self.copy.setVisible(bool(self.address))
        self.change = button(theme, tr("Choose the port…"), "swap", "flat", small=True, name="portChange")
        self.change.setCheckable(True)
        self.change.setAccessibleName(tr("Choose the port for {port}").format(port=port.container))
        icon = Icon(theme, "port", 20)
        top = row(icon, inside, name, spacing=10, margins=(16, 9, 12, 9))
        top.addWidget(where, 0 if self.address else 1)
        top.addWidget(self.copy)
        if self.address:
            top.addStretch(1)
        top.addWidget(self.change)
        self.field = QSpinBox()
        self.field.setObjectName("portField")
        self.field.setRange(0, 65535)
        self.field.setSpecialValueText(tr("Any free port"))
        self.field.setValue(port.fixed)
        self.field.setMinimumWidth(theme.px(150))
        self.field.setAccessibleName(tr("Port on this computer for {port}").format(port=port.container))
        self.apply = button(theme, tr("Publish there"), "", "primary", small=True, name="portApply")
        self.apply.clicked.connect(lambda: self.chosen.emit(port.container, self.field.value()))
        words = text_label(tr("On this computer at"), ink="secondary")
        self._form = holder(row(words, self.field, self.apply, None, spacing=8, margins=(46, 0, 12, 10)))
        self._form.hide()
        self.change.toggled.connect(self._open)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(top))
        layout.addWidget(self._form)

    def _waiting(self) -> str:
        if self.port.fixed:
            return tr("{host}:{port} when the sandbox runs").format(host=self.port.host, port=self.port.fixed)
        return tr("when the sandbox runs")

    def _open(self, on: bool) -> None:
        self._form.setVisible(on)
        if on:
            self.field.setFocus(Qt.FocusReason.OtherFocusReason)
            self.field.selectAll()
