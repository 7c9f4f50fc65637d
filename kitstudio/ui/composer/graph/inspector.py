"""Beside the graph: what the chosen Kit offers to this set, what it needs, and its packages, searchable."""

from __future__ import annotations

from collections import defaultdict

from PySide6.QtCore import QSortFilterProxyModel, QStringListModel, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QListView, QScrollArea, QVBoxLayout, QWidget

from kitstudio.models.plan import Member, Plan
from kitstudio.models.review import chips
from kitstudio.ui.composer.graph.picture import is_package, packages_of, shown
from kitstudio.ui.composer.rows import name_and_version
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import Elided, Monogram, button, line, row, set_ground, text_label
from kitstudio.ui.widgets.composite import ChipRow, SearchField
from kitstudio.ui.widgets.monogram import repository_of
from kitstudio.ui.widgets.painters import chip_looks
from kitstudio.ui.widgets.text import counted, number, tr, visible

WIDTH = 336


class Inspector(QScrollArea):
    """``open_wanted(reference)``, ``replace_wanted(reference)`` from its buttons."""

    open_wanted = Signal(str)
    replace_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.reference = ""
        self._plan = Plan()
        self._shown: object = None
        self.setObjectName("graphInspector")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._names = QStringListModel(self)
        self._filtered = QSortFilterProxyModel(self)
        self._filtered.setSourceModel(self._names)
        self._filtered.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._resize()
        theme.changed.connect(self._rebuild)
        self.show_kit(Plan(), "")

    def show_kit(self, plan: Plan, reference: str) -> None:
        """Show a Kit of the set; nothing chosen explains how to choose."""
        member = next((each for each in plan.members if each.reference == reference), None)
        shown = (reference, member, plan.edges, len(plan.members))
        self._plan, self.reference = plan, reference
        if shown == self._shown:
            return
        self._shown = shown
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(*(self.theme.px(20) for _ in range(4)))
        layout.setSpacing(self.theme.px(8))
        if member is None:
            self._fill_nothing(layout, plan)
        else:
            self._fill(layout, plan, member)
        layout.addStretch(1)
        set_ground(body, "raised")
        self.setWidget(body)

    def _fill_nothing(self, layout: QVBoxLayout, plan: Plan) -> None:
        layout.addWidget(text_label(tr("No Kit chosen"), Type.TITLE))
        words = tr("Click a Kit or go to it with the arrow keys to see what it offers to this set and what it needs.")
        layout.addWidget(text_label(words, Type.BODY, "secondary", wrap=True))
        if plan.members:
            kits = counted(len(plan.members), "Kit", "Kits")
            needs = counted(len(plan.edges), "connection", "connections")
            layout.addWidget(text_label(f"{kits}, {needs}", Type.SMALL, "secondary"))

    def _fill(self, layout: QVBoxLayout, plan: Plan, member: Member) -> None:
        theme = self.theme
        name, version = name_and_version(member)
        kind = member.descriptor.kind.capitalize() if member.descriptor is not None else tr("Not known yet")
        repository = repository_of(member.reference)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(Elided(name, Type.TITLE))
        namespace = repository.rpartition("/")[0].rpartition("/")[2]
        words.addWidget(Elided(" · ".join(p for p in (kind, version, namespace) if p), Type.SMALL, "secondary"))
        head = row(Monogram(theme, repository, 40), spacing=theme.px(12))
        head.addLayout(words)
        head.addStretch(1)
        layout.addLayout(head)
        if member.descriptor is not None:
            held = ChipRow(theme)
            held.show_looks(chip_looks(chips(member.descriptor), 4))
            layout.addWidget(held)
        self._fill_relations(layout, plan, member)
        packages = packages_of(member)
        if packages:
            self._fill_packages(layout, plan, member, packages)
        layout.addSpacing(theme.px(8))
        actions = row(spacing=theme.px(8))
        for key, label, signal in (
            ("inspectorOpen", tr("Open Kit page"), self.open_wanted),
            ("inspectorReplace", tr("Replace…"), self.replace_wanted),
        ):
            made = button(theme, label, small=True, name=key)
            made.clicked.connect(lambda _=False, signal=signal: signal.emit(member.reference))
            actions.addWidget(made)
        actions.addStretch(1)
        layout.addLayout(actions)

    def _fill_relations(self, layout: QVBoxLayout, plan: Plan, member: Member) -> None:
        offered: dict[str, list[str]] = defaultdict(list)
        needed: dict[str, str] = {}
        for edge in plan.edges:
            if edge.provider == member.reference:
                offered[shown(edge.name)].append(_name(edge.requirer))
            if edge.requirer == member.reference:
                needed[shown(edge.entry or edge.name)] = _name(edge.provider)
        if offered:
            self._heading(layout, tr("Offers to this set"))
            for name, users in offered.items():
                words = users[0] if len(users) == 1 else counted(len(users), "Kit", "Kits")
                layout.addWidget(line())
                layout.addWidget(_pair(self.theme, name, words))
        if needed:
            self._heading(layout, tr("Gets from this set"))
            for name, provider in needed.items():
                layout.addWidget(line())
                layout.addWidget(_pair(self.theme, name, provider))
        if not offered and not needed:
            layout.addSpacing(self.theme.px(8))
            words = tr("It needs nothing of the other Kits, and none of them needs it.")
            layout.addWidget(text_label(words, Type.SMALL, "secondary", wrap=True))

    def _fill_packages(self, layout: QVBoxLayout, plan: Plan, member: Member, packages: tuple[str, ...]) -> None:
        self._heading(layout, tr("Packages"))
        needed = {edge.name for edge in plan.edges if edge.provider == member.reference and is_package(edge.name)}
        words = tr("{n} packages, read from its files when it was published. {needed} needed here.").format(
            n=number(len(packages)), needed=number(len(needed))
        )
        layout.addWidget(text_label(words, Type.SMALL, "secondary", wrap=True))
        self._names.setStringList([visible(name) for name in packages])
        self._filtered.setFilterFixedString("")
        field = SearchField(self.theme, tr("Search packages"), tr("Search packages"))
        field.setObjectName("packageSearch")
        found = QListView()
        found.setObjectName("packages")
        found.setAccessibleName(tr("Packages"))
        found.setModel(self._filtered)
        found.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        found.setUniformItemSizes(True)
        found.setFixedHeight(self.theme.px(160))
        field.textChanged.connect(self._filtered.setFilterFixedString)
        layout.addWidget(field)
        layout.addWidget(found)

    def _heading(self, layout: QVBoxLayout, words: str) -> None:
        layout.addSpacing(self.theme.px(12))
        layout.addWidget(text_label(words, Type.NAME))

    def _rebuild(self) -> None:
        self._resize()
        self._shown = None
        self.show_kit(self._plan, self.reference)

    def fit(self, room: int) -> None:
        """Never more than two fifths of the pane, so that large text leaves the graph its place."""
        self.setFixedWidth(min(self.theme.px(WIDTH), room * 2 // 5))

    def _resize(self) -> None:
        parent = self.parentWidget()
        self.fit(parent.width() if parent is not None else self.theme.px(1200))


def _name(reference: str) -> str:
    return name_and_version(Member(reference))[0]


def _pair(theme: Theme, name: str, words: str) -> QWidget:
    held = QWidget()
    layout = row(spacing=theme.px(8), margins=(0, 3, 0, 3))
    left = Elided(name, Type.MONO)
    layout.addWidget(left, 1)
    layout.addStretch(1)
    layout.addWidget(Elided(words, Type.SMALL, "secondary"))
    held.setLayout(layout)
    return held
