"""Tab *Rules*: every rule in effect for a set, with the Kit that states it, where in its descriptor, and when."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QFont, QIcon
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QStackedWidget, QWidget

from kitstudio.models import words
from kitstudio.models.effective_rules import EffectiveRule
from kitstudio.models.policy import HOST_POLICY
from kitstudio.models.review import Phase
from kitstudio.ui.approvals.models import Index
from kitstudio.ui.fonts import Type
from kitstudio.ui.tables import TableModel, dressed_table
from kitstudio.ui.theme import ICON_OF_WEIGHT, Theme, Token
from kitstudio.ui.widgets.basic import column, holder, line, row, text_label
from kitstudio.ui.widgets.composite import SearchField, StateView
from kitstudio.ui.widgets.text import counted, tr, visible, weight_word

COMPOSER = ""
"""The choice that stands for the set in the composer."""

_PHASES = {Phase.INSTALL: "Install", Phase.RUNTIME: "Runtime", Phase.ALWAYS: "Always"}


class RulesModel(TableModel):
    """The rules that match what is looked for."""

    COLUMNS = ("Rule", "What it does", "Phase", "Stated by", "Where")

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._all: tuple[EffectiveRule, ...] = ()
        self._rules: tuple[EffectiveRule, ...] = ()
        self._text = ""

    def show_rules(self, rules: Sequence[EffectiveRule]) -> None:
        self._all = tuple(rules)
        self.narrow(self._text)

    def narrow(self, text: str) -> None:
        """Only rules with every word of ``text``."""
        self._text = text
        parts = text.lower().split()
        self.beginResetModel()
        self._rules = tuple(rule for rule in self._all if all(part in spoken(rule).lower() for part in parts))
        self.endResetModel()

    def rule(self, row_: int) -> EffectiveRule:
        return self._rules[row_]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rules)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        rule = self._rules[index.row()]
        place = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            told = rule.overridden or rule.sentence
            return (visible(rule.entry), visible(told), tr(_PHASES[rule.phase]), origin(rule), where(rule))[place]
        if role in (Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
            return spoken(rule)
        if role == Qt.ItemDataRole.DecorationRole and place == 0:
            if rule.denies:
                return QIcon(self._theme.pixmap("deny", 16, Token.SECONDARY))
            return QIcon(self._theme.pixmap(ICON_OF_WEIGHT[rule.weight], 16, Token(rule.weight.name.lower())))
        if role == Qt.ItemDataRole.FontRole and place == 0:
            font = QFont(self._theme.font(Type.MONO))
            font.setStrikeOut(rule.struck)
            return font
        if role == Qt.ItemDataRole.ForegroundRole and rule.struck and place == 0:
            return self._theme.colour(Token.SECONDARY)
        return None


class RulesView(QWidget):
    """``chosen(name)``: which set's rules are wanted; ``COMPOSER`` for the one in the composer."""

    chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.model = RulesModel(theme, self)
        self.sets = QComboBox()
        self.sets.setObjectName("rulesSets")
        self.sets.setAccessibleName(tr("Rules of"))
        self.search = SearchField(theme, tr("Filter by host, Kit or words"), tr("Filter the rules"))
        self.search.setObjectName("rulesFilter")
        self.search.setMinimumWidth(theme.px(220))
        self.search.setMaximumWidth(theme.px(320))
        self.told = text_label("", Type.SMALL, "secondary")
        self.table = dressed_table(theme, self.model, (220, 0, 80, 150, 300), tr("Rules in effect"), "rulesTable")
        self._state = StateView(
            theme, "filter", tr("No rule is in effect"), tr("Nothing is asked for, and this machine refuses nothing.")
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._state)
        self._stack.addWidget(self.table)
        bar = holder(row(self.sets, self.search, self.told, None, margins=(16, 8, 16, 8)), "raised")
        inner = column(bar, line(), spacing=0)
        inner.addWidget(self._stack, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(inner)
        self.search.textChanged.connect(self._narrow)
        self.sets.activated.connect(lambda _index: self.chosen.emit(self.name()))
        self.show_sets("", ())

    def name(self) -> str:
        """The set that is chosen."""
        return str(self.sets.currentData() or COMPOSER)

    def show_sets(self, open_name: str, names: Sequence[str]) -> None:
        """The set in the composer, and those that were approved; the choice stays where it can."""
        chosen = self.name()
        self.sets.clear()
        self.sets.addItem(tr("In the composer: {name}").format(name=visible(open_name) or tr("untitled")), COMPOSER)
        for name in names:
            self.sets.addItem(tr("Approved: {name}").format(name=visible(name)), name)
        self.sets.setCurrentIndex(max(0, self.sets.findData(chosen)))

    def show_rules(self, rules: Sequence[EffectiveRule]) -> None:
        """Show the rules of the chosen set."""
        self.model.show_rules(rules)
        self._stack.setCurrentIndex(1 if rules else 0)
        struck = sum(rule.struck for rule in rules)
        told = counted(len(rules), "rule", "rules")
        if struck:
            told += ", " + tr("{n} struck out by the host policy").format(n=struck)
        self.told.setText(told)

    def _narrow(self, text: str) -> None:
        self.model.narrow(text)


def origin(rule: EffectiveRule) -> str:
    """Who states a rule."""
    if rule.origin == HOST_POLICY:
        return tr("Host policy")
    return words.kit_name(rule.origin) if rule.origin else tr("The set itself")


def where(rule: EffectiveRule) -> str:
    """Where it stands: the path in the descriptor and its line."""
    at = words.exact(rule.path)
    return f"{at}, {tr('line')} {rule.line}" if rule.line else at


def spoken(rule: EffectiveRule) -> str:
    """A row in words, for assistive technology and for looking it up."""
    lead = [] if rule.denies else [f"{weight_word(rule.weight)}."]
    struck = [tr("Struck out.")] if rule.struck else []
    parts = [*lead, rule.entry + ".", rule.sentence, *struck, rule.overridden, tr(_PHASES[rule.phase]) + ",",
             origin(rule) + ",", where(rule)]  # fmt: skip
    return visible(" ".join(part for part in parts if part))
