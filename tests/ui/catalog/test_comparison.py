"""Two versions compared weigh a new grant as the gate will weigh it when it comes as an update."""

from __future__ import annotations

import pytest

from kitstudio.models.changes import judge, kit_side
from kitstudio.ui.catalog.comparison import compare
from tests.ui.catalog.stock import details


@pytest.mark.parametrize("added", ["cards.example:443", "*.partners.example", "**"])
def test_the_versions_tab_and_the_gate_count_the_same(added: str) -> None:
    a, b = details(), details("2.0.0", ("api.forge.test", added))
    assert a.descriptor is not None and b.descriptor is not None
    granted, asked = kit_side(a.card.reference, a.descriptor), kit_side(b.card.reference, b.descriptor)
    assert compare(a, b).counts() == judge("gh", granted, asked).counts()
