"""What a drag carries: Kits' references as plain text and as our own type; files and text from other applications."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QUrl

REFERENCE_TYPE = "application/x-kit-reference"
LONGEST = 1024
MOST = 64
MAX_TEXT = 524_288
"""Characters of a set in text form (§4)."""


def reference_mime(*references: str) -> QMimeData:
    """A drag of Kits."""
    data = QMimeData()
    text = "\n".join(references)
    data.setText(text)
    data.setData(REFERENCE_TYPE, text.encode())
    return data


def references_of(data: QMimeData) -> tuple[str, ...]:
    """References or local paths in a drag; empty where it holds neither. Bounded, one line each."""
    if data.hasFormat(REFERENCE_TYPE):
        found = bytes(data.data(REFERENCE_TYPE).data()).decode("utf-8", "replace").split("\n")
    elif data.hasUrls():
        found = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    elif data.hasText() and not set_text_of(data):
        found = [_as_path(line) for line in data.text()[: MOST * LONGEST].split("\n")]
    else:
        found = []
    lines = (line.strip() for line in found[:MOST])
    return tuple(
        line for line in lines if line and len(line) <= LONGEST and line.isprintable() and not line.startswith("#")
    )


def set_text_of(data: QMimeData) -> str:
    """The text of a whole set in a drag or on a clipboard, empty where it is something else."""
    if data.hasFormat(REFERENCE_TYPE) or data.hasUrls() or not data.hasText():
        return ""
    text = data.text()
    return text if len(text) <= MAX_TEXT and "schemaVersion" in text and "kits:" in text else ""


def _as_path(line: str) -> str:
    """Some applications hand over a file as text."""
    url = QUrl(line.strip())
    return url.toLocalFile() if url.isLocalFile() else line
