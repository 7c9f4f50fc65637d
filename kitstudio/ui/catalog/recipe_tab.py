"""The Recipe tab: the sources a Kit brings along (§10), fetched only when the tab is looked at, one small layer."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QStackedWidget, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.source import SignInRequired
from kitstudio.registry.staged import StagedFile, StagedSources
from kitstudio.services.app import Studio
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.catalog.card_list import plain_tip
from kitstudio.ui.catalog.code_view import CodeView, lexer_for
from kitstudio.ui.catalog.sign_in_place import SignInPlace, host_in
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import Skeleton, StateView, column, holder, row, text_label
from kitstudio.ui.widgets.text import counted, short_digest, size_text, tr, visible


class RecipeTab(QWidget):
    """``kit.yaml`` and ``kit.dockerfile`` as they lie in the Kit. ``signed_in(host)`` from a failure."""

    signed_in = Signal(str)

    def __init__(self, theme: Theme, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._reference = ""
        self._files: tuple[StagedFile, ...] = ()
        self._tasks = Tasks(self, self._failed)
        self._choice = QComboBox()
        self._choice.setObjectName("recipe-file")
        self._choice.setAccessibleName(tr("File"))
        self._choice.setMinimumWidth(theme.px(150))
        self._choice.currentIndexChanged.connect(self._show_file)
        self._code = CodeView(theme, "recipe", tr("Recipe"), self._choice)
        self._note = text_label("", Type.SMALL, "secondary", wrap=True)
        content = holder(column(self._code, row(self._note, margins=(20, 6, 20, 8)), spacing=0))
        loading = holder(column(Skeleton(theme, (0.3, 0.6, 0.5, 0.7, 0.4)), None, margins=(20, 20, 20, 20)))
        self._state = StateView(theme, "file", "", "")
        self._state.acted.connect(lambda _: self._fetch())
        place = QWidget()
        self._sign_in = SignInPlace(theme, studio, place)
        self._sign_in.signed_in.connect(self.signed_in)
        self._refused = holder(column(place, None, spacing=0))
        self._stack = QStackedWidget()
        for part in (content, loading, self._state, self._refused):
            self._stack.addWidget(part)
        self.setLayout(column(self._stack, spacing=0))

    @property
    def files(self) -> tuple[StagedFile, ...]:
        return self._files

    def show_details(self, details: KitDetails) -> None:
        """Fetch the sources of this Kit at this digest."""
        self._reference = f"{details.card.reference.partition('@')[0]}@{details.artifact.digest}"
        if details.artifact.reference.digest or "@" in details.card.reference:
            self._reference = details.card.reference
        self._files = ()
        self._fetch()

    def resume(self) -> None:
        """After a sign-in: what failed goes on."""
        if self._stack.currentWidget() is self._refused:
            self._fetch()

    def _fetch(self) -> None:
        self._stack.setCurrentIndex(1)
        self._tasks.start(self._work(self._reference), "staged")

    async def _work(self, reference: str) -> None:
        self._show(await self._studio.catalog.staged(reference))

    def _show(self, staged: StagedSources) -> None:
        self._files = tuple(sorted(staged.files, key=_first))
        if not staged.files:
            self._show_absent(staged.unread)
            return
        self._choice.blockSignals(True)
        self._choice.clear()
        for file in self._files:
            self._choice.addItem(visible(file.path.rpartition("/")[2]), file.path)
            self._choice.setItemData(self._choice.count() - 1, plain_tip(file.path), Qt.ItemDataRole.ToolTipRole)
        self._choice.setCurrentIndex(0)
        self._choice.blockSignals(False)
        self._choice.setEnabled(len(self._files) > 1)
        self._show_file(0)
        self._stack.setCurrentIndex(0)
        layer = short_digest(staged.layer)
        words = tr("{files} from layer {layer}, as the publisher put them there. What counts is the descriptor.")
        self._note.setText(words.format(files=counted(len(self._files), "file", "files"), layer=layer))

    def _show_absent(self, unread: int) -> None:
        if unread:
            words = tr("{layers} too large to look at, so the sources may be there and are not shown.")
            told = words.format(layers=counted(unread, "layer is", "layers are"))
            self._state.show_state("layers", tr("Not looked for everywhere"), told)
        else:
            words = tr("This Kit brings no sources along: no kit.yaml and no kit.dockerfile.")
            self._state.show_state("file", tr("No recipe inside"), words)
        self._stack.setCurrentIndex(2)

    def _show_file(self, index: int) -> None:
        if not 0 <= index < len(self._files):
            return
        file = self._files[index]
        if b"\0" in file.data:
            words = tr("{name} is no text ({size}); it is not shown.")
            told = words.format(name=visible(file.path), size=size_text(len(file.data)))
            self._code.show_code(told, lexer_for(".txt"))
            return
        self._code.show_code(file.text, lexer_for(file.path, file.text[:200]))

    def _failed(self, error: KitStudioError) -> None:
        if isinstance(error, SignInRequired) and (host := host_in(self._reference)):
            self._sign_in.show_for(host, error)
            self._stack.setCurrentWidget(self._refused)
            return
        self._state.show_error(error, [("retry", tr("Try again"), "refresh")])
        self._stack.setCurrentIndex(2)


def _first(file: StagedFile) -> tuple[int, str]:
    """The descriptor, then the recipe, then the rest by name."""
    name = file.path.rpartition("/")[2]
    rank = 0 if name.endswith((".yaml", ".yml")) else 1 if name.endswith("dockerfile") else 2
    return rank, file.path
