from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.errors import KitStudioError
from kitstudio.services.policy import policy_of
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


@pytest.mark.parametrize(
    "text",
    ["[ui\n", f"a = {'[' * 5000}{']' * 5000}\n", ".".join("a" * 3000) + " = 1\n", "policy = ['host=a.example']\n",
     "[ui]\nstate = 3\n", "x = '" + "a" * (4 << 20) + "'\n"],
    ids=["cut", "deep list", "deep table", "no table", "no table below", "huge"],
)  # fmt: skip
def test_an_unreadable_file_is_named_and_never_written_over(path: Path, text: str) -> None:
    path.write_text(text)
    settings = Settings(path)
    assert "cannot be read" in settings.fault("policy.")
    with pytest.raises(KitStudioError, match="Nothing can be set"):
        settings.set("ui.theme", "dark")
    settings.set("ui.state.window", "00ff")
    assert path.read_text() == text and settings.get("ui.state.window") == "00ff"
    path.write_text("[ui]\ntheme = 'dark'\n")
    settings.refresh()
    assert settings.get("ui.theme") == "dark" and not settings.fault("policy.")


def test_a_rule_that_cannot_be_used_survives_every_other_change(path: Path) -> None:
    path.write_text("[policy]\nnever = 'host=a.example'\ntick = ['nonsense']\n")
    settings = Settings(path)
    settings.set("sandbox.cpus", 2)
    settings.set("ui.state.window", "00ff")
    assert tomllib.loads(path.read_text())["policy"] == {"never": "host=a.example", "tick": ["nonsense"]}
    for each in (settings, Settings(path)):
        with pytest.raises(KitStudioError, match="rules cannot be read"):
            policy_of(each)
    settings.set("policy.never", ["host=a.example"])
    settings.set("policy.tick", [])
    assert policy_of(settings).rules and policy_of(Settings(path)).rules


def test_two_windows_keep_what_the_other_one_set(path: Path) -> None:
    one, other = Settings(path), Settings(path)
    heard: list[str] = []
    one.changed.subscribe(heard.append)
    other.set("policy.never", ["host=a.example"])
    assert policy_of(one).rules, "a rule made in another window holds here"
    one.set("ui.theme", "dark")
    other.set("sandbox.cpus", 2)
    one.refresh()
    assert Settings(path).texts("policy.never") == ("host=a.example",)
    assert (one.get("sandbox.cpus"), other.get("ui.theme")) == (2, "dark")
    assert heard == ["policy.never", "ui.theme", "sandbox.cpus"]


def test_who_listens_may_set_another_key_though_another_window_wrote_meanwhile(path: Path) -> None:
    one = Settings(path)
    one.changed.subscribe(lambda key: one.set("sandbox.cpus", 2) if key == "ui.theme" else None)
    Settings(path).set("ui.theme", "dark")
    one.set("git.name", "Ada")
    assert Settings(path).get("sandbox.cpus") == 2


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
