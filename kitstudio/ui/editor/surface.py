"""What a text would ask for if it were published like this: kind, form, permissions in words."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from kitstudio.models.review import Weight
from kitstudio.services.linting import Authoring, Lint
from kitstudio.ui.catalog.inside import InsidePanel
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.basic import holder, line, row, text_label
from kitstudio.ui.widgets.composite import ChipRow, SectionHeader, StateView
from kitstudio.ui.widgets.layout import set_ground
from kitstudio.ui.widgets.painters import ChipLook, count_looks
from kitstudio.ui.widgets.permission_list import ListLook, PermissionList
from kitstudio.ui.widgets.permission_model import PermissionRow
from kitstudio.ui.widgets.text import tr, visible

HEADER = 40


class SurfacePane(QWidget):
    """``line_chosen(line)`` when an entry is chosen."""

    line_chosen = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setMinimumWidth(theme.px(260))
        header = SectionHeader(tr("What it would ask for"), height=theme.px(HEADER))
        self.about = text_label("", Type.SMALL, "secondary", wrap=True)
        self.about.setObjectName("editorAbout")
        self.counts = ChipRow(theme)
        self._band = holder(row(self.counts, None, margins=(16, 9, 16, 4)))
        self.list = PermissionList(theme, ListLook(banded=True, padding=16))
        self.list.setObjectName("editorPermissions")
        self.list.setLayoutMode(PermissionList.LayoutMode.Batched)
        self.list.chosen.connect(self._chosen)
        self.inside = InsidePanel(theme)
        self._unread = StateView(
            theme,
            "info",
            tr("Not known yet"),
            tr("What it asks for can be told as soon as the text can be read as a descriptor."),
        )
        shown = QWidget()
        stacked = QVBoxLayout(shown)
        stacked.setContentsMargins(0, 0, 0, 0)
        stacked.setSpacing(0)
        stacked.addWidget(self._band)
        stacked.addWidget(holder(row(self.about, margins=(16, 4, 16, 10))))
        stacked.addWidget(line())
        stacked.addWidget(self.list, 1)
        stacked.addWidget(line())
        stacked.addWidget(self.inside)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._unread)
        self._pages.addWidget(shown)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(header)
        layout.addWidget(line())
        layout.addWidget(self._pages, 1)
        set_ground(self, "raised")

    def show_lint(self, found: Lint) -> None:
        """Show a judgement; nothing is shown of a text that does not decode."""
        self._pages.setCurrentIndex(1 if found.decoded else 0)
        if not found.decoded:
            return
        counted = Counter(permission.weight for permission in found.permissions)
        looks = count_looks({weight: counted[weight] for weight in Weight})
        if not found.permissions:
            looks = (ChipLook(tr("Asks for nothing"), Tone.SUCCESS, "success"),)
        self.counts.show_looks(looks)
        self.about.setText(authoring_words(found))
        self.list.show_permissions(found.permissions)
        self.inside.show_uncounted(found.uncounted)

    def is_known(self) -> bool:
        """Whether permissions are shown."""
        return self._pages.currentIndex() == 1

    def _chosen(self, chosen: PermissionRow) -> None:
        askers = chosen.permission.askers if chosen.permission is not None else ()
        if askers and askers[0].line and self.list.hasFocus():
            self.line_chosen.emit(askers[0].line)


def authoring_words(found: Lint) -> str:
    """Kind and authoring form in a sentence (§3)."""
    recipe = visible(found.recipe)
    words = {
        Authoring.DECLARATION: tr("No recipe: it declares, and brings no files of its own."),
        Authoring.COMPANION: tr("Its files are built from {recipe}, found by its name.").format(recipe=recipe),
        Authoring.NAMED: tr("Its files are built from {recipe}.").format(recipe=recipe),
        Authoring.INLINE: tr("Its files are built from the recipe in “build”."),
        Authoring.COMMENT: tr("Its files are built from this Dockerfile."),
        Authoring.SET: tr("A set: its files are those of the Kits it lists, which add what they ask for."),
    }[found.authoring]
    if found.kind == "workload" and found.authoring is Authoring.DECLARATION:
        words = tr("No recipe: a workload needs one, its files are the root of the sandbox.")
    return words
