"""Versions: pick any two, read one verdict, then each change with its entry in A and in B, or both descriptors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QListView, QStackedWidget, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.catalog.comparison import Comparison, compare
from kitstudio.ui.catalog.comparison_view import show_comparison
from kitstudio.ui.catalog.descriptor_diff import DescriptorDiff, aligned
from kitstudio.ui.catalog.kit_tabs import ScrollPane, problem_box
from kitstudio.ui.catalog.version_list import VersionList
from kitstudio.ui.flow import Flow
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import (
    SearchField,
    Segmented,
    Skeleton,
    button,
    column,
    give_icon,
    holder,
    icon_button,
    line,
    row,
    text_label,
)
from kitstudio.ui.widgets.text import counted, number, tr, visible

WIDE = 700
"""From this width on the list of versions stands beside the comparison."""
SEARCHABLE = 12
"""From so many versions on there is a field to search them."""


class VersionsTab(QWidget):
    """``open_version(tag)`` from the list; comparisons are fetched through ``fetch``, two manifests and no more."""

    open_version = Signal(str)

    def __init__(
        self, theme: Theme, fetch: Callable[[str], Awaitable[KitDetails]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._fetch = fetch
        self._repository = ""
        self._compared: tuple[KitDetails, KitDetails] | None = None
        self._tasks = Tasks(self, self._failed)
        self.list = VersionList(theme)
        self.list.picked.connect(self._picked)
        self.list.opened.connect(self.open_version)
        self._note = text_label("", Type.LABEL, "secondary", wrap=True)
        self._search = SearchField(theme, tr("Search versions"), tr("Search versions"))
        self._search.setObjectName("version-search")
        self._search.textChanged.connect(self._search_versions)
        self._folded = button(theme, "", "chevron-right", "flat", name="folded-tags", small=True)
        self._folded.setCheckable(True)
        self._folded.setToolTip(tr("Tags of the form sha256-… hold signatures and attestations; they are no versions."))
        self._folded.toggled.connect(self._unfold)
        self.folded = QListView()
        self.folded.setAccessibleName(tr("Signature tags"))
        self.folded.setModel(QStringListModel(self))
        self.folded.setUniformItemSizes(True)
        self.folded.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.folded.setMaximumHeight(theme.px(180))
        self.folded.hide()
        self._from = self._combo("version-from", tr("From version A"))
        self._to = self._combo("version-to", tr("To version B"))
        swap = icon_button(theme, "swap", tr("Swap A and B"), object_name="version-swap")
        swap.clicked.connect(self._swap)
        self._form = Segmented(
            theme,
            [("authority", tr("Authority"), "lock"), ("descriptor", tr("Descriptor"), "file")],
            tr("Compared by"),
        )
        self._form.chosen.connect(lambda _: self._show_form())
        bar = Flow(theme.px(10))
        pair = row(
            text_label(tr("From A"), Type.SMALL, "secondary"),
            self._from,
            swap,
            text_label(tr("to B"), Type.SMALL, "secondary"),
            self._to,
        )
        bar.addWidget(holder(pair))
        bar.addWidget(self._form)
        self._pane = ScrollPane(theme)
        self._diff = DescriptorDiff(theme)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._pane)
        self._stack.addWidget(self._diff)
        left = column(
            self._note,
            self._search,
            self.list,
            self._folded,
            self.folded,
            spacing=theme.px(8),
            margins=(20, 12, 12, 12),
        )
        self._side = QWidget()
        self._side.setFixedWidth(theme.px(230))
        self._side.setLayout(left)
        self._side.hide()
        layout = row(self._side, line(vertical=True), spacing=0)
        layout.addLayout(column(column(bar, margins=(20, 10, 16, 10)), line(), self._stack, spacing=0), 1)
        self.setLayout(layout)

    def show_details(self, details: KitDetails) -> None:
        """Offer every version; compare the one before with the one shown."""
        self._repository = details.card.repository
        rows = details.versions
        self._note.setText(tr("{versions}, newest first").format(versions=counted(len(rows), "version", "versions")))
        self._show_folded(details.folded_tags)
        self._search.setVisible(len(rows) >= SEARCHABLE)
        self.list.versions.show_versions(rows)
        for combo in (self._from, self._to):
            combo.blockSignals(True)
            combo.clear()
            for version in rows:
                combo.addItem(visible(version.tag), version.tag)
            combo.blockSignals(False)
        shown = next((n for n, version in enumerate(rows) if version.tag == tag_of(details)), 0)
        older = min(shown + 1, len(rows) - 1)
        self._choose(self._from, older if older != shown else max(0, shown - 1))
        self._choose(self._to, shown)
        self._compare()

    def _show_folded(self, tags: tuple[str, ...]) -> None:
        count = counted(len(tags), "signature tag", "signature tags")
        self._folded.setText(tr("{tags}, folded away").format(tags=count))
        self._folded.setAccessibleName(self._folded.text())
        self._folded.setVisible(bool(tags))
        self._folded.setChecked(False)
        model = self.folded.model()
        assert isinstance(model, QStringListModel)
        model.setStringList([visible(tag) for tag in tags])

    def _unfold(self, on: bool) -> None:
        give_icon(self.theme, self._folded, "chevron-down" if on else "chevron-right", 14, Token.SECONDARY)
        self.folded.setVisible(on)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._side.setVisible(self.width() >= self.theme.px(WIDE))

    def _combo(self, name: str, accessible: str) -> QComboBox:
        made = QComboBox()
        made.setObjectName(name)
        made.setAccessibleName(accessible)
        made.setMinimumWidth(self.theme.px(110))
        made.setMaxVisibleItems(24)
        made.currentIndexChanged.connect(lambda _: self._compare())
        return made

    def _choose(self, combo: QComboBox, index: int) -> None:
        combo.blockSignals(True)
        combo.setCurrentIndex(index)
        combo.blockSignals(False)

    def _picked(self, tag: str, first: bool) -> None:
        """A version from the list: as A, or as B. One that stands on the other side changes sides."""
        mine, other = (self._from, self._to) if first else (self._to, self._from)
        if other.currentData() == tag:
            self._swap()
            return
        mine.setCurrentIndex(mine.findData(tag))

    def _swap(self) -> None:
        a, b = self._from.currentIndex(), self._to.currentIndex()
        self._choose(self._from, b)
        self._choose(self._to, a)
        self._compare()

    def _search_versions(self, words: str) -> None:
        self.list.versions.search(words)
        count = self.list.versions.rowCount()
        total = self._from.count()
        every = counted(total, "version", "versions")
        found = tr("{n} of {versions}").format(n=number(count), versions=every)
        self._note.setText(found if words.strip() else tr("{versions}, newest first").format(versions=every))

    def _compare(self) -> None:
        a, b = self._from.currentData(), self._to.currentData()
        self._compared = None
        self.list.versions.mark(str(a or ""), str(b or ""))
        self._stack.setCurrentIndex(0)
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
        self._compared = (first, second)
        await self._draw()

    def _show_form(self) -> None:
        if self._compared is not None:
            self._tasks.start(self._draw(), "draw")

    async def _draw(self) -> None:
        if self._compared is None:
            return
        first, second = self._compared
        self._pane.clear()
        if self._form.value() == "descriptor":
            found = await aligned(first.descriptor_text, second.descriptor_text)
            self._diff.show_texts(tag_of(first), tag_of(second), found)
            self._stack.setCurrentIndex(1)
            return
        self._stack.setCurrentIndex(0)
        for name, details in (("A", first), ("B", second)):
            if details.descriptor is None:
                words = tr("{name} carries no Kit descriptor that can be read.").format(
                    name=f"{name} ({visible(tag_of(details))})"
                )
                self._pane.add(text_label(words, Type.TITLE, wrap=True))
                self._pane.end()
                return
        comparison: Comparison = compare(first, second)
        show_comparison(self._pane, comparison, tag_of(first), tag_of(second))

    def _failed(self, error: KitStudioError) -> None:
        self._stack.setCurrentIndex(0)
        self._pane.clear()
        self._pane.body.addLayout(problem_box(self.theme, error.what, error.where, error.remedy))
        self._pane.end()


def tag_of(details: KitDetails) -> str:
    return details.artifact.reference.tag
