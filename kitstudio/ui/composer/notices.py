"""The strips below the tool bar: what went wrong, what went well, and what happened to the file elsewhere."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.services.local_folders import ChangedFolder
from kitstudio.services.set_documents import Draft
from kitstudio.ui.composer.files import SetFiles, recovered_words
from kitstudio.ui.composer.folder_changes import FolderChanges
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.composite import Banner
from kitstudio.ui.widgets.text import tr, visible


class Notices(QWidget):
    """``banner``: failures; ``note``: successes; ``outside``: the file's own affairs, each with its two answers."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.banner = Banner(theme, Tone.CRITICAL)
        self.outside = Banner(theme, Tone.NOTICE)
        self.folders = Banner(theme, Tone.NOTICE)
        self.note = Banner(theme, Tone.INFO)
        self._folder_changes: FolderChanges | None = None
        self._change: ChangedFolder | None = None
        self._files: SetFiles | None = None
        self._text = ""
        self._draft: Draft | None = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for each in (self.banner, self.outside, self.folders, self.note):
            layout.addWidget(each)
        for each in (self.banner, self.note):
            each.acted.connect(lambda _key, each=each: each.hide())
        self.outside.acted.connect(self._answer)
        self.folders.acted.connect(lambda _key: self._use_folder())

    def serve(self, files: SetFiles) -> None:
        """Tell what happens to this file, and do what is answered."""
        self._files = files
        files.changed_outside.connect(self._changed)
        files.recovered.connect(self._recovered)

    def serve_folders(self, changes: FolderChanges) -> None:
        """Tell which member is older than its folder."""
        self._folder_changes = changes
        changes.told.connect(self._folder_changed)
        changes.settled.connect(self.folders.hide)

    def quiet(self) -> None:
        """Nothing of before is worth saying any more."""
        self.banner.hide()
        self.note.hide()

    def tell_failure(self, error: KitStudioError) -> None:
        """What went wrong."""
        words = " ".join(part for part in (error.where, error.remedy) if part)
        self.banner.tell("critical", visible(error.what), words, _dismiss())

    def tell(self, icon: str, lead: str, words: str) -> None:
        """What is worth saying."""
        self.note.tell(icon, lead, words, _dismiss())

    def _changed(self, text: str, name: str, dirty: bool) -> None:
        self._text = text
        mine = tr("Your unsaved changes are still here.") if dirty else tr("What is shown is what it held before.")
        lead = tr("Another program changed {name}.").format(name=visible(name))
        actions = (("reload", tr("Reload"), "refresh"), ("mine", tr("Keep mine"), "save"))
        self.outside.tell("notice", lead, mine, *actions)

    def _folder_changed(self, change: ChangedFolder) -> None:
        self._change = change
        name = visible(change.folder.name)
        if change.problem is not None:
            problem = change.problem
            words = f"{problem.where}: {problem.what} {problem.remedy}".strip()
            self.folders.tell("notice", tr("The changed folder {name} cannot be used.").format(name=name), words)
            return
        lead = tr("The folder {name} has changed.").format(name=name)
        words = tr("The set still holds the Kit it made before.")
        self.folders.tell("notice", lead, words, ("use", tr("Use the changed folder"), "refresh"))

    def _use_folder(self) -> None:
        if self._folder_changes is not None and self._change is not None:
            self.folders.hide()
            self._folder_changes.use(self._change)

    def _recovered(self, draft: Draft) -> None:
        self._draft = draft
        actions = (("keep", tr("Keep"), "check"), ("discard", tr("Discard"), "trash"))
        self.outside.tell("notice", tr("Unsaved work was recovered."), recovered_words(draft), *actions)

    def _answer(self, key: str) -> None:
        self.outside.hide()
        if self._files is None:
            return
        if key == "reload":
            self._files.reload(self._text)
        elif key == "mine":
            self._files.keep_mine(self._text)
        elif key == "discard" and self._draft is not None:
            self._files.discard(self._draft)


def _dismiss() -> tuple[str, str, str]:
    return ("dismiss", tr("Close"), "close")
