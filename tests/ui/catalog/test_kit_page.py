"""The Kit page: nothing fetched for a tab nobody opened, every state of a tab told, two versions compared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from kitstudio.models.artifact_view import Check, Found, Verdict
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.attached import Attachment
from kitstudio.registry.source import SignInRequired
from kitstudio.registry.staged import StagedFile, StagedSources
from kitstudio.services.artifact_checks import PlatformChecks
from kitstudio.services.catalog import KitDetails
from kitstudio.ui.catalog.descriptor_diff import align
from kitstudio.ui.catalog.kit_page import KitPage
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets.fold import FoldHeader
from tests.ui.catalog.stock import Stock, details, studio_on

Run = Callable[[Awaitable[Any]], Any]
REFERENCE = "hub.example/acme/gh:1.0.0"
REFUSED = SignInRequired("hub.example answered 401.", where=REFERENCE, remedy="Sign in.")


@pytest.fixture
def page(theme: Theme, qtbot: Any) -> Iterator[KitPage]:
    """A page over an empty stock."""
    made = KitPage(theme, studio_on(Stock()))  # type: ignore[arg-type]
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    yield made
    for part in (made, made._recipe, made._conformance, made._versions_tab):
        part._tasks.cancel()


def stock_of(page: KitPage, *shown: KitDetails) -> Stock:
    stock = page._catalog
    assert isinstance(stock, Stock)
    stock.pages.update({one.card.reference: one for one in shown})
    return stock


def texts(widget: QWidget) -> str:
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisibleTo(widget))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - any Qt state may be the condition
            await asyncio.sleep(0.005)


async def opened(page: KitPage, one: KitDetails) -> Stock:
    stock = stock_of(page, one)
    page.open(one.card.reference)
    await until(lambda: page.details is one)
    return stock


def test_nothing_is_fetched_for_tabs_that_were_not_opened(page: KitPage, run: Run) -> None:
    async def work() -> None:
        stock = await opened(page, details())
        for tab in ("overview", "permissions", "needs", "inputs", "descriptor"):
            page.choose_tab(tab)
        assert stock.asked == [("details", REFERENCE)]

    run(work())


def test_the_recipe_is_fetched_when_it_is_looked_at(page: KitPage, run: Run) -> None:
    async def work() -> None:
        one = details()
        stock = await opened(page, one)
        given = StagedSources(
            (StagedFile("gh/kit.dockerfile", b"FROM scratch\n"), StagedFile("gh/kit.yaml", b"a: 1\n"))
        )
        stock.recipes[f"{REFERENCE}@{one.artifact.digest}"] = given
        page.choose_tab("recipe")
        await until(lambda: len(page._recipe.files) == 2)
        assert [file.path for file in page._recipe.files] == ["gh/kit.yaml", "gh/kit.dockerfile"]
        assert page._recipe._code._view.toPlainText() == "a: 1\n"

    run(work())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (StagedSources(), "No recipe inside"),
        (StagedSources(unread=2), "Not looked for everywhere"),
        (KitStudioError("The layer cannot be read."), "The layer cannot be read."),
    ],
    ids=["absent", "too large to look at", "broken"],
)
def test_a_recipe_that_cannot_be_shown_says_why(
    page: KitPage, run: Run, given: StagedSources | KitStudioError, words: str
) -> None:
    async def work() -> None:
        one = details()
        stock = await opened(page, one)
        stock.recipes[f"{REFERENCE}@{one.artifact.digest}"] = given
        page.choose_tab("recipe")
        await until(lambda: page._recipe._state.accessibleName().startswith(words))

    run(work())


def test_recipe_text_is_plain_text(page: KitPage, run: Run) -> None:
    async def work() -> None:
        one = details()
        stock = await opened(page, one)
        evil = StagedSources((StagedFile("gh/kit.yaml", "a: <b>\u202eb</b>\n".encode()),))
        stock.recipes[f"{REFERENCE}@{one.artifact.digest}"] = evil
        page.choose_tab("recipe")
        await until(lambda: bool(page._recipe.files))
        shown = page._recipe._code._view.toPlainText()
        assert "<b>" in shown
        assert "\u202e" not in shown

    run(work())


def test_a_kit_that_wants_a_sign_in_offers_it_and_opens_after_it_row_14_row_2(page: KitPage, run: Run) -> None:
    async def work() -> None:
        stock = stock_of(page)
        stock.pages[REFERENCE] = REFUSED
        page.open(REFERENCE)
        await until(lambda: page._sign_in.card is not None)
        shown = page._sign_in.card
        assert shown is not None
        assert shown.isVisible()
        one = details()
        stock.pages[REFERENCE] = one
        page.resume("other.example")
        assert page.details is None
        page.resume("hub.example")
        await until(lambda: page.details is one)

    run(work())


def test_checks_run_when_asked_and_each_is_told_with_its_verdict(page: KitPage, run: Run) -> None:
    async def work() -> None:
        stock = await opened(page, details())
        missing = (Found(Verdict.FAIL, "kit.yaml is missing."),)
        stock.checks = (
            PlatformChecks(
                ("linux/amd64",),
                (
                    Check("oci-annotations", "SPEC-v3 §9.3", Verdict.PASS),
                    Check("staged-sources", "SPEC-v3 §10", Verdict.FAIL, missing),
                ),
            ),
        )
        page.choose_tab("conformance")
        assert ("checked", REFERENCE) not in stock.asked
        button = page._conformance.findChild(QPushButton, "state-run")
        assert button is not None
        button.click()
        await until(lambda: "staged-sources" in texts(page._conformance))
        words = texts(page._conformance)
        assert words.index("staged-sources") < words.index("oci-annotations")
        assert "kit.yaml is missing." in words
        assert "linux/amd64" in words

    run(work())


def test_checks_that_take_long_can_be_cancelled_row_124(
    page: KitPage, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        stock = await opened(page, details())
        started = asyncio.Event()

        async def slow(reference: str, told: object) -> object:
            started.set()
            await asyncio.Event().wait()
            return None

        monkeypatch.setattr(stock, "checked", slow)
        page.choose_tab("conformance")
        page._conformance.run()
        await started.wait()
        cancel = page._conformance.findChild(QPushButton, "conformance-cancel")
        assert cancel is not None
        assert cancel.isVisible()
        cancel.click()
        await until(lambda: not page._conformance.running)
        await until(lambda: page._conformance._state.accessibleName().startswith("Not checked yet"))

    run(work())


def test_an_image_of_ten_thousand_layers_shows_a_bounded_list_row_124(page: KitPage, run: Run) -> None:
    async def work() -> None:
        await opened(page, details(layers=10_000))
        page.choose_tab("manifest")
        await until(lambda: "and 9900 more" in texts(page).replace(",", ""))

    run(work())


def test_attachments_are_named_by_their_own_type_and_never_called_verified_row_26(page: KitPage, run: Run) -> None:
    async def work() -> None:
        one = details(attachments=(Attachment("sha256:1", "application/spdx+json"),))
        stock = stock_of(page, one)
        stock.attachments = (
            Attachment("sha256:1", "application/spdx+json"),
            Attachment("sha256:2", "application/vnd.example.scan.v1"),
        )
        await opened(page, one)
        assert ("attached", REFERENCE) not in stock.asked
        page.choose_tab("manifest")
        await until(lambda: "Application/vnd.example.scan.v1" in texts(page))
        words = texts(page)
        assert words.count("SBOM (SPDX)") == 1
        assert words.count("present, not verified") == 3
        assert ", verified" not in words

    run(work())


def test_signature_tags_are_folded_with_their_count_and_can_be_looked_at_row_25(page: KitPage, run: Run) -> None:
    async def work() -> None:
        signed = tuple(f"sha256-{n:064x}.sig" for n in range(40))
        one = details(tag="1.10.0", tags=("1.9.0", "1.10.0", "1.2.0", *signed))
        await opened(page, one)
        page.choose_tab("versions")
        tab = page._versions_tab
        model = tab.list.versions
        assert [model.tag(model.index(n)) for n in range(model.rowCount())] == ["1.10.0", "1.9.0", "1.2.0"]
        toggle = tab.findChild(QPushButton, "folded-tags")
        assert toggle is not None
        assert toggle.text() == "40 signature tags, folded away"
        assert not tab.folded.isVisible()
        toggle.click()
        assert tab.folded.isVisible()
        assert tab.folded.model().rowCount() == 40

    run(work())


def test_any_two_versions_are_compared_by_authority_and_by_descriptor(page: KitPage, run: Run) -> None:
    async def work() -> None:
        tags = ("1.0.0", "2.0.0")
        old, new = details(tags=tags), details("2.0.0", ("api.forge.test", "up.forge.test"), tags)
        stock_of(page, old)
        await opened(page, new)
        page.choose_tab("versions")
        tab = page._versions_tab
        await until(lambda: "B asks for more than A." in texts(tab))
        tab.list.picked.emit("1.0.0", False)
        await until(lambda: "B asks for less than A." in texts(tab))
        tab._form.button("descriptor").click()
        await until(lambda: "up.forge.test" in tab._diff.left.toPlainText())
        assert "up.forge.test" not in tab._diff.right.toPlainText()
        tab._form.button("authority").click()
        await until(lambda: tab.findChild(FoldHeader, "fold-unchanged") is not None)

    run(work())


def test_two_thousand_versions_are_listed_and_searched_without_a_request_each_row_35(page: KitPage, run: Run) -> None:
    async def work() -> None:
        tags = tuple(f"1.{n}.0" for n in range(2187))
        one = details("1.2186.0", tags=tags)
        stock = stock_of(page, one, details("1.2185.0", tags=tags))
        await opened(page, one)
        page.choose_tab("versions")
        tab = page._versions_tab
        await until(lambda: tab._compared is not None)
        assert [what for what, _ in stock.asked] == ["details"] * 3
        tab._search.setText("1.21")
        assert tab._note.text().replace(",", "") == "98 of 2187 versions"
        assert tab.list.versions.tag(tab.list.versions.index(0)) == "1.2186.0"

    run(work())


def test_the_version_list_is_worked_by_keyboard(page: KitPage, run: Run) -> None:
    async def work() -> None:
        tags = ("1.0.0", "2.0.0", "3.0.0")
        stock_of(page, *(details(tag, tags=tags) for tag in tags))
        await opened(page, page._catalog.pages["hub.example/acme/gh:3.0.0"])  # type: ignore[attr-defined]
        page.choose_tab("versions")
        tab = page._versions_tab
        tab.list.setCurrentIndex(tab.list.versions.index(2))
        QTest.keyClick(tab.list, Qt.Key.Key_Space, Qt.KeyboardModifier.ShiftModifier)
        assert (tab._from.currentData(), tab._to.currentData()) == ("1.0.0", "3.0.0")
        names = [str(tab.list.versions.index(n).data(Qt.ItemDataRole.AccessibleTextRole)) for n in range(3)]
        assert names == ["3.0.0, newest, B", "2.0.0", "1.0.0, A"]
        with_enter: list[str] = []
        tab.open_version.connect(with_enter.append)
        QTest.keyClick(tab.list, Qt.Key.Key_Return)
        assert with_enter == ["1.0.0"]

    run(work())


def test_the_reference_is_copied_with_its_digest(page: KitPage, run: Run) -> None:
    async def work() -> None:
        one = details()
        await opened(page, one)
        copy = page.findChild(QPushButton, "copy-with-digest")
        assert copy is not None
        copy.click()
        assert QGuiApplication.clipboard().text() == f"{REFERENCE}@{one.artifact.digest}"

    run(work())


def test_whether_it_works_with_the_set_is_said_on_the_page(page: KitPage, run: Run) -> None:
    async def work() -> None:
        one = details()
        await opened(page, one)
        page.tell_reasons({one.card.repository: "It conflicts with notes."})
        assert "Does not fit the current set: It conflicts with notes." in texts(page)
        page.tell_reasons({one.card.repository: ""})
        assert "Works with the current set" in texts(page)
        page.tell_reasons(None)
        assert "Works with the current set" not in texts(page)

    run(work())


def test_equal_lines_stand_beside_each_other() -> None:
    found = align(["a", "b", "c"], ["a", "x", "y", "c"])
    assert (found.left, found.right) == (("a", "b", "", "c"), ("a", "x", "y", "c"))
    assert (found.gone, found.new) == (frozenset({1}), frozenset({1, 2}))
