"""The descriptor as published, highlighted and searchable, in YAML or JSON. Read only, plain text."""

from __future__ import annotations

import json

import yaml
from pygments.lexers.data import JsonLexer, YamlLexer

from kitstudio.ui.catalog.code_view import LONGEST, CodeView
from kitstudio.ui.theme import Theme
from kitstudio.ui.widgets import Segmented
from kitstudio.ui.widgets.text import tr


class DescriptorView(CodeView):
    """Shows one descriptor; ``go_to_line`` from elsewhere."""

    def __init__(self, theme: Theme) -> None:
        self._text = ""
        self._form = Segmented(theme, [("yaml", "YAML", ""), ("json", "JSON", "")], tr("Form"))
        super().__init__(theme, "descriptor", tr("Descriptor"), self._form)
        self._form.chosen.connect(lambda _: self._draw())

    def show_text(self, text: str) -> None:
        """``text`` as the registry handed it over."""
        self._text = text[:LONGEST]
        self._draw()

    def go_to_line(self, line: int) -> None:
        """Put a line (1-based, of the YAML form) in view and mark it."""
        self._form.choose("yaml")
        self._draw()
        self.mark_line(line)

    def _draw(self) -> None:
        form = self._form.value()
        self.show_code(shaped(self._text, form), JsonLexer() if form == "json" else YamlLexer())


def shaped(text: str, form: str) -> str:
    """The text itself where it already has the form, else the same document written in it."""
    stripped = text.lstrip()
    is_json = stripped.startswith("{")
    try:
        if form == "json":
            return json.dumps(
                json.loads(text) if is_json else yaml.load(text, yaml.BaseLoader), indent=2, ensure_ascii=False
            )
        return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=100) if is_json else text
    except (ValueError, yaml.YAMLError, RecursionError):
        return text
