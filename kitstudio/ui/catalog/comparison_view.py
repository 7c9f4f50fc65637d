"""A comparison of two versions as rows: one verdict sentence, then each change with its entry in A and in B."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout

from kitstudio.ui.catalog.comparison import Change, ChangeKind, Comparison
from kitstudio.ui.catalog.kit_tabs import ScrollPane
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import ICON_OF_GROUP, ICON_OF_WEIGHT, TONE_OF_WEIGHT, Theme, Token
from kitstudio.ui.widgets import ChipRow, EntryLook, ExactEntry, Icon, column, count_looks, line, row, text_label
from kitstudio.ui.widgets.fold import FoldBody, FoldHeader, FoldLine, permission_lines
from kitstudio.ui.widgets.text import group_word, phase_words, tr, visible, weight_word

SHOWN = 200
"""Changes shown one by one; the rest is counted, so that a hostile pair of versions does not hold the window."""


def show_comparison(pane: ScrollPane, comparison: Comparison, a: str, b: str) -> None:
    """Fill ``pane``; ``a`` and ``b`` are the versions' tags."""
    theme = pane.theme
    verdict = text_label(comparison.verdict(), Type.TITLE, wrap=True)
    verdict.setObjectName("version-verdict")
    pane.add(verdict)
    what = tr("Moving from {a} to {b}. What was approved stays in force until you answer.")
    pane.add(text_label(what.format(a=visible(a), b=visible(b)), Type.SMALL, "secondary", wrap=True))
    pane.add(ChipRow(theme, count_looks(comparison.counts())))
    group = None
    for change in comparison.changes[:SHOWN]:
        if change.group is not group:
            group = change.group
            head = row(Icon(theme, ICON_OF_GROUP[group], 20), text_label(group_word(group), Type.NAME), None)
            pane.body.addSpacing(theme.px(8))
            pane.body.addLayout(head)
            pane.add(line())
        pane.body.addLayout(_change_box(theme, change))
    rest = len(comparison.changes) - SHOWN
    if rest > 0:
        pane.add(text_label(tr("and {n} more changes").format(n=rest), Type.NAME))
    pane.body.addSpacing(theme.px(8))
    _fold(pane, "unchanged", tr("Unchanged"), permission_lines(comparison.unchanged, "info", Token.SECONDARY), "")
    note = tr("not counted by the specification")
    _fold(pane, "also", tr("Also changed"), comparison.also_lines(), note)
    pane.end()


def _fold(pane: ScrollPane, key: str, name: str, lines: tuple[FoldLine, ...], note: str) -> None:
    if not lines:
        return
    header = FoldHeader(pane.theme, "info", Token.SECONDARY, name, len(lines), note, key)
    body = FoldBody(pane.theme, lines)
    header.opened.connect(body.show_rows)
    pane.add(header, body)


def _change_box(theme: Theme, change: Change) -> QVBoxLayout:
    weight = change.weight
    if change.widens:
        icon, ink, word = ICON_OF_WEIGHT[weight], Token(str(TONE_OF_WEIGHT[weight])), weight_word(weight)
    else:
        icon, ink, word = "arrow-down", Token.SUCCESS, tr("Narrowed")
    sentence = text_label(change.sentence, wrap=True)
    head = row(Icon(theme, icon, 20, ink), text_label(word, Type.NAME, str(ink)), spacing=8)
    head.addWidget(sentence, 1)
    made = column(spacing=theme.px(4), margins=(theme.px(28), 0, 0, theme.px(8)))
    if change.permission is not None:
        made.addWidget(text_label(phase_words(change.permission), Type.SMALL, "secondary"))
    missing = {
        ChangeKind.ADDED: (tr("not asked"), ""),
        ChangeKind.REFUSAL_GONE: ("", tr("refusal gone")),
        ChangeKind.NARROWED: ("", tr("no longer asked")),
        ChangeKind.REFUSAL_NEW: (tr("not refused"), ""),
        ChangeKind.UNCHANGED: ("", ""),
    }[change.kind]
    for name, entry, without in (("A", change.a, missing[0]), ("B", change.b, missing[1])):
        side = row(text_label(name, Type.LABEL, "secondary"), spacing=8)
        if entry:
            side.addWidget(ExactEntry(theme, entry, EntryLook(dashed=change.kind is ChangeKind.REFUSAL_GONE)), 1)
        else:
            side.addWidget(text_label(without, Type.SMALL, "secondary"), 1)
        made.addLayout(side)
    return column(4, head, made, line(), spacing=theme.px(4))
