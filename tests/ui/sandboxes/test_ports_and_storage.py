from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from kitstudio.runtime.backend import HostMountFolder, OwnStorage, PublishedPort, SandboxStatus, State
from kitstudio.ui.sandboxes.ports_view import PortsView
from kitstudio.ui.sandboxes.storage_view import StorageView
from kitstudio.ui.sandboxes.words import facts
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.basic import ExactEntry

WEB = PublishedPort("8080/tcp", "web\u202eevil", host_port=49153)
MOUNT = HostMountFolder("a" * 24, "hub.example/gh", "/work", "/home/x/mounts/a/files", 2_000_000, 3, ("box",), ())


def entries(view: PortsView | StorageView) -> list[str]:
    rows = view.rows if isinstance(view, PortsView) else [view]
    return [entry.text for row in rows for entry in row.findChildren(ExactEntry)]


def test_set_without_ports_says_so(qtbot: QtBot, theme: Theme) -> None:
    view = PortsView(theme)
    qtbot.addWidget(view)
    view.show_ports(())
    assert view._stack.currentIndex() == 0


def test_port_tells_where_it_is_and_its_address_is_copied(qtbot: QtBot, theme: Theme) -> None:
    view = PortsView(theme)
    qtbot.addWidget(view)
    view.show_ports((WEB,))
    assert entries(view) == ["8080/tcp", "127.0.0.1:49153"]
    row = view.rows[0]
    QTest.mouseClick(row.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "127.0.0.1:49153"


def test_port_is_chosen_by_keyboard_and_what_is_typed_survives_a_refresh(qtbot: QtBot, theme: Theme) -> None:
    view = PortsView(theme)
    qtbot.addWidget(view)
    view.show_ports((WEB,))
    view.show()
    row = view.rows[0]
    row.change.setFocus()
    QTest.keyClick(row.change, Qt.Key.Key_Space)
    QTest.keyClicks(row.field, "9000")
    view.show_ports((WEB,))
    assert view.rows[0] is row and row.field.value() == 9000
    with qtbot.waitSignal(view.chosen) as chosen:
        row.apply.setFocus()
        QTest.keyClick(row.apply, Qt.Key.Key_Space)
    assert chosen.args == ["8080/tcp", 9000]
    view.show_ports((replace(WEB, host_port=9000, fixed=9000),))
    assert entries(view) == ["8080/tcp", "127.0.0.1:9000"]


def test_storage_tells_its_own_from_what_is_shared(qtbot: QtBot, theme: Theme) -> None:
    view = StorageView(theme)
    qtbot.addWidget(view)
    view.show_storage((), ())
    assert view._stack.currentIndex() == 0
    own = (OwnStorage("/cache", "1g", in_memory=True), OwnStorage("/data", "", used=4096, mounted=False))
    view.show_storage(own, (MOUNT,))
    assert entries(view) == ["/cache", "/data", "/work"]


def test_shared_folder_in_use_cannot_be_deleted_and_another_asks_the_page(qtbot: QtBot, theme: Theme) -> None:
    view = StorageView(theme)
    qtbot.addWidget(view)
    view.show_storage((), (replace(MOUNT, running=("box",)),))
    assert not view.mounts[0].delete.isEnabled()
    view.show_storage((), (MOUNT,))
    with qtbot.waitSignal(view.delete_wanted) as wanted:
        QTest.mouseClick(view.mounts[0].delete, Qt.MouseButton.LeftButton)
    assert wanted.args == [MOUNT]
    with qtbot.waitSignal(view.open_wanted) as opened:
        QTest.mouseClick(view.mounts[0].open, Qt.MouseButton.LeftButton)
    assert opened.args == ["/home/x/mounts/a/files"]


def test_countdown_and_reason_of_an_idle_stop_stand_beside_the_name_row_95() -> None:
    status = SandboxStatus("1", "box", State.RUNNING, "demo", "a" * 64, idle_stop=1000.0)
    assert "idle, stops in 10 min" in facts(status, now=400.0)
    assert "stops" not in facts(replace(status, idle_stop=0.0), now=400.0)
    stopped = replace(status, state=State.STOPPED, idle_stop=0.0, note="Stopped after 30 minutes without a session.")
    assert "Stopped after 30 minutes without a session." in facts(stopped)
