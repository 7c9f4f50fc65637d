"""The head of the approval dialog: the fact, which Kit and digest, how many wait behind it, the counts by weight."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from kitstudio.services.approvals import Request
from kitstudio.ui.approvals import texts
from kitstudio.ui.flow import Flow
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Tone
from kitstudio.ui.widgets.basic import Chip, Icon, Monogram, column, row, set_ground, text_label
from kitstudio.ui.widgets.composite import ChipRow
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import ChipLook, count_looks
from kitstudio.ui.widgets.text import counted, short_digest, tr, visible


class DialogHead(QWidget):
    """What is asked, in one sentence and one line of counts. All words come from the request."""

    def __init__(self, theme: Theme, request: Request, seal: ChipLook | None) -> None:
        super().__init__()
        self._theme = theme
        review = request.review
        changed = texts.changes(request)
        single = changed[0] if len(changed) == 1 else None
        subject = single.member.reference if single else request.plan.workload or request.name
        title = text_label(visible(review.title), Type.DISPLAY, wrap=True)
        title.setObjectName("approvalTitle")
        words = column(title, spacing=theme.px(2))
        words.addLayout(self._where(request, single, subject, seal))
        monogram = Monogram(theme, repository_of(subject), 48)
        top = row(monogram, spacing=theme.px(16))
        top.setAlignment(monogram, Qt.AlignmentFlag.AlignTop)
        top.addLayout(words, 1)
        counts = row(spacing=theme.px(12))
        if looks := count_looks(review.counts()):
            counts.addWidget(ChipRow(theme, looks))
        self._summary = text_label(texts.summary(review), Type.BODY, "secondary", wrap=True)
        self._summary.setObjectName("approvalSummary")
        counts.addWidget(self._summary, 1)
        self._queue = Chip(theme, ChipLook("", Tone.INFO, "paused"))
        self._queue.setObjectName("approvalQueue")
        self._queue.hide()
        counts.addWidget(self._queue)
        whole = column(spacing=theme.px(12), margins=(theme.px(24), theme.px(16), theme.px(24), theme.px(12)))
        whole.addLayout(top)
        whole.addLayout(counts)
        self.setLayout(whole)
        set_ground(self, "raised")

    def show_behind(self, count: int) -> None:
        """How many other operations wait to be asked about after this one."""
        self._queue.show_look(ChipLook(texts.behind(count), Tone.INFO, "paused"))
        self._queue.setVisible(count > 0)

    def show_summary(self, words: str) -> None:
        """Another line beside the counts, once it was decided."""
        self._summary.setText(words)

    def _where(self, request: Request, single: texts.Change | None, subject: str, seal: ChipLook | None) -> Flow:
        theme = self._theme
        where = Flow(theme.px(6))
        if single is not None:
            where.addWidget(text_label(visible(repository_of(subject)), Type.MONO, "secondary"))
        if seal is not None:
            where.addWidget(Chip(theme, seal))
        kits = counted(len(request.plan.members), "Kit", "Kits")
        place = tr("in set {name}").format(name=request.name) if single else f"{request.name}, {kits}"
        where.addWidget(text_label(visible(place), Type.SMALL, "secondary"))
        if single is not None:
            before = single.before.digest if single.before is not None else ""
            for widget in self._digests(before, single.member.digest):
                where.addWidget(widget)
        return where

    def _digests(self, before: str, after: str) -> list[QWidget]:
        def mono(digest: str) -> QWidget:
            label = text_label(visible(short_digest(digest)), Type.MONO, "secondary")
            label.setToolTip(visible(digest))
            label.setAccessibleName(visible(digest))
            return label

        heading = text_label(tr("digest"), Type.SMALL, "secondary")
        if not before or before == after:
            return [heading, mono(after)] if after else []
        return [heading, mono(before), Icon(self._theme, "arrow-right", 14), mono(after)]
