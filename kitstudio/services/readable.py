"""A published descriptor as text a person can read, with a line for every element.

Registries hand descriptors over as one line of JSON (§9.3); line numbers mean nothing there. The readable form is
YAML of the very same descriptor: it is decoded again and compared, and where YAML could not carry it exactly the
text is indented JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import yaml

from kitstudio.models import canonical
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Descriptor, JsonValue
from kitstudio.models.document import Document
from kitstudio.models.errors import DescriptorError


def readable(descriptor: Descriptor, name: str = "") -> Document:
    """The descriptor as a positioned document; ``text`` decodes to an equal descriptor."""
    value = canonical.to_value(descriptor)
    try:
        document = decode(to_yaml(value), name=name)
        if document.descriptor == descriptor:
            return document
    except DescriptorError:
        pass  # a value YAML spells differently: JSON below carries it
    return decode(json.dumps(value, ensure_ascii=False, indent=2), name=name)


def to_yaml(value: Mapping[str, JsonValue]) -> str:
    """YAML in block style, keys in the order given, long text as blocks."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=False, indent=2
    )


_STRING = "tag:yaml.org,2002:str"


class _Dumper(yaml.SafeDumper):
    """Block style, list items indented, text of several lines as it reads."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if dumper.resolve(yaml.ScalarNode, text, (True, False)) != _STRING:  # type: ignore[no-untyped-call]
        return dumper.represent_scalar(_STRING, text, style='"')
    style = "|" if "\n" in text and text.strip() and not text.startswith((" ", "\n")) else None
    return dumper.represent_scalar(_STRING, text, style=style)


_Dumper.add_representer(str, _text)
