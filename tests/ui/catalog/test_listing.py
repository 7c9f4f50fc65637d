"""Words, facets and order over all cards: the same answers as the plain rules, kept up to date card by card."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kitstudio.services.catalog import CardKind, KitCard
from kitstudio.services.catalog_search import CardSearch
from kitstudio.ui.catalog.facets import WORKS, facet_keys
from kitstudio.ui.catalog.listing import Listing
from tests.ui.catalog.stock import CHIPS, card, many

NETWORK = CHIPS[0]


def listing_of(*cards: KitCard) -> Listing:
    made = Listing()
    made.take(cards)
    while made.advance():
        pass
    return made


def names(found: tuple[KitCard, ...]) -> list[str]:
    return [card.display_name for card in found]


def test_facets_of_one_section_widen_and_sections_narrow() -> None:
    listing = listing_of(card("a", CardKind.MIXIN, NETWORK), card("b", CardKind.WORKLOAD), card("c", CardKind.V2))
    assert names(listing.shown("", frozenset({"kind-mixin", "kind-workload"})).cards) == ["a", "b"]
    assert names(listing.shown("", frozenset({"kind-mixin", "kind-workload", "asks-network"})).cards) == ["a"]
    assert names(listing.shown("", frozenset({"asks-nothing"})).cards) == ["b"]
    assert listing.shown("", frozenset(), "other").cards == ()


def test_every_facet_of_the_catalog_narrows() -> None:
    rich = card(
        "rich",
        verified=True,
        licenses=("MIT",),
        platforms=("linux/arm64",),
        capability_types=("com.docker.sandbox/port@1",),
        publisher="globex",
    )
    listing = listing_of(rich, card("plain"))
    for key in (
        "verified",
        "licence:MIT",
        "platform:linux/arm64",
        "type:com.docker.sandbox/port@1",
        "publisher:globex",
    ):
        assert names(listing.shown("", frozenset({key})).cards) == ["rich"], key


def test_counts_follow_the_words_and_not_the_boxes() -> None:
    listing = listing_of(card("alpha", CardKind.MIXIN, NETWORK), card("beta"), card("old", CardKind.V2))
    shown = listing.shown("a", frozenset({"kind-v2"}))
    assert (shown.counts["kind-mixin"], shown.counts["asks-network"], shown.known["kind-v2"]) == (2, 1, 1)


def test_a_card_that_arrives_is_found_by_its_new_words() -> None:
    loading = card("gh", CardKind.LOADING)
    listing = listing_of(loading, card("other"))
    assert listing.shown("release", frozenset()).cards == ()
    assert listing.shown("", frozenset()).read == 1
    listing.take((replace(loading, kind=CardKind.MIXIN, description="Release files"), card("other")))
    while listing.advance():
        pass
    shown = listing.shown("release", frozenset())
    assert names(shown.cards) == ["gh"]
    assert shown.read == 2


def test_a_card_that_goes_leaves_no_facet_behind() -> None:
    listing = listing_of(card("a", licenses=("MIT",)), card("b"))
    listing.take((card("b"),))
    while listing.advance():
        pass
    assert "licence:MIT" not in listing.shown("", frozenset()).counts
    assert names(listing.shown("", frozenset()).cards) == ["b"]


def test_what_fits_the_set_is_a_facet_and_the_rest_says_why() -> None:
    fits, not_fits = card("fits"), card("not")
    listing = listing_of(fits, not_fits)
    listing.use_reasons({fits.repository: "", not_fits.repository: "Nothing in the set offers deb/curl."})
    chosen = frozenset({WORKS})
    assert names(listing.shown("", chosen).cards) == ["fits"]
    ((left, why),) = listing.left_out("", chosen)
    assert (left.display_name, why) == ("not", "Nothing in the set offers deb/curl.")


def test_words_typed_on_find_what_the_whole_words_find() -> None:
    cards = many(400)
    listing = listing_of(*cards)
    for word in ("agent", "forge a", "publisher-3"):
        for end in range(1, len(word) + 1):
            grown = listing.shown(word[:end], frozenset()).cards
            assert set(grown) == set(CardSearch().ranked(word[:end], cards))


WORD = st.text(alphabet="agentforl -", max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(WORD, max_size=6), st.sets(st.sampled_from(["kind-mixin", "asks-network", "verified", "licence:MIT"])))
def test_any_sequence_of_questions_gets_the_plain_answer(queries: list[str], chosen: set[str]) -> None:
    cards = many(60)
    listing = listing_of(*cards)
    sections: dict[str, set[str]] = {}
    for key in chosen:
        sections.setdefault(key.partition("-")[0].partition(":")[0], set()).add(key)
    for query in queries:
        plain = [
            found
            for found in CardSearch().ranked(query, cards)
            if all(keys & facet_keys(found) for keys in sections.values())
        ]
        shown = listing.shown(query, frozenset(chosen)).cards
        assert set(shown) == set(plain)
        if query.split():
            assert names(shown) == names(tuple(plain))
