"""The permission list: order, folding, switches, phases."""

from __future__ import annotations

from PySide6.QtCore import Qt

from kitstudio.models.plan import Choice
from kitstudio.models.review import Asker, Group, Permission, Phase, Weight
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import ListLook, PermissionList
from kitstudio.ui.widgets.permission_model import RowKind, entry_rows, spoken


def host(
    name: str, weight: Weight = Weight.INFO, phase: Phase = Phase.RUNTIME, path: str = "capabilities[0]"
) -> Permission:
    asker = Asker("demo.invalid/a:1", path, 4)
    sentence = f"Any request to {name}."
    return Permission(Group.NETWORK, "network.runtime.allow", name, name, sentence, weight, phase, askers=(asker,))


PRIVILEGED = Permission(Group.PRIVILEGED, "privileged", "", "privileged", "Runs as a whole machine.", Weight.CRITICAL)
ON = Choice("demo.invalid/a:1", "capabilities[1]", "Uploads", ("network-policy@1",), True, True)


def test_the_heaviest_group_comes_first() -> None:
    rows = entry_rows([host("a.example"), PRIVILEGED])
    assert [row.group for row in rows if row.kind is RowKind.GROUP] == [Group.PRIVILEGED, Group.NETWORK]


def test_ordinary_entries_fold_into_one_row_that_counts_them() -> None:
    rows = entry_rows([host(f"{n}.example") for n in range(9)] + [host("*", Weight.CRITICAL)], fold_above=4)
    assert [row.kind for row in rows] == [RowKind.GROUP, RowKind.ENTRY, RowKind.FOLD]
    assert spoken(rows[-1]) == "9 more, nothing above info"


def test_nothing_above_info_is_ever_folded() -> None:
    heavy = [host(f"{n}.example", Weight.NOTICE) for n in range(9)]
    assert all(row.kind is not RowKind.FOLD for row in entry_rows(heavy, fold_above=2))


def test_a_phase_shows_what_is_open_then() -> None:
    rows = entry_rows([host("i.example", phase=Phase.INSTALL), host("r.example")], phase=Phase.INSTALL)
    assert [row.permission.entry for row in rows if row.permission] == ["i.example"]


def test_an_entry_switches_only_if_all_its_askers_are_optional_there() -> None:
    shared = Permission(
        Group.NETWORK,
        "network.runtime.allow",
        "u.example",
        "u.example",
        "Any request to u.example.",
        Weight.INFO,
        askers=(Asker(ON.kit, "capabilities[1].config"), Asker("demo.invalid/b:1", "capabilities[0]")),
    )
    own = host("own.example", path="capabilities[1].config.allow[0]")
    rows = {row.permission.entry: row for row in entry_rows([shared, own], [ON]) if row.permission}
    assert rows["u.example"].choice is None
    assert rows["own.example"].choice == ON


def test_a_path_prefix_is_not_mistaken_for_the_item() -> None:
    other = host("x.example", path="capabilities[10]")
    (row,) = [row for row in entry_rows([other], [ON]) if row.permission]
    assert row.choice is None


def test_what_is_off_stays_visible_as_off() -> None:
    off = Choice(ON.kit, ON.path, ON.label, ON.types, False, True, "left out", (host("gone.example"),))
    (row,) = [row for row in entry_rows([], [off]) if row.permission]
    assert row.off
    assert spoken(row).endswith("Off")


def test_space_turns_the_switch_of_the_current_row(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    view = PermissionList(theme, ListLook(banded=True, askers=True))
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    view.show_permissions([host("own.example", path="capabilities[1]")], [ON])
    view.setCurrentIndex(view.model().index(1, 0))
    with qtbot.waitSignal(view.switched) as told:
        qtbot.keyClick(view, Qt.Key.Key_Space)
    assert told.args == [ON.kit, ON.path, False]


def test_a_click_on_the_painted_switch_turns_it(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    view = PermissionList(theme)
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    view.show_permissions([host("own.example", path="capabilities[1]")], [ON])
    place = view.switch_rect(view.model().index(1, 0)).center()
    with qtbot.waitSignal(view.switched) as told:
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert told.args == [ON.kit, ON.path, False]


def test_an_unsupported_choice_does_not_turn(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    view = PermissionList(theme)
    qtbot.addWidget(view)
    off = Choice(ON.kit, ON.path, "USB", ("usb-device@1",), False, False, "not claimed yet")
    view.show_permissions([], [off])
    with qtbot.assertNotEmitted(view.switched):
        view.act(view.model().index(1, 0))
