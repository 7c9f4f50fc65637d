from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.errors import KitStudioError
from kitstudio.services.settings import KEYS, Settings
from kitstudio.services.settings_toml import dump


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def test_every_default_passes_its_own_check() -> None:
    for key in KEYS.values():
        assert key.check(key.default) == key.default


def test_a_value_is_kept_and_read_again(path: Path) -> None:
    Settings(path).set("ui.theme", "dark")
    assert Settings(path).get("ui.theme") == "dark"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_default_leaves_the_file(path: Path) -> None:
    settings = Settings(path)
    settings.set("ui.theme", "dark")
    settings.set("ui.theme", "system")
    assert "theme" not in path.read_text()


def test_an_unknown_key_is_refused_with_the_list(path: Path) -> None:
    with pytest.raises(KitStudioError) as caught:
        Settings(path).get("ui.colour")
    assert "ui.theme" in caught.value.remedy
    with pytest.raises(KitStudioError):
        Settings(path).set("ui.colour", "red")
    assert not path.exists()


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("sandbox.memory", "2048", 2048),
        ("ui.text_scale", "1.5", 1.5),
        ("registry.plain_http", "a:1, b:2", ("a:1", "b:2")),
    ],
)
def test_text_is_read_as_the_type_of_the_key(path: Path, key: str, text: str, value: object) -> None:
    Settings(path).set(key, text)
    assert Settings(path).get(key) == value


@pytest.mark.parametrize(
    ("key", "value"),
    [("sandbox.memory", "lots"), ("sandbox.memory", -1), ("ui.theme", "pink"), ("ui.text_scale", True)],
)
def test_a_wrong_value_is_refused_and_nothing_is_written(path: Path, key: str, value: object) -> None:
    with pytest.raises(KitStudioError):
        Settings(path).set(key, value)
    assert not path.exists()


def test_a_foreign_line_is_named_and_survives(path: Path) -> None:
    path.write_text('[future]\nthing = 3\n[ui]\ntheme = "dark"\n')
    settings = Settings(path)
    assert "future.thing" in settings.faults[0]
    settings.set("sandbox.cpus", 2)
    assert tomllib.loads(path.read_text()) == {"future": {"thing": 3}, "ui": {"theme": "dark"}, "sandbox": {"cpus": 2}}


def test_an_unusable_value_is_named_and_the_default_stands_in(path: Path) -> None:
    path.write_text('[ui]\ntheme = "pink"\n')
    settings = Settings(path)
    assert settings.get("ui.theme") == "system"
    assert "ui.theme" in settings.faults[0]


def test_an_unreadable_file_is_named_and_kept_aside_when_something_is_set(path: Path) -> None:
    path.write_text("[ui\n")
    settings = Settings(path)
    assert settings.faults
    settings.set("ui.theme", "dark")
    assert path.with_name("settings.toml.unreadable").read_text() == "[ui\n"
    assert Settings(path).get("ui.theme") == "dark"


def test_state_of_the_window_is_free_text_under_its_own_prefix(path: Path) -> None:
    Settings(path).set("ui.state.window", "00ff")
    settings = Settings(path)
    assert settings.get("ui.state.window") == "00ff"
    assert settings.get("ui.state.never_set") == ""
    with pytest.raises(KitStudioError):
        settings.set("ui.state.Bad Name", "x")


def test_who_listens_hears_of_a_change_once(path: Path) -> None:
    settings = Settings(path)
    heard: list[str] = []
    settings.changed.subscribe(heard.append)
    settings.set("ui.theme", "dark")
    settings.set("ui.theme", "dark")
    assert heard == ["ui.theme"]


_keys = st.text(st.characters(codec="utf-8", exclude_characters=".", exclude_categories=("Cc", "Cs")), min_size=1)
_values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cs",))),
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)))),
)


@given(st.dictionaries(_keys, _values, max_size=6))
def test_what_is_written_reads_back_equal(values: dict[str, object]) -> None:
    assert tomllib.loads(dump({f"t.{key}": value for key, value in values.items()})).get("t", {}) == values
