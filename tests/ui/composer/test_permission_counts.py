"""What the composer counts as a permission."""

import pytest

from kitstudio.models.review import Group, Permission
from kitstudio.ui.composer.columns import counted_permissions


def permission(*, denies: bool = False) -> Permission:
    made = Permission.__new__(Permission)
    for name, value in {"group": Group.NETWORK, "denies": denies}.items():
        object.__setattr__(made, name, value)
    return made


@pytest.mark.parametrize(
    ("allowed", "refused", "words"),
    [
        (0, 0, ""),
        (1, 0, "1 permission"),
        (2, 1, "2 permissions, 1 refusal"),
        (0, 3, "3 refusals"),
    ],
)
def test_a_refusal_is_no_permission(allowed: int, refused: int, words: str) -> None:
    rows = [permission() for _ in range(allowed)] + [permission(denies=True) for _ in range(refused)]
    assert counted_permissions(rows) == words
