"""The editor of one descriptor: text, findings as you type, and what it would ask for."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut, QTextCursor, QTextDocument
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.models.validate import Form
from kitstudio.registry.folder import is_recipe
from kitstudio.registry.threads import in_thread
from kitstudio.services.completion import Completion, complete_in_file
from kitstudio.services.linting import FileChanged, Lint, Mark, OpenFile, Severity, lint, open_file, save_file, stamp_of
from kitstudio.ui.editor.highlight import Highlighter, spans
from kitstudio.ui.editor.problems import ProblemList
from kitstudio.ui.editor.surface import SurfacePane
from kitstudio.ui.editor.text_edit import TextEdit
from kitstudio.ui.fonts import Type
from kitstudio.ui.lexing import Spans
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets.basic import Elided, Icon, button, holder, icon_button, line, row, text_label
from kitstudio.ui.widgets.composite import Banner, SearchField, SectionHeader, Segmented
from kitstudio.ui.widgets.layout import set_ground
from kitstudio.ui.widgets.text import counted, tr, visible

PAUSE = 250
"""Milliseconds without a key before the text is judged."""
HEADER = 32


class EditorPage(QWidget):
    """``title_changed(text, dirty)``; ``judged(Lint)`` after each judgement that is shown."""

    title_changed = Signal(str, bool)
    judged = Signal(object)
    saved = Signal()

    def __init__(self, theme: Theme, file: OpenFile, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.file = file
        self.lint: Lint | None = None
        self._in_comments = is_recipe(file.path)
        self._judging = False
        self._again = False
        self._tasks = Tasks(self, self._failed)
        self.edit = TextEdit(theme, self._complete)
        self.edit.comment_prefix = "#" if self._in_comments else ""
        self.colours = Highlighter(self.edit.document(), theme)
        self.problems = ProblemList(theme)
        self.surface = SurfacePane(theme)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PAUSE)
        self._watch = QFileSystemWatcher(self)
        self._build()
        self._connect()
        self.edit.setPlainText(file.text)
        self.edit.document().setModified(False)
        self._follow()

    @property
    def dirty(self) -> bool:
        """Whether something is not written yet."""
        return self.edit.document().isModified()

    @property
    def form(self) -> Form:
        """Which form the text is judged as."""
        return Form(self._form.value())

    def start(self) -> None:
        """Judge for the first time; called once the loop runs."""
        self._judge_soon()

    def save(self) -> None:
        """Write the file where it is."""
        self._tasks.start(self._save(overwrite=False), "file")

    def close_tasks(self) -> None:
        """End what runs."""
        self._timer.stop()
        self._tasks.cancel()

    # Building

    def _build(self) -> None:
        theme = self.theme
        self.path_label = Elided(str(self.file.path), Type.MONO, "secondary", Qt.TextElideMode.ElideMiddle)
        self.star = text_label(tr("not saved"), Type.SMALL, "notice")
        self.star.setObjectName("editorDirty")
        self.star.hide()
        self._form = Segmented(
            theme,
            [(Form.AUTHORED.value, tr("Authored"), ""), (Form.PUBLISHED.value, tr("Published"), "")],
            tr("Judged as"),
        )
        self._form.setToolTip(tr("Authored: as you write it. Published: as a registry may hold it."))
        self.undo = icon_button(theme, "undo", tr("Undo"), object_name="editorUndo")
        self.redo = icon_button(theme, "redo", tr("Redo"), object_name="editorRedo")
        self.undo.setEnabled(False)
        self.redo.setEnabled(False)
        self.save_button = button(theme, tr("Save"), "save", "primary", name="editorSave")
        bar = row(self.path_label, self.star, None, spacing=10, margins=(16, 8, 16, 8))
        for tool in (self._form, self.undo, self.redo, self.save_button):
            bar.addWidget(tool)
        self.banner = Banner(theme, Tone.CRITICAL)
        self.banner.setObjectName("editorError")
        self.note = Banner(theme, Tone.NOTICE)
        self.note.setObjectName("editorNote")
        self.find_field = SearchField(theme, tr("Find"), tr("Find in the text"))
        self.find_field.setObjectName("editorFind")
        self.find_field.setProperty("small", True)
        up = icon_button(theme, "chevron-up", tr("Previous"), small=True)
        down = icon_button(theme, "chevron-down", tr("Next"), small=True)
        away = icon_button(theme, "close", tr("Close the search"), small=True)
        up.clicked.connect(lambda: self.find_next(backward=True))
        down.clicked.connect(lambda: self.find_next())
        away.clicked.connect(self._hide_find)
        found = row(spacing=6, margins=(16, 6, 16, 6))
        found.addWidget(self.find_field, 1)
        for tool in (up, down, away):
            found.addWidget(tool)
        self.find_bar = holder(found, "surface")
        self.find_bar.hide()
        text = QWidget()
        column = QVBoxLayout(text)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.find_bar)
        column.addWidget(self.edit, 1)
        self.problems_head = SectionHeader(tr("Problems"), height=theme.px(HEADER))
        below = QWidget()
        set_ground(below, "surface")
        lower = QVBoxLayout(below)
        lower.setContentsMargins(0, 0, 0, 0)
        lower.setSpacing(0)
        lower.addWidget(self.problems_head)
        lower.addWidget(line())
        lower.addWidget(self.problems, 1)
        self.left = QSplitter(Qt.Orientation.Vertical)
        self.left.addWidget(text)
        self.left.addWidget(below)
        self.left.setStretchFactor(0, 4)
        self.left.setStretchFactor(1, 1)
        self.left.setSizes([theme.px(420), theme.px(140)])
        self.left.setChildrenCollapsible(False)
        self.split = QSplitter()
        self.split.addWidget(self.left)
        self.split.addWidget(self.surface)
        self.split.setStretchFactor(0, 5)
        self.split.setStretchFactor(1, 3)
        self.split.setSizes([theme.px(660), theme.px(380)])
        self.split.setChildrenCollapsible(False)
        self._verdict_icon = Icon(theme, "spinner", 16, Token.SECONDARY)
        self.verdict = text_label(tr("Judging the text…"), Type.SMALL)
        self.verdict.setObjectName("editorVerdict")
        self.place = text_label("", Type.SMALL, "secondary")
        hint = text_label(tr("Ctrl+Space suggests · F8 next problem · F6 leaves the text"), Type.SMALL, "secondary")
        status = row(self._verdict_icon, self.verdict, None, hint, 12, self.place, spacing=8, margins=(16, 5, 16, 5))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (holder(bar, "raised"), line(), self.banner, self.note):
            layout.addWidget(part)
        layout.addWidget(self.split, 1)
        layout.addWidget(line())
        layout.addWidget(holder(status, "background"))

    def _connect(self) -> None:
        edit = self.edit
        edit.textChanged.connect(self._timer.start)
        edit.cursorPositionChanged.connect(self._say_place)
        edit.refused.connect(lambda words: self.banner.tell("critical", tr("Not taken over."), words, _close_action()))
        edit.modificationChanged.connect(self._dirtied)
        edit.undoAvailable.connect(self.undo.setEnabled)
        edit.redoAvailable.connect(self.redo.setEnabled)
        self.undo.clicked.connect(edit.undo)
        self.redo.clicked.connect(edit.redo)
        self.save_button.clicked.connect(self.save)
        self._timer.timeout.connect(self._judge_soon)
        self._form.chosen.connect(lambda _: self._judge_soon())
        self.problems.chosen.connect(self._go_to_mark)
        self.surface.line_chosen.connect(edit.go_to)
        self.banner.acted.connect(lambda _: self.banner.hide())
        self.note.acted.connect(self._noted)
        self.find_field.returnPressed.connect(self.find_next)
        self._watch.fileChanged.connect(lambda _: self._look_soon())
        self._watch.directoryChanged.connect(lambda _: self._look_soon())
        for keys, act in (
            (QKeySequence.StandardKey.Save, self.save),
            (QKeySequence.StandardKey.Find, self._show_find),
            ("F3", self.find_next),
            ("Shift+F3", lambda: self.find_next(backward=True)),
            ("F8", lambda: self._step(1)),
            ("Shift+F8", lambda: self._step(-1)),
            ("F6", lambda: self._leave(1)),
            ("Shift+F6", lambda: self._leave(-1)),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(act)
        leave = QShortcut(QKeySequence("Escape"), self.find_bar)
        leave.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        leave.activated.connect(self._hide_find)

    # Judging

    def _judge_soon(self) -> None:
        self._timer.stop()
        if self._judging:
            self._again = True
            return
        self._judging = True
        self._tasks.start(self._judge(), "judge")

    async def _judge(self) -> None:
        """Judge until what is shown is what is written; one judgement at a time, however fast somebody types."""
        try:
            while True:
                self._again = False
                text = self.edit.text()
                found = await lint(text, self.file.path, self.form)
                coloured = await in_thread(_spans, text, in_comments=self._in_comments)
                if self.edit.text() == text:
                    self._show(found, text)
                    await self.colours.show(text, coloured, in_comments=self._in_comments)
                    self.judged.emit(found)
                if not self._again and self.edit.text() == text:
                    return
                if not self._again:
                    await asyncio.sleep(PAUSE / 1000)
        finally:
            self._judging = False

    def _show(self, found: Lint, text: str) -> None:
        self.lint = found
        self.edit.show_marks(found.marks, text)
        self.problems.show_marks(found.marks)
        self.surface.show_lint(found)
        errors = found.errors + found.more
        warnings = sum(mark.severity is Severity.WARNING for mark in found.marks)
        parts = [counted(errors, "error", "errors")] if errors else []
        parts += [counted(warnings, "warning", "warnings")] if warnings else []
        words = ", ".join(parts)
        note = words or tr("none")
        if found.more:
            note = tr("{words}, the first {n} are shown").format(words=words, n=len(found.marks))
        self.problems_head.note.setText(note)
        form = tr("authored form") if found.form is Form.AUTHORED else tr("published form")
        if found.valid:
            verdict = tr("Valid ({kind}, {form})").format(kind=visible(found.kind), form=form)
            verdict += f", {words}" if words else ""
            self._verdict_icon.show_icon("success", Token.SUCCESS)
        else:
            verdict = tr("Not valid ({form}): {words}").format(form=form, words=words)
            self._verdict_icon.show_icon("critical", Token.CRITICAL)
        self.verdict.setText(verdict)
        self.verdict.setAccessibleName(verdict)

    def _complete(self, text: str, offset: int) -> Completion:
        return complete_in_file(text, offset, in_comments=self._in_comments)

    # The file

    async def _save(self, *, overwrite: bool) -> None:
        text = self.edit.text()
        try:
            self.file = await save_file(self.file, text, overwrite=overwrite)
        except FileChanged as error:
            self.note.tell(
                "notice", visible(error.what), tr("Saving would replace it."), ("overwrite", tr("Save over it"), "save")
            )
            return
        if self.edit.text() == text:
            self.edit.document().setModified(False)
        self.banner.hide()
        self.note.hide()
        self._follow()
        self.saved.emit()

    def _follow(self) -> None:
        """Watch the file, and its folder: a file that is replaced is another one to the watcher."""
        for path in (str(self.file.path), str(self.file.path.parent)):
            if path not in (*self._watch.files(), *self._watch.directories()):
                self._watch.addPath(path)

    def _look_soon(self) -> None:
        self._follow()
        self._tasks.start(self._look(), "look")

    async def _look(self) -> None:
        now = await stamp_of(self.file.path)
        if now == self.file.stamp:
            return
        if not now:
            self.note.tell(
                "notice",
                tr("The file was removed."),
                tr("The text is still here."),
                ("overwrite", tr("Write it again"), "save"),
            )
        elif self.dirty:
            self.note.tell(
                "notice",
                tr("The file was changed by another program."),
                tr("Your changes are not saved. Read it again to see the other’s; undo brings yours back."),
                ("reload", tr("Read it again"), "refresh"),
            )
        else:
            await self._reload()
            self.note.tell("info", tr("Read again."), tr("Another program changed the file."), _close_action())

    async def _reload(self) -> None:
        file = await open_file(self.file.path)
        self.file = file
        self.edit.replace_text(file.text)
        self.edit.document().setModified(False)
        self.note.hide()
        self._follow()

    def _noted(self, key: str) -> None:
        self.note.hide()
        if key == "overwrite":
            self._tasks.start(self._save(overwrite=True), "file")
        elif key == "reload":
            self._tasks.start(self._reload(), "file")

    def _dirtied(self, dirty: bool) -> None:
        self.star.setVisible(dirty)
        self.title_changed.emit(title_of(self.file.path), dirty)

    def _failed(self, error: KitStudioError) -> None:
        words = " ".join(part for part in (error.where, error.remedy) if part)
        self.banner.tell("critical", visible(error.what), words, _close_action())

    # Moving about

    def find_next(self, *, backward: bool = False) -> None:
        """The next place of the words, from the top again after the last."""
        words = self.find_field.text() or self.edit.textCursor().selectedText()
        if not words:
            self._show_find()
            return
        flags = QTextDocument.FindFlag.FindBackward if backward else QTextDocument.FindFlag(0)
        if self.edit.find(words, flags):
            return
        cursor = self.edit.textCursor()
        end = QTextCursor.MoveOperation.End if backward else QTextCursor.MoveOperation.Start
        cursor.movePosition(end)
        self.edit.setTextCursor(cursor)
        found = self.edit.find(words, flags)
        self.find_field.setProperty("state", "" if found else "error")
        self.find_field.style().polish(self.find_field)

    def _show_find(self) -> None:
        self.find_bar.show()
        chosen = self.edit.textCursor().selectedText()
        if chosen and "\u2029" not in chosen:
            self.find_field.setText(chosen)
        self.find_field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.find_field.selectAll()

    def _hide_find(self) -> None:
        self.find_bar.hide()
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _step(self, step: int) -> None:
        self.problems.go(step)

    def _go_to_mark(self, mark: Mark) -> None:
        self.edit.go_to(mark.line, mark.column)
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _leave(self, step: int) -> None:
        """From the text to the problems, the permissions, the buttons and back: Tab belongs to the text."""
        stops: list[QWidget] = [self.edit, self.problems, self.surface.list, self.save_button]
        here = next((index for index, stop in enumerate(stops) if stop.hasFocus()), -1)
        stops[(here + step) % len(stops)].setFocus(Qt.FocusReason.TabFocusReason)

    def _say_place(self) -> None:
        where, column = self.edit.place()
        self.place.setText(tr("Line {line}, column {column}").format(line=where, column=column))


def title_of(path: Path) -> str:
    """A file with its folder, which is what a Kit is called by."""
    return f"{path.parent.name}/{path.name}" if path.parent.name else path.name


def _close_action() -> tuple[str, str, str]:
    return "dismiss", tr("Close"), "close"


def _spans(stop: object, text: str, *, in_comments: bool) -> Spans:
    return spans(text, in_comments=in_comments)
