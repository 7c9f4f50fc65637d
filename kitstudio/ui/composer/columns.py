"""The three columns of the composer: cause (the set), remedy (problems and inputs), effect (permissions)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kitstudio.models import words as wording
from kitstudio.models.plan import Plan
from kitstudio.models.review import Permission, Weight
from kitstudio.ui.composer.inputs_view import InputsView, can_be_offered
from kitstudio.ui.composer.problems_view import ProblemsView
from kitstudio.ui.composer.rows import blocking, order_explained, stack_rows
from kitstudio.ui.composer.stack_model import StackModel
from kitstudio.ui.composer.stack_view import StackView
from kitstudio.ui.flow import ScrollContent
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token, Tone
from kitstudio.ui.widgets.basic import Chip, Icon, button, holder, line, row, set_ground, text_label
from kitstudio.ui.widgets.composite import ChipRow, SectionHeader
from kitstudio.ui.widgets.painters import ChipLook, count_looks
from kitstudio.ui.widgets.permission_list import ListLook, PermissionList
from kitstudio.ui.widgets.text import counted, tr

HEADER = 40


class StackColumn(QWidget):
    """The set from the top down, and why it stands that way."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setMinimumWidth(theme.px(300))
        self._plan = Plan()
        self.header = SectionHeader(tr("Set"), height=theme.px(HEADER))
        self.model = StackModel(self)
        self.view = StackView(theme, self.model)
        self.why = button(theme, tr("Why this order"), kind="link", name="whyOrder")
        self.why.setCheckable(True)
        self.why.toggled.connect(self._explain)
        theme.changed.connect(self._fit)
        note = text_label(
            tr("The order follows from what each Kit needs, so it can’t be dragged."),
            Type.SMALL,
            "secondary",
            wrap=True,
        )
        icon = Icon(theme, "info", 14)
        self._reasons = text_label("", Type.SMALL, "secondary", wrap=True)
        self._reasons.setObjectName("orderReasons")
        self._reasons.hide()
        words = QVBoxLayout()
        words.setSpacing(theme.px(2))
        words.addWidget(note)
        words.addWidget(self.why, 0, Qt.AlignmentFlag.AlignLeft)
        words.addWidget(self._reasons)
        foot = row(icon, spacing=theme.px(6), margins=(theme.px(16), theme.px(10), theme.px(16), theme.px(14)))
        foot.setAlignment(icon, Qt.AlignmentFlag.AlignTop)
        foot.addLayout(words, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addWidget(line())
        layout.addSpacing(theme.px(12))
        layout.addWidget(self.view, 1000)
        layout.addLayout(foot)
        layout.addStretch(1)
        set_ground(self, "surface")

    def show_plan(self, plan: Plan, pinned: frozenset[str]) -> None:
        """Show a set."""
        self._plan = plan
        self.model.show_rows(stack_rows(plan, pinned))
        self.view.setMaximumHeight(self.view.content_height())
        kits = counted(len(plan.members), "Kit", "Kits")
        many = len(plan.members) > 1
        self.header.note.setText(tr("{kits}, each above what it needs").format(kits=kits) if many else kits)
        self._explain(self.why.isChecked())

    def _fit(self) -> None:
        self.view.setMaximumHeight(self.view.content_height())

    def _explain(self, on: bool) -> None:
        self._reasons.setText(order_explained(self._plan) if on else "")
        self._reasons.setVisible(on)


class InputsColumn(ScrollContent):
    """Problems above, inputs below. ``offer_wanted(((kit, name), …))`` from *Offer all to users of this set*."""

    offer_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.problems = ProblemsView(theme)
        self.inputs = InputsView(theme)
        self._chip = Chip(theme, ChipLook("", Tone.CRITICAL, "critical", bold=True))
        self._chip.setObjectName("problemCount")
        self._found = text_label(tr("found before anything is pulled"), Type.SMALL, "secondary")
        self._title = text_label(tr("Problems"), Type.NAME)
        head = row(self._title, self._chip, None, self._found, margins=(16, 0, 16, 0))
        problems_head = holder(head)
        problems_head.setMinimumHeight(theme.px(HEADER))
        self.inputs_head = SectionHeader(tr("Inputs"), height=theme.px(HEADER))
        self.offer_all = button(theme, tr("Offer all to users of this set"), kind="link", name="offerAll")
        self.offer_all.clicked.connect(lambda: self.offer_wanted.emit(self._offerable))
        self.inputs_head.add(self.offer_all)
        self._offerable: tuple[tuple[str, str], ...] = ()
        self.inputs.offer_wanted.connect(lambda kit, name: self.offer_wanted.emit(((kit, name),)))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (problems_head, line(), self.problems, self.inputs_head, line(), self.inputs):
            layout.addWidget(part)
        layout.addStretch(1)
        set_ground(self, "surface")

    def show_plan(self, plan: Plan) -> None:
        """Show what stands in the way, and what can be set."""
        count = blocking(plan)
        words = tr("{n} block launch") if count > 1 else tr("{n} blocks launch")
        self._chip.show_look(ChipLook(words.format(n=count), Tone.CRITICAL, "critical", bold=True))
        self._chip.setVisible(count > 0)
        self._found.setVisible(count > 0)
        self.problems.show_problems(
            plan.problems, plan.runtime_problems, loading=plan.loading, launchable=plan.launchable
        )
        self.inputs.show_inputs(plan.inputs)
        kits = len({each.kit for each in plan.inputs})
        note = tr("{n} in {kits}").format(n=len(plan.inputs), kits=counted(kits, "Kit", "Kits")) if plan.inputs else ""
        self.inputs_head.note.setText(note)
        self._offerable = tuple((each.kit, each.name) for each in plan.inputs if can_be_offered(each))
        self.offer_all.setVisible(len(self._offerable) > 0)


class PermissionsColumn(QWidget):
    """The effective surface with who asks, and switches for what is optional."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setMinimumWidth(theme.px(300))
        self.counts = ChipRow(theme)
        self._all = text_label("", ink="secondary")
        self.list = PermissionList(theme, ListLook(banded=True, askers=True, padding=16, fold_above=8))
        self.list.setObjectName("permissions")
        header = SectionHeader(tr("Permissions of the whole set"), height=theme.px(HEADER))
        self._band = holder(row(self.counts, None, self._all, margins=(16, 9, 16, 10)))
        self.missing = text_label("", Type.SMALL, "notice", wrap=True)
        self.missing.setObjectName("uncounted")
        mark = Icon(theme, "notice", 14, Token.NOTICE)
        note = row(mark, self.missing, spacing=theme.px(8), margins=(16, 0, 16, 10))
        note.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
        note.setStretch(1, 1)
        self._note = holder(note)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (header, line(), self._band, self._note, line()):
            layout.addWidget(part)
        layout.addWidget(self.list, 1)
        set_ground(self, "raised")

    def show_plan(self, plan: Plan) -> None:
        """Show a surface."""
        off = [choice for choice in plan.choices if not choice.selected]
        found = Counter(permission.weight for permission in plan.permissions)
        looks = count_looks({weight: found[weight] for weight in Weight})
        missing = () if plan.loading else plan.uncounted
        if missing:
            names = ", ".join(wording.kit_names(missing)[reference] for reference in missing)
            self.missing.setText(tr("Not counted until its problem is solved: {names}").format(names=names))
        self._note.setVisible(bool(missing))
        if not plan.permissions and not plan.loading and plan.members and not missing:
            looks = (ChipLook(tr("Asks for nothing"), Tone.SUCCESS, "success"),)
        self.counts.show_looks(looks)
        words = counted_permissions(plan.permissions)
        if off:
            words = f"{words}, {tr('{n} off').format(n=len(off))}".lstrip(", ")
        self._all.setText(words)
        self.list.show_permissions(plan.permissions, plan.choices)


def counted_permissions(permissions: Sequence[Permission]) -> str:
    """How many permissions, and how many refusals beside them: what is refused is no permission."""
    refused = sum(each.denies for each in permissions)
    granted = len(permissions) - refused
    parts = (counted(granted, "permission", "permissions"), counted(refused, "refusal", "refusals"))
    return ", ".join(part for part, number in zip(parts, (granted, refused), strict=True) if number)
