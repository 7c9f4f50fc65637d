"""The quieter tabs of the Kit page: overview, needs and offers, inputs. Kit text is plain and neutral."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QFrame, QHBoxLayout, QListWidget, QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.descriptor import Arg, Descriptor
from kitstudio.models.words import claim
from kitstudio.registry.source import Artifact
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.catalog.card_words import card_chips, kind_word
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets import ChipRow, ExactEntry, Icon, SearchField, column, line, row, text_label
from kitstudio.ui.widgets.text import counted, number, size_text, tr, visible

PACKAGES = ("deb/", "apk/", "rpm/")
SHOWN_PACKAGES = 500


class ScrollPane(QScrollArea):
    """A column that scrolls, in the page's padding."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._fresh()

    def clear(self) -> None:
        """Start again with an empty column."""
        self._fresh()

    def heading(self, text: str, note: str = "") -> None:
        self.body.addSpacing(self.theme.px(8) if self.body.count() else 0)
        self.body.addLayout(row(text_label(text, Type.NAME), text_label(note, Type.SMALL, "secondary"), None))
        self.body.addWidget(line())

    def add(self, *widgets: QWidget) -> None:
        for widget in widgets:
            self.body.addWidget(widget)

    def end(self) -> None:
        self.body.addStretch(1)

    def _fresh(self) -> None:
        inner = QWidget()
        self.body = QVBoxLayout(inner)
        self.body.setContentsMargins(self.theme.px(20), self.theme.px(12), self.theme.px(20), self.theme.px(20))
        self.body.setSpacing(self.theme.px(8))
        self.setWidget(inner)


class OverviewTab(ScrollPane):
    """What it is, who publishes it, what it asks for in one line."""

    def show_details(self, details: KitDetails) -> None:
        self.clear()
        theme, card = self.theme, details.card
        for problem in details.problems:
            self.body.addLayout(problem_box(theme, problem.what, problem.where, problem.remedy))
        for note in details.notes:
            self.body.addLayout(note_line(theme, note))
        self.add(text_label(claim(card.description, 2000) or tr("No description."), Type.BODY, wrap=True))
        self.add(ChipRow(theme, card_chips(card)))
        self.body.addSpacing(theme.px(8))
        facts = QFormLayout()
        facts.setHorizontalSpacing(theme.px(20))
        facts.setVerticalSpacing(theme.px(8))
        for label, value, mono in _facts(details):
            name = text_label(label, Type.BODY, "secondary")
            if mono:
                facts.addRow(name, ExactEntry(theme, value))
                continue
            shown = text_label(value, wrap=True)
            shown.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            facts.addRow(name, shown)
        self.body.addLayout(facts)
        self.end()


class NeedsTab(ScrollPane):
    """Provides, requires, integrates, conflicts; derived packages folded and searchable."""

    def show_details(self, details: KitDetails) -> None:
        self.clear()
        descriptor = details.descriptor
        if descriptor is None:
            self._nothing()
            return
        offered = [name for name in descriptor.provides if not name.startswith(PACKAGES)]
        packages = [name for name in descriptor.provides if name.startswith(PACKAGES)]
        self._section(tr("Offers"), tr("what other Kits may build on"), offered)
        if packages:
            self._packages(packages)
        self._section(tr("Needs"), tr("something in the set must offer each"), descriptor.requires)
        self._section(tr("Works with"), tr("used if present, at these versions only"), descriptor.integrates)
        self._section(tr("Conflicts"), tr("must not be in the same set"), descriptor.conflicts)
        self.end()

    def _nothing(self) -> None:
        self.add(
            text_label(
                tr("This artifact carries no Kit descriptor, so it neither needs nor offers anything."), wrap=True
            )
        )
        self.end()

    def _section(self, title: str, note: str, entries: Sequence[str]) -> None:
        self.heading(title, note)
        if not entries:
            self.add(text_label(tr("None."), Type.BODY, "secondary"))
        for entry in entries:
            self.add(ExactEntry(self.theme, entry))

    def _packages(self, packages: list[str]) -> None:
        self.heading(
            tr("Packages"), counted(len(packages), "package, read from its files", "packages, read from its files")
        )
        field = SearchField(self.theme, tr("Search packages"), tr("Search packages"))
        field.setObjectName("package-search")
        found = QListWidget()
        found.setAccessibleName(tr("Packages"))
        found.setFont(self.theme.font(Type.MONO))
        found.setMaximumHeight(self.theme.px(180))
        found.hide()

        def show(words: str) -> None:
            hits = [visible(name) for name in packages if words.lower() in name.lower()]
            found.clear()
            found.addItems(hits[:SHOWN_PACKAGES])
            if len(hits) > SHOWN_PACKAGES:
                found.addItem(tr("and {n} more").format(n=number(len(hits) - SHOWN_PACKAGES)))
            found.setVisible(bool(words))

        field.textChanged.connect(show)
        self.add(field, found)


