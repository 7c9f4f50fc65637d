"""The descriptor as published, highlighted and searchable, in YAML or JSON. Read only, plain text."""

from __future__ import annotations

import asyncio
import json

from pygments.lexers.data import JsonLexer, YamlLexer
from yaml import YAMLError

from kitstudio.models.canonical import to_value
from kitstudio.models.decode import decode
from kitstudio.models.errors import DescriptorError
from kitstudio.services.readable import to_yaml
from kitstudio.ui.catalog.code_view import LONGEST, CodeView
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import Segmented
from kitstudio.ui.widgets.text import tr

YAML, JSON = "yaml", "json"


class DescriptorView(CodeView):
    """Shows one descriptor; ``go_to_line`` from elsewhere."""

    def __init__(self, theme: Theme) -> None:
        self._text = ""
        self._form = Segmented(theme, [(YAML, "YAML", ""), (JSON, "JSON", "")], tr("Form"))
        super().__init__(theme, "descriptor", tr("Descriptor"), self._form)
        self._form.chosen.connect(lambda _: self._draw())

    def show_text(self, text: str) -> None:
        """``text`` as the registry handed it over."""
        self._text = text[:LONGEST]
        self._draw()

    def go_to_line(self, line: int) -> None:
        """Put a line (1-based, of the text as it came) in view and mark it."""
        self._form.choose(form_of(self._text))
        self._draw()
        self.mark_line(line)

    def _draw(self) -> None:
        form = self._form.value()
        if form == form_of(self._text):
            self._show(self._text, form)
        else:
            self.tasks.start(self._reshape(self._text, form), "shape")

    async def _reshape(self, text: str, form: str) -> None:
        made = await asyncio.to_thread(shaped, text, form)
        if (self._text, self._form.value()) == (text, form):
            self._show(made, form)

    def _show(self, text: str, form: str) -> None:
        self.show_code(text, JsonLexer() if form == JSON else YamlLexer())


def form_of(text: str) -> str:
    """The form a text has already."""
    return JSON if text.lstrip().startswith("{") else YAML


def shaped(text: str, form: str) -> str:
    """The text itself where it already has the form, else the same descriptor written in it.

    A text that is no descriptor stays as it is: what it would mean cannot be told, and its aliases may have no end.
    """
    if form == form_of(text):
        return text
    try:
        if form == JSON:
            return json.dumps(to_value(decode(text).descriptor), indent=2, ensure_ascii=False)
        return to_yaml(json.loads(text))
    except (ValueError, YAMLError, RecursionError, DescriptorError):
        return text
