"""``schema``: what an editor reads on standard output, how to use it beside it."""

from __future__ import annotations

import json

from tests.cli.conftest import Kitstudio


def test_schema_prints_the_descriptor_and_says_how_to_point_an_editor_at_it(kitstudio: Kitstudio) -> None:
    answer = kitstudio("schema")

    assert answer.code == 0
    assert json.loads(answer.out)["properties"]["schemaVersion"]
    assert "yaml-language-server: $schema=" in answer.err


def test_schema_prints_one_type_and_refuses_another(kitstudio: Kitstudio) -> None:
    assert kitstudio("schema", "port@1", "--json").document["title"] == "com.docker.sandbox/port@1"

    refused = kitstudio("schema", "port@9")
    assert refused.code == 64
    assert "port@9" in refused.err and "port@1" in refused.err
