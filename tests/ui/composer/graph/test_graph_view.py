"""The graph with real Qt events: keys, zoom, selection, pictures, and items that come and go."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QGraphicsObject, QLineEdit, QListView

from kitstudio.models.descriptor import Descriptor, ListedKit
from kitstudio.models.errors import KitStudioError
from kitstudio.models.plan import Member, Plan, plan_set
from kitstudio.ui.composer.graph import items
from kitstudio.ui.composer.graph.export import rendered
from kitstudio.ui.composer.graph.pane import GraphPane
from kitstudio.ui.composer.graph.picture import LineKind, Node, NodeKind, Picture
from kitstudio.ui.composer.graph.scene import GraphScene
from kitstudio.ui.theme import Mode, Theme
from tests.builders import descriptor


def judged(count: int) -> Plan:
    base = descriptor("workload", provides=("base@1.0.0", "deb/git@2.39", "deb/jq@1.7"))
    members = [Member("r.example/base:1.0.0", "sha256:" + "0" * 64, base)]
    for n in range(1, count):
        needs = ("base",) if n == 1 else (f"t{n - 1}",)
        about = descriptor(provides=(f"t{n}@1.0.0",), requires=needs)
        members.append(Member(f"r.example/t{n}:1.0.0", f"sha256:{n:064x}", about))
    listed = tuple(ListedKit(member.reference) for member in members)
    return plan_set(Descriptor("3", kind="set", kits=listed, kits_stated=True), members)


@pytest.fixture
def pane(theme: Theme) -> Iterator[GraphPane]:
    made = GraphPane(theme)
    made.resize(1200, 700)
    made.show_plan(judged(4))
    made.show()
    QTest.qWaitForWindowExposed(made)
    yield made
    made.close()
    made.deleteLater()


def test_row_116_no_class_stands_before_the_graphics_object() -> None:
    found = [each for _, each in inspect.getmembers(items, inspect.isclass) if issubclass(each, QGraphicsObject)]
    own = [each for each in found if each.__module__ == items.__name__]
    assert len(own) == 2
    for each in own:
        assert each.__bases__ == (QGraphicsObject,) and "itemChange" not in vars(each)


def test_row_116_boxes_are_moved_selected_and_painted_without_a_crash(pane: GraphPane) -> None:
    for item in pane.scene.items():
        item.setPos(item.pos() + QPointF(1, 1))
    pane.choose("r.example/t1:1.0.0")
    assert not pane.grab().isNull()


def test_row_119_five_hundred_boxes_come_and_go_while_garbage_is_collected(theme: Theme, qapp: QApplication) -> None:
    scene = GraphScene(theme)
    nodes = tuple(Node(f"k{n}", NodeKind.KIT, f"k{n}", "Mixin", f"r.example/k{n}:1") for n in range(500))
    for round_ in range(4):
        scene.show_picture(Picture(nodes))
        gc.collect()
        assert len([item for item in scene.items() if item.isVisible()]) == 500
        scene.show_picture(Picture(nodes[: round_ * 7]))
        gc.collect()
        QApplication.sendPostedEvents(None, 52)  # DeferredDelete
        qapp.processEvents()
        assert len(scene.items()) == round_ * 7
    scene.deleteLater()
    del scene
    gc.collect()
    qapp.processEvents()


def test_arrow_keys_go_from_kit_to_kit_and_enter_opens(pane: GraphPane) -> None:
    view = pane.view
    chosen, opened, removed = QSignalSpy(pane.chosen), QSignalSpy(view.open_wanted), QSignalSpy(view.remove_wanted)
    QTest.keyClick(view, Qt.Key.Key_Up)
    for _ in range(2):
        QTest.keyClick(view, Qt.Key.Key_Up)
    assert view.current.startswith("r.example/t")
    assert chosen.count() >= 2 and view.accessibleDescription()
    QTest.keyClick(view, Qt.Key.Key_Return)
    QTest.keyClick(view, Qt.Key.Key_Delete)
    assert opened.at(0) == [view.current] and removed.at(0) == [view.current]
    assert pane.inspector.reference == view.current


def test_zoom_by_keys_buttons_and_wheel_keeps_within_bounds(pane: GraphPane) -> None:
    view = pane.view
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.scale_now == pytest.approx(1.0)
    QTest.keyClick(view, Qt.Key.Key_Plus)
    assert view.scale_now == pytest.approx(1.25)
    place = QPointF(100, 100)
    turn = QWheelEvent(
        place,
        view.viewport().mapToGlobal(place),
        QPoint(),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view.viewport(), turn)
    assert view.scale_now == pytest.approx(1.0)
    for _ in range(40):
        QTest.keyClick(view, Qt.Key.Key_Minus)
    assert view.scale_now == pytest.approx(0.05)
    QTest.mouseClick(pane.controls.fit, Qt.MouseButton.LeftButton)
    assert 0.3 < view.scale_now <= 1.0


def test_a_click_chooses_and_a_click_beside_chooses_nothing(pane: GraphPane) -> None:
    item = pane.scene.node("r.example/t2:1.0.0")
    assert item is not None
    spy = QSignalSpy(pane.chosen)
    place = pane.view.mapFromScene(item.sceneBoundingRect().center())
    QTest.mouseClick(pane.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert spy.at(0) == ["r.example/t2:1.0.0"] and item.chosen
    line = pane.scene.line("r.example/t2:1.0.0", "r.example/t1:1.0.0", LineKind.NEEDS)
    assert line is not None and line.lit
    QTest.mouseClick(pane.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(3, 300))
    assert spy.at(1) == [""] and not item.chosen


def test_packages_can_be_searched_beside_the_graph(pane: GraphPane) -> None:
    pane.choose("r.example/base:1.0.0")
    field, found = pane.inspector.findChild(QLineEdit, "packageSearch"), pane.inspector.findChild(QListView, "packages")
    assert field is not None and found is not None and found.model().rowCount() == 2
    QTest.keyClicks(field, "JQ")
    assert found.model().rowCount() == 1


def test_a_change_elsewhere_moves_nothing_and_keeps_items(pane: GraphPane) -> None:
    before = {key: pane.scene.node(key) for key in pane.scene.drawing.places}
    pane.show_plan(judged(4))
    assert all(pane.scene.node(key) is item for key, item in before.items())
    pane.show_plan(judged(5))
    assert all(pane.scene.node(key) is item for key, item in before.items())


def test_strokes_differ_in_more_than_colour(pane: GraphPane, theme: Theme) -> None:
    from kitstudio.ui.composer.graph.items import LineItem
    from kitstudio.ui.composer.graph.picture import Line

    patterns = []
    for kind in (LineKind.NEEDS, LineKind.WORKS_WITH, LineKind.CONFLICT):
        item = LineItem(theme, Line("a", "b", kind, "x", trouble=kind is LineKind.CONFLICT), ((0, 0), (9, 90)))
        patterns.append((item.pen().style(), tuple(item.pen().dashPattern())))
        item.deleteLater()
    assert len(set(patterns)) == 3


@pytest.mark.parametrize("mode", [Mode.LIGHT, Mode.DARK])
def test_the_graph_is_saved_as_svg_and_png(pane: GraphPane, theme: Theme, mode: Mode, tmp_path: Path) -> None:
    theme.choose(mode=mode)
    text = rendered(pane.scene, theme, Path("a.svg"), "team").decode()
    assert text.startswith("<?xml") and "<svg" in text and "t3" in text
    image = QImage.fromData(rendered(pane.scene, theme, Path("a.PNG"), "team"))
    assert image.width() == pytest.approx(pane.scene.sceneRect().width() * 2, abs=2)
    with pytest.raises(KitStudioError, match="SVG or PNG"):
        rendered(pane.scene, theme, Path("a.gif"), "team")


def test_two_hundred_kits_paint_and_keep_one_item_each(theme: Theme) -> None:
    pane = GraphPane(theme)
    pane.resize(1200, 700)
    pane.show_plan(judged(200))
    pane.show()
    assert len(pane.scene.drawing.places) == 201 and not pane.grab().isNull()
    pane.deleteLater()
