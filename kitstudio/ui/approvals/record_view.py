"""One decision in full: who, when, what was asked, what was said, from which lock to which."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QDateTime, QLocale, Qt, Signal
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.review import Weight
from kitstudio.services.approvals import Record
from kitstudio.services.records import GRANTING
from kitstudio.ui.approvals.models import ANSWERS
from kitstudio.ui.flow import ScrollContent
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import ICON_OF_WEIGHT, Theme, Token
from kitstudio.ui.widgets.basic import ExactEntry, Icon, button, column, row, set_ground, text_label
from kitstudio.ui.widgets.text import short_digest, tr, visible, weight_word

_SHOWN = 60


class RecordView(QScrollArea):
    """``export_wanted``, ``replay_wanted`` and ``return_wanted`` carry the record shown."""

    export_wanted = Signal(object)
    replay_wanted = Signal(object)
    return_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumHeight(theme.px(120))
        self.setAccessibleName(tr("The decision"))
        set_ground(self, "surface")
        self.show_record(None)

    def show_record(self, record: Record | None) -> None:
        """Show one record, or that none is chosen."""
        self.record = record
        theme = self.theme
        content = ScrollContent()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(theme.px(16), theme.px(12), theme.px(16), theme.px(16))
        layout.setSpacing(theme.px(8))
        if record is None:
            layout.addWidget(text_label(tr("No decision matches."), ink="secondary"))
        else:
            self._fill(layout, record)
        layout.addStretch(1)
        set_ground(content, "surface")
        self.setWidget(content)

    def _fill(self, layout: QVBoxLayout, record: Record) -> None:
        theme = self.theme
        words, icon, colour = ANSWERS.get(record.answer, (record.answer, "info", Token.INFO))
        export = button(theme, tr("Export…"), "export", small=True, name="historyExport")
        export.clicked.connect(lambda: self.export_wanted.emit(record))
        replay = button(theme, tr("As it was shown…"), "eye", small=True, name="historyReplay")
        replay.clicked.connect(lambda: self.replay_wanted.emit(record))
        back = button(theme, tr("Go back to this…"), "undo", small=True, name="historyReturn")
        back.setToolTip(tr("Puts this lock in force again. Where it grants more than today's, you are asked first."))
        back.setAccessibleDescription(back.toolTip())
        back.clicked.connect(lambda: self.return_wanted.emit(record))
        back.setVisible(record.answer in GRANTING)
        head = row(Icon(theme, icon, 20, colour), spacing=theme.px(8))
        head.addWidget(text_label(visible(record.title), Type.STRONG, wrap=True), 1)
        for choice in (back, replay, export):
            head.addWidget(choice)
        layout.addLayout(head)
        when = QLocale().toString(QDateTime.fromSecsSinceEpoch(int(record.time)), "d MMM yyyy, HH:mm:ss")
        layout.addWidget(
            text_label(
                tr("{answer} by {user}, {when}, for {name}").format(
                    answer=tr(words), user=record.user, when=when, name=record.name
                ),
                ink="secondary",
                wrap=True,
            )
        )
        digests = row(spacing=theme.px(6))
        for label, digest in ((tr("Lock before"), record.previous_sha256), (tr("Lock"), record.lock_sha256)):
            shown = text_label(short_digest(digest) if digest else tr("none"), Type.MONO, "secondary")
            shown.setToolTip(digest)
            digests.addWidget(text_label(label, Type.SMALL, "secondary"))
            digests.addWidget(shown)
            digests.addSpacing(theme.px(10))
        digests.addStretch(1)
        layout.addLayout(digests)
        if not record.findings:
            layout.addWidget(text_label(tr("Nothing was asked for beyond what was granted."), wrap=True))
        for finding in record.findings[:_SHOWN]:
            layout.addLayout(self._finding(finding))
        if len(record.findings) > _SHOWN:
            rest = tr("{n} more are in the exported record.").format(n=len(record.findings) - _SHOWN)
            layout.addWidget(text_label(rest, Type.SMALL, "secondary"))

    def _finding(self, finding: Mapping[str, object]) -> QVBoxLayout:
        theme = self.theme
        known = {weight.name.lower(): weight for weight in Weight}
        weight = known.get(str(finding.get("weight", "")), Weight.CRITICAL)
        icon = Icon(theme, ICON_OF_WEIGHT[weight], 16, Token(weight.name.lower()))
        sentence = text_label(
            f"{weight_word(weight)}: {visible(str(finding.get('sentence', '')))}", Type.BODY, wrap=True
        )
        top = row(icon, spacing=theme.px(8))
        top.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        top.addWidget(sentence, 1)
        made = column(spacing=theme.px(3))
        made.addLayout(top)
        entry = str(finding.get("entry") or finding.get("detail") or "")
        if entry:
            made.addLayout(row(ExactEntry(theme, entry), margins=(theme.px(24), 0, 0, 0)))
        return made
