"""The Manifest tab: digest, platforms, layers with sizes, what is attached, annotations. Present is not verified."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.attached import Attachment
from kitstudio.services.catalog import CardKind, KitDetails
from kitstudio.ui.catalog.kit_tabs import ScrollPane, note_line
from kitstudio.ui.fonts import Type
from kitstudio.ui.tasks import Tasks
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import Elided, ExactEntry, Icon, row, text_label
from kitstudio.ui.widgets.text import counted, number, size_text, tr, visible

LONGEST = 400
MANY = 100
"""Layers and attachments shown one by one; the rest is counted."""


class ManifestTab(ScrollPane):
    """What the registry holds, before anything is read into it. ``fetch`` asks the registry what is attached: one
    request, when this tab is looked at."""

    def __init__(
        self,
        theme: Theme,
        fetch: Callable[[str], Awaitable[Sequence[Attachment]]] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent)
        self._fetch = fetch
        self._details: KitDetails | None = None
        self._tasks = Tasks(self, self._failed)

    def show_details(self, details: KitDetails) -> None:
        self._details = details
        asking = self._fetch is not None and details.card.kind is not CardKind.ERROR
        self._draw(details, details.attachments, tr("Asking the registry…") if asking else "")
        if asking:
            self._tasks.start(self._work(details), "attached")

    async def _work(self, details: KitDetails) -> None:
        assert self._fetch is not None
        found = await self._fetch(details.card.reference)
        if self._details is details:
            self._draw(details, merged(details.attachments, found), "")

    def _failed(self, error: KitStudioError) -> None:
        if self._details is not None:
            what = tr("The registry could not be asked for more: {what}").format(what=visible(error.what))
            self._draw(self._details, self._details.attachments, what)

    def _draw(self, details: KitDetails, attachments: Sequence[Attachment], note: str) -> None:
        place = self.verticalScrollBar().value()
        self.clear()
        artifact = details.artifact
        top = artifact.index or artifact.manifest
        for note in details.notes:
            self.body.addLayout(note_line(self.theme, note))
        self.heading(tr("Digest"), visible(top.media_type))
        self.add(ExactEntry(self.theme, artifact.digest))
        self.heading(tr("Platforms"))
        for platform in artifact.platforms:
            self.add(text_label(visible(str(platform)), Type.MONO))
        if not artifact.platforms:
            self.add(text_label(tr("Not stated."), Type.BODY, "secondary"))
        self._attached(attachments, note)
        layers = artifact.manifest.layers
        total = size_text(sum(layer.size for layer in layers))
        self.heading(tr("Layers"), f"{counted(len(layers), 'layer', 'layers')}, {total}")
        for layer in layers[:MANY]:
            size = text_label(size_text(layer.size), Type.BODY, "secondary")
            digest = Elided(layer.digest, Type.MONO, mode=Qt.TextElideMode.ElideMiddle)
            self.body.addLayout(row(digest, None, size))
        self._more(len(layers))
        self._annotations(top.annotations.items())
        self.end()
        self.verticalScrollBar().setValue(place)

    def _attached(self, attachments: Sequence[Attachment], note: str) -> None:
        """Signatures and attestations by their own type: that they are there, never that they hold."""
        self.heading(tr("Attached"), tr("present, not verified") if attachments else "")
        if note:
            self.add(text_label(note, Type.BODY, "secondary", wrap=True))
        elif not attachments:
            self.add(text_label(tr("Nothing is attached: no signature, no attestation."), Type.BODY, "secondary"))
        for attachment in attachments[:MANY]:
            words = visible(attachment.title)
            line = row(Icon(self.theme, "ring", 16, Token.SECONDARY), text_label(words[:1].upper() + words[1:]))
            line.addWidget(text_label(tr("present, not verified"), Type.SMALL, "secondary"))
            line.addStretch(1)
            if attachment.size:
                line.addWidget(text_label(size_text(attachment.size), Type.BODY, "secondary"))
            self.body.addLayout(line)
            where = visible(attachment.digest or attachment.tag)
            named = Elided(where, Type.MONO, "secondary", mode=Qt.TextElideMode.ElideMiddle)
            self.body.addLayout(row(self.theme.px(24), named, None))
            if attachment.artifact_type and attachment.artifact_type != attachment.title:
                kind = text_label(visible(attachment.artifact_type), Type.SMALL, "secondary", wrap=True)
                self.body.addLayout(row(self.theme.px(24), kind))
        self._more(len(attachments))

    def _more(self, count: int) -> None:
        if count > MANY:
            self.add(text_label(tr("and {n} more").format(n=number(count - MANY)), Type.BODY, "secondary"))

    def _annotations(self, items: Iterable[tuple[str, str]]) -> None:
        shown = sorted((key, value) for key, value in items if len(value) <= LONGEST)
        self.heading(tr("Annotations"), tr("as the publisher wrote them"))
        if not shown:
            self.add(text_label(tr("None."), Type.BODY, "secondary"))
        for key, value in shown:
            self.add(text_label(visible(key), Type.SMALL, "secondary", wrap=True), ExactEntry(self.theme, value))


def merged(known: Sequence[Attachment], found: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """What was known and what the registry lists, each once."""
    seen = {(item.digest, item.tag) for item in known}
    return (*known, *(item for item in found if (item.digest, item.tag) not in seen))
