"""The catalog's page on plain values: what is asked of whom and when, failures with their way out, the place kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QPushButton

from kitstudio.registry.source import RateLimited, SignInRequired, Unreachable
from kitstudio.services.catalog import CardKind, SourceInfo, SourceKind, SourceState
from kitstudio.ui.catalog import page as catalog_page
from kitstudio.ui.catalog.card_delegate import CardDelegate
from kitstudio.ui.catalog.card_words import card_chips, failure, figures, tool_tip
from kitstudio.ui.catalog.facets import WORKS
from kitstudio.ui.catalog.fitting import WhyNotDialog
from kitstudio.ui.catalog.page import CatalogPage
from kitstudio.ui.drag import references_of
from kitstudio.ui.navigator import Navigator
from kitstudio.ui.theme import Theme
from tests.ui.catalog.stock import CHIPS, Stock, card, many, studio_on

Run = Callable[[Awaitable[Any]], Any]
Open = Callable[..., CatalogPage]
REFUSED = SignInRequired("reg.test answered 401.", where="reg.test/kits/tools", remedy="Sign in.")


def registry(state: SourceState = SourceState.READY, **more: object) -> SourceInfo:
    stated: dict[str, object] = {"network": True, "opened": True, "registry": "reg.test", **more}
    return SourceInfo("reg.test", "reg.test", SourceKind.REGISTRY, state, **stated)  # type: ignore[arg-type]


@pytest.fixture
def opened(theme: Theme, qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """A page on a stock, with everything worked out and drawn."""
    monkeypatch.setattr(catalog_page, "kit_icons", lambda *_: None)
    pages = []

    def build(stock: Stock, members: tuple[object, ...] = ()) -> CatalogPage:
        page = CatalogPage(studio_on(stock, members), theme, Navigator())  # type: ignore[arg-type]
        qtbot.addWidget(page)
        page.resize(1200, 750)
        page.show()
        page._opened = True
        page.wanting.begin()
        page.fitting.begin()
        page._draw()
        settle(page)
        pages.append(page)
        return page

    yield build
    for page in pages:
        page._tasks.cancel()


def settle(page: CatalogPage) -> None:
    while page.listing.advance():
        pass
    page._stale = True
    page._draw()
    QApplication.processEvents()


def names(page: CatalogPage) -> list[str]:
    return [shown.display_name for shown in page.model.cards]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - any Qt state may be the condition
            await asyncio.sleep(0.005)


def test_looking_at_a_network_source_asks_it_nothing(opened: Open, run: Run) -> None:
    stock = Stock((), (registry(opened=False),))
    page = opened(stock)

    async def work() -> None:
        page.sources.choose("reg.test")
        assert stock.asked == []
        button = page.list.state.findChild(QPushButton, "state-open")
        assert button is not None
        assert button.text() == "Open reg.test"
        button.click()
        await until(lambda: bool(stock.asked))
        assert stock.asked == [("refresh", "reg.test")]

    run(work())


def test_offline_keeps_the_cards_and_says_their_age(opened: Open) -> None:
    away = Unreachable("reg.test did not answer in time.")
    source = registry(SourceState.OFFLINE, count=1, fetched_at=1.0, error=away)
    page = opened(Stock((card("kept", source="reg.test", fetched_at=1.0),), (source,)))
    page.sources.choose("reg.test")
    assert names(page) == ["kept"]
    assert page.list.banner.isVisible()
    assert page.list.banner.accessibleName().startswith("Offline. Showing what was fetched 1 Jan 1970")
    assert figures(page.model.cards[0]).startswith("from ")


def test_a_limit_counts_down_on_the_card_and_no_error_of_its_body_is_shown_row_37(opened: Open) -> None:
    error = RateLimited("Too many requests from here.", retry_after=60)
    told = failure(card("a", CardKind.ERROR, error=error), retry_at=1060.0, now=1000.0)
    assert told is not None
    assert (told.headline, told.action) == ("Limit reached, again in 1:00.", "")
    over = failure(card("a", CardKind.ERROR, error=error), retry_at=990.0, now=1000.0)
    assert over is not None
    assert over.action == "retry"


@pytest.mark.parametrize("kind", ["list of the source", "one card"])
def test_a_refusal_is_answered_on_the_spot_and_the_work_goes_on_row_14(
    opened: Open, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    source = registry(SourceState.SIGN_IN if kind == "list of the source" else SourceState.READY, error=REFUSED)
    failed = card("tools", CardKind.ERROR, source="reg.test", error=REFUSED)
    stock = Stock((replace(failed, repository="reg.test/kits/tools"),), (source,))
    page = opened(stock)
    asked: list[str] = []

    def sign_in(_theme: object, _studio: object, host: str, _window: object, done: Callable[[str], None]) -> None:
        asked.append(host)
        done(host)

    monkeypatch.setattr(catalog_page, "ask_to_sign_in", sign_in)

    async def work() -> None:
        page.sources.choose("reg.test")
        QApplication.processEvents()
        if kind == "one card":
            delegate = page.cards.itemDelegate()
            assert isinstance(delegate, CardDelegate)
            row = page.cards.visualRect(page.model.index(0, 0))
            place = delegate.action_rect(row, page.model.cards[0], page.model)
            QTest.mouseClick(page.cards.viewport(), Qt.MouseButton.LeftButton, pos=place.center())
            assert asked == ["reg.test"]
            assert page.kit.isHidden()
        else:
            shown = page.sign_in.card
            assert shown is not None
            assert shown.isVisible()
            page.sign_in.signed_in.emit("reg.test")
        await until(lambda: ("retry", "reg.test") in stock.asked)

    run(work())


def test_a_session_that_lapsed_is_a_badge_and_opens_no_window_row_16(opened: Open, qtbot: Any) -> None:
    stock = Stock((card("a", source="reg.test"),), (registry(account="mara", count=1),))
    page = opened(stock)
    before = set(QApplication.topLevelWidgets())
    with qtbot.waitSignal(page.badge_changed, check_params_cb=lambda count, attention: count == 1 and attention):
        stock.show(registry(SourceState.SIGN_IN, account="mara", count=1, error=REFUSED))
    assert [w for w in set(QApplication.topLevelWidgets()) - before if isinstance(w, QDialog)] == []
    assert names(page) == ["a"]


def test_a_stale_login_offers_to_sign_in_again_row_13(opened: Open) -> None:
    again = SignInRequired("reg.test no longer accepts the stored sign-in.", remedy="Sign in again.")
    told = failure(card("a", CardKind.ERROR, error=again))
    assert told is not None
    assert (told.action, told.what) == ("sign-in", "reg.test no longer accepts the stored sign-in.")


@pytest.mark.parametrize(
    "note", ["reg.test does not list its repositories.", "reg.test lists nothing for this account."], ids=["31", "32"]
)
def test_a_registry_that_lists_nothing_asks_for_a_name_row_31_row_32(opened: Open, note: str) -> None:
    page = opened(Stock((), (registry(note=note, fetched_at=2.0),)))
    page.sources.choose("reg.test")
    field = page.list.findChild(QLineEdit, "repository-name")
    assert field is not None
    assert field.isVisible()
    assert note in page.list.state.accessibleName()
    named: list[str] = []
    page.list.named.connect(named.append)
    page.navigator.open_kit.disconnect()
    QTest.keyClicks(field, "team/kit")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert named == ["reg.test/team/kit"]


def test_details_that_stream_in_keep_the_place_and_say_how_many_were_searched_row_35(opened: Open) -> None:
    cards = many(2187, kind=CardKind.LOADING)
    cards = tuple(
        replace(one, chips=(), description="", display_name=one.repository.rpartition("/")[2]) for one in cards
    )
    stock = Stock(cards)
    page = opened(stock)
    page.search("agent")
    page._draw()
    assert page.list.of.text() == "0 of 2187 searched"
    bar = page.cards.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    first = page.model.card(page.cards.indexAt(QPoint(20, 12))).repository
    offset = page.cards.visualRect(page.cards.indexAt(QPoint(20, 12))).top()
    arriving = [one for one in cards if "agent" not in one.repository][:200]
    stock.put(*(replace(one, kind=CardKind.MIXIN, display_name="Aaa agent", description="x") for one in arriving))
    settle(page)
    at = page.model.index(page.model.row_of(first), 0)
    assert page.cards.visualRect(at).top() == offset
    assert page.list.of.text() == "200 of 2187 searched"
    assert page.model.rowCount() > 200


def test_only_visible_rows_are_asked_for(opened: Open, run: Run) -> None:
    stock = Stock(many(500, kind=CardKind.LOADING))
    page = opened(stock)
    told: list[tuple[str, str]] = []
    page.status_changed.connect(lambda icon, words: told.append((icon, words)))

    async def work() -> None:
        page.cards.viewport().repaint()
        await until(lambda: any(what == "want" for what, _ in stock.asked))
        asked = {reference for what, reference in stock.asked if what == "want"}
        assert 0 < len(asked) <= 12
        assert asked <= {one.reference for one in page.model.cards[:12]}
        await until(lambda: told[-1:] == [("success", "500 Kits in 1 source")])
        assert any(words.startswith("Reading manifests, ") for _, words in told)

    run(work())


def test_a_kept_card_is_asked_for_once(opened: Open) -> None:
    stock = Stock((card("kept", fetched_at=5.0),))
    page = opened(stock)
    page.wanting._wanted.clear()
    page.wanting.renew()
    for _ in range(3):
        page.cards.viewport().repaint()
    assert list(page.wanting._wanted) == ["hub.example/acme/kept:1.0"]
    page.wanting._wanted.clear()
    page.cards.viewport().repaint()
    assert page.wanting.count == 0


def test_answers_that_arrive_during_a_drag_do_not_disturb_it_row_118(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = Stock((card("a", CardKind.MIXIN, CHIPS[0]), card("b", CardKind.LOADING)))
    page = opened(stock)
    dropped: list[str] = []

    def loop(drag: Any, *_: object) -> Qt.DropAction:
        stock.put(card("b"), *many(300))
        settle(page)
        dropped.extend(references_of(drag.mimeData()))
        return Qt.DropAction.CopyAction

    monkeypatch.setattr("kitstudio.ui.catalog.drag_handle.QDrag.exec", loop)
    page.cards.setCurrentIndex(page.model.index(0, 0))
    page.cards.startDrag(Qt.DropAction.CopyAction)
    assert dropped == ["hub.example/acme/a:1.0"]


def test_the_page_starts_no_task_while_it_is_built_row_121(
    theme: Theme, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_page, "kit_icons", lambda *_: None)
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    stock = Stock(many(3))
    qtbot.addWidget(CatalogPage(studio_on(stock), theme, Navigator()))  # type: ignore[arg-type]
    assert stock.asked == []


def test_what_fits_the_set_is_worked_out_when_the_set_changes(opened: Open, run: Run) -> None:
    fits, not_fits = card("fits"), card("not")
    stock = Stock((fits, not_fits))
    stock.reasons = {fits.repository: "", not_fits.repository: "It conflicts with gh."}
    member = type("Member", (), {"reference": "hub.example/acme/gh:1.0"})()
    page = opened(stock, (member,))

    async def work() -> None:
        page.studio.composer.changed.publish(page.studio.composer.value)
        await until(lambda: page.fitting.known)
        page.facets.choose(frozenset({WORKS}))
        assert names(page) == ["fits"]
        page.facets.choose(frozenset())
        assert "It conflicts with gh." in str(page.model.index(1, 0).data(Qt.ItemDataRole.ToolTipRole))

    run(work())


def test_what_the_set_keeps_away_can_be_looked_at_with_its_reasons(opened: Open, run: Run) -> None:
    fits, not_fits = card("fits"), card("not")
    stock = Stock((fits, not_fits))
    stock.reasons = {fits.repository: "", not_fits.repository: "It conflicts with gh."}
    member = type("Member", (), {"reference": "hub.example/acme/gh:1.0"})()
    page = opened(stock, (member,))

    async def work() -> None:
        page.studio.composer.changed.publish(page.studio.composer.value)
        await until(lambda: page.fitting.known)
        page.facets.choose(frozenset({WORKS}))
        button = page.facets.findChild(QPushButton, "facet-why")
        assert button is not None
        assert not button.isHidden()
        button.click()
        dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, WhyNotDialog))
        assert dialog.list.model().index(0, 0).data() == "not · acme\nIt conflicts with gh."
        dialog.accept()

    run(work())


def test_an_empty_set_fits_nothing_and_says_so(opened: Open) -> None:
    page = opened(Stock((card("a"),)))
    assert page.fitting.note == "The set is empty."


def test_the_filter_and_the_view_survive_a_restart(opened: Open) -> None:
    licensed = card("a", licenses=("MIT, or so",))
    page = opened(Stock((licensed, card("b"))))
    page.facets.choose(frozenset({"licence:MIT, or so", "kind-mixin"}))
    page.list.show_view("table")
    page.list.sort_by("pulls")
    state = json.loads(json.dumps(page.save_state()))
    again = opened(Stock((licensed, card("b"))))
    again.restore_state(state)
    settle(again)
    assert again.facets.chosen() == frozenset({"licence:MIT, or so", "kind-mixin"})
    assert names(again) == ["a"]
    assert (again.list.views.value(), again.list.sort) == ("table", "pulls")


def test_damaged_state_is_left_alone(opened: Open) -> None:
    page = opened(Stock((card("a"),)))
    page.restore_state({"facets": "[not json", "splitter": "%%%", "view": "x", "sort": "y", "source": "gone"})
    assert names(page) == ["a"]


def test_a_removed_source_can_be_put_back(opened: Open, run: Run) -> None:
    stock = Stock((), (registry(),))
    page = opened(stock)

    async def work() -> None:
        page.acts.do("reg.test", "remove")
        await until(lambda: page.list.banner.isVisible())
        button = page.list.banner.findChild(QPushButton, "banner-action")
        assert button is not None
        assert button.text() == "Put it back"
        button.click()
        await until(lambda: ("add", "reg.test") in stock.asked)

    run(work())


def test_v2_artifacts_images_and_newer_types_are_called_what_they_are() -> None:
    assert [look.text for look in card_chips(card("o", CardKind.V2))] == ["v2 artifact", "cannot be mixed with v3"]
    assert [look.text for look in card_chips(card("i", CardKind.IMAGE))] == ["Plain image", "not a Kit"]
    newer = card("n", newer_types=("com.docker.sandbox/teleport@1",))
    assert "com.docker.sandbox/teleport@1" in tool_tip(newer)


def test_the_verified_badge_names_who_vouches() -> None:
    tip = tool_tip(card("a", verified=True), "Docker Hub – Verified Publishers")
    assert "acme is verified: vouched by Docker Hub – Verified Publishers" in tip


def test_home_and_end_reach_both_ends_of_ten_thousand_cards(opened: Open) -> None:
    page = opened(Stock(many(10_000)))
    page.cards.setFocus()
    QTest.keyClick(page.cards, Qt.Key.Key_End)
    assert page.cards.currentIndex().row() == 9_999
    QTest.keyClick(page.cards, Qt.Key.Key_Home)
    assert page.cards.currentIndex().row() == 0
