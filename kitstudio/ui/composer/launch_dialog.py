"""Name, workspace folder and size of a new sandbox, asked once before a launch."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QDialog, QFileDialog, QFormLayout, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from kitstudio.runtime.backend import LaunchOptions
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.basic import Icon, button, holder, line, row, text_label
from kitstudio.ui.widgets.text import tr

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class LaunchDialog(QDialog):
    """``chosen`` carries the ``LaunchOptions``."""

    chosen = Signal(object)

    def __init__(
        self, theme: Theme, name: str, taken: Collection[str], note: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._taken = frozenset(taken)
        self.setObjectName("launchDialog")
        self.setWindowTitle(tr("Launch"))
        self.setMinimumWidth(theme.px(520))
        self.name = QLineEdit(free_name(name, self._taken))
        self.name.setObjectName("launchName")
        self.name.setAccessibleName(tr("Name of the sandbox"))
        self.name.setMaxLength(63)
        self.workspace = QLineEdit()
        self.workspace.setObjectName("launchWorkspace")
        self.workspace.setAccessibleName(tr("Workspace folder"))
        self.workspace.setPlaceholderText(tr("None: the sandbox keeps its files to itself"))
        browse = button(theme, tr("Choose…"), "folder", name="launchBrowse")
        browse.clicked.connect(self._browse)
        self.memory = _choices(
            "launchMemory",
            tr("Memory"),
            [(0, tr("As the set asks, or the default"))] + [(n * 1024, f"{n} GiB") for n in (1, 2, 4, 8, 16, 32)],
        )
        self.cpus = _choices(
            "launchCpus",
            tr("Processors"),
            [(0, tr("As the set asks, or the default"))] + [(n, str(n)) for n in (1, 2, 4, 8, 16)],
        )
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(16))
        form.setVerticalSpacing(theme.px(10))
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        folder = row(spacing=theme.px(8))
        folder.addWidget(self.workspace, 1)
        folder.addWidget(browse)
        for label, field in (
            (tr("Name"), self.name),
            (tr("Workspace"), holder(folder)),
            (tr("Memory"), self.memory),
            (tr("Processors"), self.cpus),
        ):
            words = text_label(label)
            words.setMinimumHeight(theme.px(32))
            form.addRow(words, field)
        self._wrong_icon = Icon(theme, "critical", 14, Token.CRITICAL)
        self._wrong = text_label("", Type.SMALL, "critical", wrap=True)
        wrong = row(self._wrong_icon, spacing=theme.px(6))
        wrong.addWidget(self._wrong, 1)
        body = QVBoxLayout()
        body.setContentsMargins(theme.px(24), theme.px(20), theme.px(24), theme.px(16))
        body.setSpacing(theme.px(12))
        body.addWidget(text_label(tr("Launch a sandbox from this set"), Type.HEADING))
        body.addLayout(form)
        body.addLayout(wrong)
        if note:
            body.addWidget(text_label(note, Type.SMALL, "secondary", wrap=True))
        self.go = button(theme, tr("Launch"), "play", "primary", name="launchGo")
        self.go.setDefault(True)
        self.go.clicked.connect(self._go)
        stay = button(theme, tr("Cancel"), name="launchStay")
        stay.clicked.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(holder(body, "raised"), 1)
        layout.addWidget(line())
        layout.addWidget(holder(row(None, stay, self.go, margins=(24, 12, 24, 12)), "background"))
        for each in (self.name, self.workspace):
            each.textChanged.connect(lambda _text: self._judge())
        self._judge()

    def options(self) -> LaunchOptions:
        """What was chosen."""
        folder = self.workspace.text().strip()
        return LaunchOptions(
            self.name.text().strip(),
            Path(folder).expanduser() if folder else None,
            int(self.memory.currentData()),
            int(self.cpus.currentData()),
        )

    def _judge(self) -> None:
        name, folder = self.name.text().strip(), self.workspace.text().strip()
        words = ""
        if not _NAME.fullmatch(name):
            words = tr(
                "A name has up to 63 letters, digits, dots, hyphens and underscores, and starts with a letter or digit."
            )
        elif name in self._taken:
            words = tr("There is a sandbox of this name already.")
        elif folder and not Path(folder).expanduser().is_absolute():
            words = tr("Give the whole path of the workspace folder.")
        self._wrong.setText(words)
        self._wrong_icon.setVisible(bool(words))
        self._wrong.setVisible(bool(words))
        self.go.setEnabled(not words)

    def _browse(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, tr("Workspace folder"))
        if chosen:
            self.workspace.setText(chosen)

    def _go(self) -> None:
        self.chosen.emit(self.options())
        self.accept()


def _choices(object_name: str, name: str, choices: Sequence[tuple[int, str]]) -> QComboBox:
    combo = QComboBox()
    combo.setObjectName(object_name)
    combo.setAccessibleName(name)
    for value, words in choices:
        combo.addItem(words, value)
    combo.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return combo


def free_name(name: str, taken: Collection[str]) -> str:
    """A sandbox name from a set's name that is not taken yet."""
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:56] or "sandbox"
    number = 2
    found = base
    while found in taken:
        found = f"{base}-{number}"
        number += 1
    return found
