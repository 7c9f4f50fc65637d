"""A folder of a sandbox as a table. Names are the guest's: what cannot be seen in them is spelled out."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from kitstudio.runtime.files import Entry, EntryKind, Listing
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import size_text, tr, visible

Index = QModelIndex | QPersistentModelIndex

NAME, SIZE, MODE, OWNER, MODIFIED = range(5)
_HEADINGS = ("Name", "Size", "Mode", "Owner", "Modified")
_ICONS = {EntryKind.FOLDER: "folder", EntryKind.FILE: "file", EntryKind.LINK: "external"}
_KINDS = {
    EntryKind.FOLDER: "Folder",
    EntryKind.FILE: "File",
    EntryKind.LINK: "Link",
    EntryKind.PIPE: "Pipe",
    EntryKind.SOCKET: "Socket",
    EntryKind.CHARACTERS: "Device",
    EntryKind.BLOCKS: "Device",
}


class FilesModel(QAbstractTableModel):
    """The entries of one listing."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._listing = Listing("/")

    def show_listing(self, listing: Listing) -> None:
        """Show a folder in place of the one before."""
        self.beginResetModel()
        self._listing = listing
        self.endResetModel()

    def entry(self, row: int) -> Entry:
        """The entry of a row."""
        return self._listing.entries[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._listing.entries)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(_HEADINGS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return tr(_HEADINGS[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self._listing.entries[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(entry, index.column())
            case Qt.ItemDataRole.DecorationRole if index.column() == NAME:
                return self._theme.icon(_ICONS.get(entry.kind, "dot"), 16, Token.SECONDARY)
            case Qt.ItemDataRole.ForegroundRole if index.column() != NAME:
                return self._theme.colour(Token.SECONDARY)
            case Qt.ItemDataRole.ToolTipRole if index.column() == NAME:
                return shown_name(entry)
            case Qt.ItemDataRole.AccessibleTextRole if index.column() == NAME:
                return f"{tr(_KINDS[entry.kind])} {shown_name(entry)}"
        return None

    def _text(self, entry: Entry, column: int) -> str:
        match column:
            case 0:
                return shown_name(entry)
            case 1:
                return size_text(entry.size) if entry.kind is EntryKind.FILE else ""
            case 2:
                return mode_text(entry)
            case 3:
                return f"{entry.uid}:{entry.gid}"
        return moment(entry.modified)


def shown_name(entry: Entry) -> str:
    """The name, and where a link leads."""
    name = visible(entry.name)
    return f"{name} → {visible(entry.target)}" if entry.kind is EntryKind.LINK else name


def mode_text(entry: Entry) -> str:
    """``rwxr-x---`` as everybody knows it, with the set bits in their places."""
    letters = "".join(letter if entry.mode >> (8 - at) & 1 else "-" for at, letter in enumerate("rwxrwxrwx"))
    for bit, at, mark in ((0o4000, 2, "s"), (0o2000, 5, "s"), (0o1000, 8, "t")):
        if entry.mode & bit:
            letters = letters[:at] + (mark if letters[at] == "x" else mark.upper()) + letters[at + 1 :]
    return letters


def moment(seconds: float) -> str:
    """A time that the guest states; one that cannot be is left out."""
    try:
        return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


def below(folder: str, name: str) -> str:
    """The path of an entry of a folder."""
    return f"{folder.rstrip('/')}/{name}"


def above(folder: str) -> str:
    """The folder that a folder lies in."""
    return str(PurePosixPath(folder).parent)


def safe_name(name: str) -> str:
    """A guest's file name as one for this computer: no folders, nothing unseen, not hidden."""
    kept = "".join(letter if letter.isprintable() and letter not in '/\\:*?"<>|' else "_" for letter in name)
    return kept.strip().lstrip(".")[:120] or "file"
