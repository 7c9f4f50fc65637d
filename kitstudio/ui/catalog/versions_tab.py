"""Versions: pick any two, read one verdict, then each change with its entry in A and in B."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.catalog.comparison import Change, ChangeKind, Comparison, compare
from kitstudio.ui.catalog.kit_tabs import ScrollPane, problem_box
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import ICON_OF_GROUP, ICON_OF_WEIGHT, TONE_OF_WEIGHT, Theme, Token
from kitstudio.ui.widgets import (
    ChipRow,
    EntryLook,
    ExactEntry,
    Icon,
    Skeleton,
    column,
    count_looks,
    icon_button,
    line,
    row,
    text_label,
)
from kitstudio.ui.widgets.text import counted, group_word, phase_words, tr, visible, weight_word

WIDE = 760
"""From this width on the list of versions stands beside the comparison."""


class VersionsTab(QWidget):
    """``open_version(tag)`` from the list; comparisons are fetched through ``fetch``."""

    open_version = Signal(str)

    def __init__(
        self, theme: Theme, fetch: Callable[[str], Awaitable[KitDetails]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._fetch = fetch
        self._repository = ""
        self._tasks = Tasks(self, self._failed)
        self._list = QListWidget()
        self._list.setObjectName("version-list")
        self._list.setAccessibleName(tr("Versions"))
        self._list.setFixedWidth(theme.px(220))
        self._list.itemActivated.connect(lambda item: self.open_version.emit(item.data(Qt.ItemDataRole.UserRole)))
        self._note = text_label("", Type.LABEL, "secondary")
        self._from = self._combo("version-from", tr("From version A"))
        self._to = self._combo("version-to", tr("To version B"))
        swap = icon_button(theme, "swap", tr("Swap A and B"), object_name="version-swap")
        swap.clicked.connect(self._swap)
        bar = row(
            text_label(tr("From A"), Type.SMALL, "secondary"),
            self._from,
            swap,
            text_label(tr("to B"), Type.SMALL, "secondary"),
            self._to,
            None,
            margins=(20, 12, 16, 12),
        )
        self._pane = ScrollPane(theme)
        left = column(self._note, self._list, spacing=theme.px(8), margins=(20, 12, 12, 12))
        self._side = QWidget()
        self._side.setLayout(left)
        self._side.hide()
        main = column(bar, line(), self._pane, spacing=0)
        layout = row(self._side, line(vertical=True), spacing=0)
        layout.addLayout(main, 1)
        self.setLayout(layout)

    def show_details(self, details: KitDetails) -> None:
        """Offer every version; compare the one before with the one shown."""
        self._repository = details.card.repository
        rows = details.versions
        self._note.setText(
            counted(len(rows), "version", "versions")
            + (
                f", {counted(details.signature_tags, 'signature tag', 'signature tags')}"
                if details.signature_tags
                else ""
            )
        )
        self._list.clear()
        for version in rows:
            item = QListWidgetItem(visible(version.tag))
            item.setData(Qt.ItemDataRole.UserRole, version.tag)
            item.setSizeHint(QSize(0, self.theme.px(32)))
            self._list.addItem(item)
        for combo in (self._from, self._to):
            combo.blockSignals(True)
            combo.clear()
            for version in rows:
                combo.addItem(visible(version.tag), version.tag)
            combo.blockSignals(False)
        shown = next((n for n, version in enumerate(rows) if version.tag == tag_of(details)), 0)
        self._list.setCurrentRow(shown)
        older = min(shown + 1, len(rows) - 1)
        self._choose(self._from, older if older != shown else max(0, shown - 1))
        self._choose(self._to, shown)
        self._compare()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._side.setVisible(self.width() >= self.theme.px(WIDE))

    def _combo(self, name: str, accessible: str) -> QComboBox:
        made = QComboBox()
        made.setObjectName(name)
        made.setAccessibleName(accessible)
        made.setMinimumWidth(self.theme.px(110))
        made.currentIndexChanged.connect(lambda _: self._compare())
        return made

    def _choose(self, combo: QComboBox, index: int) -> None:
        combo.blockSignals(True)
        combo.setCurrentIndex(index)
        combo.blockSignals(False)

    def _swap(self) -> None:
        a, b = self._from.currentIndex(), self._to.currentIndex()
        self._choose(self._from, b)
        self._choose(self._to, a)
        self._compare()

    def _compare(self) -> None:
        a, b = self._from.currentData(), self._to.currentData()
        self._pane.clear()
        if a is None or b is None or self._from.count() < 2:
            self._pane.add(text_label(tr("There is one version, so there is nothing to compare."), wrap=True))
            self._pane.end()
            return
        self._pane.add(Skeleton(self.theme))
        self._pane.end()
        self._tasks.start(self._work(a, b), "compare")

    async def _work(self, a: str, b: str) -> None:
        first = await self._fetch(f"{self._repository}:{a}")
        second = await self._fetch(f"{self._repository}:{b}")
        self._pane.clear()
        for name, details in (("A", first), ("B", second)):
            if details.descriptor is None:
                words = tr("{name} carries no Kit descriptor that can be read.").format(
                    name=f"{name} ({details.card.version})"
                )
                self._pane.add(text_label(words, Type.TITLE, wrap=True))
                self._pane.end()
                return
        self._show(compare(first, second))

    def _failed(self, error: KitStudioError) -> None:
        self._pane.clear()
        self._pane.body.addLayout(problem_box(self.theme, error.what, error.where, error.remedy))
        self._pane.end()

    def _show(self, comparison: Comparison) -> None:
        theme = self.theme
        verdict = text_label(comparison.verdict(), Type.TITLE, wrap=True)
        verdict.setObjectName("version-verdict")
        self._pane.add(verdict)
        self._pane.add(ChipRow(theme, count_looks(comparison.counts())))
        group = None
        for change in comparison.changes:
            if change.group is not group:
                group = change.group
                head = row(Icon(theme, ICON_OF_GROUP[group], 20), text_label(group_word(group), Type.NAME), None)
                self._pane.body.addSpacing(theme.px(8))
                self._pane.body.addLayout(head)
                self._pane.add(line())
            self._pane.body.addLayout(_change_box(theme, change))
        same = len(comparison.unchanged)
        self._pane.body.addSpacing(theme.px(8))
        words = counted(same, "permission unchanged", "permissions unchanged")
        self._pane.add(text_label(words, Type.BODY, "secondary"))
        self._pane.end()


def tag_of(details: KitDetails) -> str:
    return details.artifact.reference.tag


def _change_box(theme: Theme, change: Change) -> QVBoxLayout:
    weight = change.weight
    if change.widens:
        icon, ink, word = ICON_OF_WEIGHT[weight], Token(str(TONE_OF_WEIGHT[weight])), weight_word(weight)
    else:
        icon, ink, word = "arrow-down", Token.SUCCESS, tr("Narrowed")
    sentence = text_label(change.sentence, wrap=True)
    head = row(Icon(theme, icon, 20, ink), text_label(word, Type.NAME, str(ink)), spacing=8)
    head.addWidget(sentence, 1)
    made = column(spacing=theme.px(4), margins=(theme.px(28), 0, 0, theme.px(8)))
    if change.permission is not None:
        made.addWidget(text_label(phase_words(change.permission), Type.SMALL, "secondary"))
    missing = {
        ChangeKind.ADDED: (tr("not asked"), ""),
        ChangeKind.REFUSAL_GONE: ("", tr("refusal gone")),
        ChangeKind.NARROWED: ("", tr("no longer asked")),
        ChangeKind.REFUSAL_NEW: (tr("not refused"), ""),
        ChangeKind.UNCHANGED: ("", ""),
    }[change.kind]
    for name, entry, without in (("A", change.a, missing[0]), ("B", change.b, missing[1])):
        side = row(text_label(name, Type.LABEL, "secondary"), spacing=8)
        if entry:
            side.addWidget(ExactEntry(theme, entry, EntryLook(dashed=change.kind is ChangeKind.REFUSAL_GONE)), 1)
        else:
            side.addWidget(text_label(without, Type.SMALL, "disabled"), 1)
        made.addLayout(side)
    return column(4, head, made, line(), spacing=theme.px(4))