class InputsTab(ScrollPane):
    """Create-phase args with their rules; build args as history."""

    def show_details(self, details: KitDetails) -> None:
        self.clear()
        args = details.descriptor.args if details.descriptor else {}
        create = {name: arg for name, arg in args.items() if not arg.is_build}
        build = {name: arg for name, arg in args.items() if arg.is_build}
        self.heading(tr("Inputs"), tr("asked when a set is created"))
        if not create:
            self.add(text_label(tr("None."), Type.BODY, "secondary"))
        for name, arg in create.items():
            self._arg(name, arg)
        if build:
            self.heading(tr("Baked in when it was published"))
            for name, arg in build.items():
                self._arg(name, arg)
        self.end()

    def _arg(self, name: str, arg: Arg) -> None:
        rules = [tr("required") if arg.required else tr("optional")]
        if arg.default is not None:
            rules.append(tr("default {value}").format(value=visible(arg.default) or tr("empty")))
        if arg.enum:
            rules.append(tr("one of {values}").format(values=", ".join(visible(v) or tr("empty") for v in arg.enum)))
        self.body.addLayout(
            row(
                text_label(visible(name), Type.MONO_FIELD),
                text_label(" · ".join(rules), Type.SMALL, "secondary", wrap=True),
            )
        )
        if arg.description:
            self.add(text_label(claim(arg.description), Type.BODY, "secondary", wrap=True))
        if arg.pattern:
            self.add(ExactEntry(self.theme, arg.pattern))


def problem_box(theme: Theme, what: str, where: str, remedy: str) -> QVBoxLayout:
    """A problem of a Kit: what, where, remedy, on one block."""
    text = column(text_label(visible(what), Type.STRONG, "critical", wrap=True), spacing=theme.px(4))
    if where:
        text.addWidget(ExactEntry(theme, where))
    if remedy:
        text.addWidget(text_label(visible(remedy), Type.BODY, "secondary", wrap=True))
    top = row(spacing=8)
    top.addWidget(Icon(theme, "critical", 20, Token.CRITICAL), 0, Qt.AlignmentFlag.AlignTop)
    top.addLayout(text, 1)
    return column(top, 4)


def note_line(theme: Theme, note: str) -> QHBoxLayout:
    """Something the reader should know, that keeps nobody from using the Kit."""
    made = row(spacing=8)
    made.addWidget(Icon(theme, "notice", 16, Token.NOTICE), 0, Qt.AlignmentFlag.AlignTop)
    made.addWidget(text_label(visible(note), Type.BODY, wrap=True), 1)
    return made


def image_size(artifact: Artifact) -> int:
    """Bytes of the compressed layers."""
    return sum(layer.size for layer in artifact.manifest.layers)


def _facts(details: KitDetails) -> list[tuple[str, str, bool]]:
    card, artifact = details.card, details.artifact
    descriptor: Descriptor | None = details.descriptor
    facts = [
        (tr("Kind"), kind_word(card.kind), False),
        (tr("Version"), visible(card.version) or tr("Not stated."), False),
        (tr("Publisher"), visible(card.publisher) or tr("Not stated."), False),
    ]
    if card.author:
        facts.append((tr("Author"), tr("says: {author}").format(author=claim(card.author)), False))
    facts.append((tr("Licence"), ", ".join(claim(name) for name in card.licenses) or tr("Not stated."), False))
    platforms = ", ".join(visible(str(platform)) for platform in artifact.platforms)
    facts.append((tr("Platforms"), platforms or tr("Not stated."), False))
    facts.append((tr("Size"), size_text(image_size(artifact)), False))
    if descriptor is not None and descriptor.source_url:
        facts.append((tr("Source page"), visible(descriptor.source_url), True))
    facts.append((tr("Digest"), artifact.digest, True))
    facts.append((tr("Reference"), visible(card.reference), True))
    return facts
