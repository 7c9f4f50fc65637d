"""The Credentials tab of a sandbox."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from kitstudio.services.credential_uses import CREDENTIAL, Use
from kitstudio.ui.sandboxes.credentials_view import CredentialsView
from kitstudio.ui.theme import Theme


def use(service: str, **fields: object) -> Use:
    stated: dict[str, object] = {"phases": ("runtime",), "optional": False, "how": ("key",), "hosts": ("a.example",)}
    return Use(service, **{**stated, **fields})  # type: ignore[arg-type]


def words(view: CredentialsView) -> str:
    return "\n".join(f"{label.text()} {label.accessibleName()}" for label in view.findChildren(QLabel))


def test_each_service_says_when_how_and_whether_it_is_bound(theme: Theme, qtbot: QtBot) -> None:
    view = CredentialsView(theme)
    qtbot.addWidget(view)
    wanted: list[str] = []
    view.bind_wanted.connect(wanted.append)
    uses = [use("one"), use("two", phases=("install", "runtime"), how=("variable",)), use("three", optional=True)]
    view.show_credentials(uses, {"one"}, [f"{CREDENTIAL} three: no secret is bound to it"])
    shown = words(view)
    assert "Bound" in shown and "Not bound" in shown and "bind a secret and recreate it" in shown
    assert "in install and runtime · required · handed to the sandbox itself · for a.example" in shown
    for service, text in (("one", "Replace…"), ("two", "Bind…")):
        button = view.findChild(QPushButton, f"bind-{service}")
        assert button.text() == text and service in button.accessibleName()
        button.click()
    assert wanted == ["one", "two"]


def test_a_hostile_name_of_a_host_hides_nothing_and_nothing_is_said_to_be_nothing(theme: Theme, qtbot: QtBot) -> None:
    view = CredentialsView(theme)
    qtbot.addWidget(view)
    view.show_credentials([use("one", hosts=("a\u202eb", *"cdefg"))], (), ())
    assert "\u202e" not in words(view) and ", …" in words(view)
    view.show_credentials((), (), ())
    assert view._stack.currentIndex() == 0
