"""What a drag carries: a Kit's reference as plain text and as our own type; files from other applications."""

from __future__ import annotations

from PySide6.QtCore import QMimeData

REFERENCE_TYPE = "application/x-kit-reference"
LONGEST = 1024


def reference_mime(reference: str) -> QMimeData:
    """A drag of one Kit."""
    data = QMimeData()
    data.setText(reference)
    data.setData(REFERENCE_TYPE, reference.encode())
    return data


def references_of(data: QMimeData) -> tuple[str, ...]:
    """References or local paths in a drag; empty where it holds neither. Bounded, one line each."""
    if data.hasFormat(REFERENCE_TYPE):
        found = [bytes(data.data(REFERENCE_TYPE).data()).decode("utf-8", "replace")]
    elif data.hasUrls():
        found = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    elif data.hasText():
        found = data.text().split("\n")[:64]
    else:
        found = []
    lines = (line.strip() for line in found)
    return tuple(line for line in lines if line and len(line) <= LONGEST and line.isprintable() and " " not in line[:1])
