"""Files: one folder of the running sandbox, a look into a text, and copies to and from this computer."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QProgressBar, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from kitstudio.runtime.files import MOST_ENTRIES, Entry, EntryKind, Listing
from kitstudio.ui.fonts import Type
from kitstudio.ui.sandboxes.files_model import FilesModel, above, below
from kitstudio.ui.sandboxes.lifecycle_view import output_pane, plain_output
from kitstudio.ui.tables import dressed_table
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.basic import Elided, button, holder, icon_button, line, row, set_ground, text_label
from kitstudio.ui.widgets.composite import Banner, StateView
from kitstudio.ui.widgets.text import number, size_text, tr, visible

LOOK = 256 << 10
"""Bytes of a file that are shown."""


class FilesView(QWidget):
    """Asks: ``go_wanted(path, named)``, ``look_wanted(path)``, ``fetch_wanted(path, name)``, ``put_wanted(folder)``,
    ``cancel_wanted()``, ``start_wanted()``."""

    go_wanted = Signal(object, bool)
    look_wanted = Signal(object)
    fetch_wanted = Signal(object, object)
    put_wanted = Signal(object)
    cancel_wanted = Signal()
    start_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.folder = ""
        self.model = FilesModel(theme, self)
        self.up = icon_button(theme, "arrow-up", tr("The folder above (Alt+Up)"), small=True, object_name="filesUp")
        self.up.clicked.connect(self._go_up)
        self.again = icon_button(theme, "refresh", tr("Read again (F5)"), small=True, object_name="filesAgain")
        self.again.clicked.connect(lambda: self.go_wanted.emit(self.folder, False))
        self.path = QLineEdit()
        self.path.setObjectName("filesPath")
        self.path.setAccessibleName(tr("Folder in the sandbox"))
        self.path.setFont(theme.font(Type.MONO))
        self.path.setProperty("small", True)
        self.path.setMaxLength(4095)
        self.path.returnPressed.connect(self._go_typed)
        self.fetch = button(theme, tr("Save a copy…"), "save", "flat", small=True, name="filesFetch")
        self.fetch.clicked.connect(self._fetch)
        self.put = button(theme, tr("Put a file here…"), "upload", "flat", small=True, name="filesPut")
        self.put.clicked.connect(lambda: self.put_wanted.emit(self.folder))
        bar = row(self.up, self.again, spacing=4, margins=(12, 5, 8, 5))
        bar.addWidget(self.path, 1)
        bar.addWidget(self.fetch)
        bar.addWidget(self.put)
        self.banner = Banner(theme, Tone.CRITICAL)
        self.banner.setObjectName("filesBanner")
        self.banner.acted.connect(self._banner_acted)
        self.hint = Banner(theme, Tone.INFO)
        self.hint.setObjectName("filesHint")
        self.hint.acted.connect(self._hint_acted)
        self._target = ""
        self.table = dressed_table(theme, self.model, (0, 96, 104, 96, 150), tr("Files in the sandbox"), "filesTable")
        self.table.activated.connect(self._open)
        self.table.selectionModel().currentRowChanged.connect(lambda _now, _old: self._settle())
        self._note = text_label("", Type.SMALL, "secondary", wrap=True)
        self._note.setContentsMargins(theme.px(16), theme.px(6), theme.px(16), theme.px(6))
        self._look_title = Elided("", Type.NAME)
        self._look_note = text_label("", Type.SMALL, "secondary")
        shut = icon_button(theme, "close", tr("Close the text"), small=True, object_name="filesLookClose")
        self.pane = output_pane(theme, tr("Text of the file"), "filesText")
        look = QVBoxLayout()
        look.setContentsMargins(0, 0, 0, 0)
        look.setSpacing(0)
        look_bar = row(self._look_title, self._look_note, None, shut, spacing=8, margins=(16, 4, 8, 4))
        look.addWidget(holder(look_bar, "surface"))
        look.addWidget(line())
        look.addWidget(self.pane, 1)
        self.look = holder(look)
        self.look.hide()
        shut.clicked.connect(self._close_look)
        self._split = QSplitter(Qt.Orientation.Vertical)
        self._split.addWidget(self.table)
        self._split.addWidget(self.look)
        self._split.setChildrenCollapsible(False)
        self._empty = StateView(
            theme, "folder", tr("This folder is empty"), tr("What programs of the sandbox write here appears here.")
        )
        self._stopped = StateView(
            theme,
            "stop",
            tr("Its files are shown while it runs"),
            tr("The disk is kept. Start the sandbox to look at what is on it."),
            [("start", tr("Start"), "play")],
        )
        self._stopped.acted.connect(lambda _key: self.start_wanted.emit())
        self._loading = StateView(theme, "spinner", tr("Reading the folder"), tr("The sandbox is asked."))
        self._body = QStackedWidget()
        for view in (self._split, self._empty, self._loading):
            self._body.addWidget(view)
        self._bar = QProgressBar()
        self._bar.setObjectName("filesProgress")
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._copying = Elided("", ink="secondary")
        cancel = button(theme, tr("Cancel"), "close", small=True, name="filesCancel")
        cancel.clicked.connect(self.cancel_wanted)
        copy_row = row(self._copying, spacing=10, margins=(16, 6, 12, 6))
        copy_row.addWidget(self._bar, 1)
        copy_row.addWidget(cancel)
        self.copy_bar = holder(copy_row, "surface")
        self.copy_bar.hide()
        filled = QVBoxLayout()
        filled.setContentsMargins(0, 0, 0, 0)
        filled.setSpacing(0)
        for widget in (holder(bar, "raised"), line(), self.banner, self.hint):
            filled.addWidget(widget)
        filled.addWidget(self._body, 1)
        filled.addWidget(self._note)
        filled.addWidget(self.copy_bar)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._stopped)
        self._stack.addWidget(holder(filled))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        set_ground(self, "raised")
        for keys, slot in (("Alt+Up", self._go_up), ("F5", self.again.click), ("Backspace", self._go_up)):
            within = self.table if keys == "Backspace" else self
            context = Qt.ShortcutContext.WidgetWithChildrenShortcut
            QShortcut(QKeySequence(keys), within, slot, context=context)
        self._settle()

    def show_stopped(self) -> None:
        """There is nothing to ask."""
        self._stack.setCurrentIndex(0)

    def show_loading(self) -> None:
        """A folder is on its way; one that is shown stays until then."""
        self._stack.setCurrentIndex(1)
        if not self.folder:
            self._body.setCurrentWidget(self._loading)

    def show_listing(self, listing: Listing) -> None:
        """Show a folder; the chosen entry stays chosen where it is still there."""
        chosen = self.chosen() if listing.path == self.folder else None
        came_from = self.folder if above(self.folder or "/") == listing.path else ""
        self.folder = listing.path
        self._stack.setCurrentIndex(1)
        self.banner.hide()
        self.hint.hide()
        self.model.show_listing(listing)
        self.path.setText(visible(listing.path))
        self._body.setCurrentWidget(self._split if listing.entries else self._empty)
        self._note.setText(
            tr("Only the first {n} entries are shown. Name a deeper folder above.").format(n=number(MOST_ENTRIES))
            if listing.cut
            else ""
        )
        self._note.setVisible(listing.cut)
        wanted = chosen.name if chosen is not None else came_from.rsplit("/", 1)[-1]
        for at, entry in enumerate(listing.entries):
            if entry.name == wanted:
                self.table.selectRow(at)
                break
        self._settle()

    def show_text(self, path: str, data: bytes, size: int) -> None:
        """Show the beginning of a file; bytes that are no text are said to be such."""
        self._look_title.show_text(visible(path))
        if b"\0" in data[:8192]:
            self.pane.setPlainText(tr("This is no text. Save a copy to open it with a program of this computer."))
            note = size_text(size)
        else:
            self.pane.setPlainText(plain_output(data.decode("utf-8", "replace")))
            cut = size > len(data)
            shown = tr("the first {part} of {size}").format(part=size_text(len(data)), size=size_text(size))
            note = shown if cut else size_text(size)
        self._look_note.setText(note)
        self.look.show()

    def show_error(self, lead: str, words: str) -> None:
        """Say what did not work."""
        self._stack.setCurrentIndex(1)
        if not self.folder:
            self._body.setCurrentWidget(self._empty)
        self.hint.hide()
        self.banner.tell(
            "critical", lead, words, ("again", tr("Try again"), "refresh"), ("dismiss", tr("Close"), "close")
        )

    def show_copy(self, words: str, fraction: float | None) -> None:
        """A copy under way; empty words: none."""
        self.copy_bar.setVisible(bool(words))
        self._copying.show_text(words)
        self._bar.setRange(0, 0 if fraction is None else 1000)
        if fraction is not None:
            self._bar.setValue(round(fraction * 1000))
        self._settle()

    def forget(self) -> None:
        """Another sandbox is shown."""
        self.folder = ""
        self.model.show_listing(Listing("/"))
        self.path.clear()
        self.banner.hide()
        self.hint.hide()
        self._close_look()

    def chosen(self) -> Entry | None:
        """The entry of the chosen row."""
        index = self.table.currentIndex()
        return self.model.entry(index.row()) if index.isValid() else None

    def _open(self, index: QModelIndex) -> None:
        entry = self.model.entry(index.row())
        path = below(self.folder, entry.name)
        match entry.kind:
            case EntryKind.FOLDER:
                self.go_wanted.emit(path, False)
            case EntryKind.FILE:
                self.look_wanted.emit(path)
            case EntryKind.LINK:
                self._target = entry.target if entry.target.startswith("/") else below(self.folder, entry.target)
                self.hint.tell(
                    "info",
                    tr("A link is not followed by itself."),
                    tr("It leads to {path}.").format(path=visible(self._target)),
                    ("go", tr("Go there"), "arrow-right"),
                    ("dismiss", tr("Close"), "close"),
                )
            case _:
                self.hint.tell(
                    "info",
                    tr("There is nothing to read in it."),
                    tr("It is a pipe, a socket or a device."),
                    ("dismiss", tr("Close"), "close"),
                )

    def _fetch(self) -> None:
        entry = self.chosen()
        if entry is not None:
            self.fetch_wanted.emit(below(self.folder, entry.name), entry.name)

    def _go_up(self) -> None:
        if self.folder not in ("", "/"):
            self.go_wanted.emit(above(self.folder), False)

    def _go_typed(self) -> None:
        text = self.path.text().strip()
        if text == visible(self.folder):
            self.go_wanted.emit(self.folder, False)
        elif text:
            self.go_wanted.emit(text, True)

    def _banner_acted(self, key: str) -> None:
        self.banner.hide()
        if key == "again":
            self.go_wanted.emit(self.folder, False)

    def _hint_acted(self, key: str) -> None:
        self.hint.hide()
        if key == "go":
            self.go_wanted.emit(self._target, True)

    def _close_look(self) -> None:
        self.look.hide()
        self.pane.clear()
        self.table.setFocus(Qt.FocusReason.OtherFocusReason)

    def _settle(self) -> None:
        entry = self.chosen()
        copying = self.copy_bar.isVisibleTo(self)
        self.up.setEnabled(self.folder not in ("", "/"))
        self.fetch.setEnabled(entry is not None and entry.kind is EntryKind.FILE and not copying)
        self.put.setEnabled(bool(self.folder) and not copying)
