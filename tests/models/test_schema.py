"""The JSON Schemas: current, and never at odds with the validator where a schema can say it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from kitstudio.models.capabilities import known_types, lookup
from kitstudio.models.capabilities.shape import ShapeError, is_parameterised
from kitstudio.models.decode import decode, decode_tree, tree_value
from kitstudio.models.descriptor import Capability, Descriptor, JsonValue
from kitstudio.models.errors import DescriptorError
from kitstudio.models.schema import capability_schema, descriptor_schema, schemas
from kitstudio.models.tree import parse_tree, read_text
from kitstudio.models.validate import Form, validate

ROOT = Path(__file__).parent.parent.parent
TOLD_BY_SPELLING = ("must be text", "must be true", "merge", "schemaVersion '")
WHOLE = Draft7Validator(descriptor_schema())
BY_TYPE = {name: Draft7Validator(capability_schema(name)) for name in known_types()}


def texts() -> list[str]:
    found: dict[str, None] = {}
    for path in sorted((ROOT / "tests" / "conformance").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if case["op"] in {"authored", "published", "effective", "canonical", "select", "surface", "merge"}:
                given = case["in"]
                stated = [given.get("text"), *(unit.get("descriptor") for unit in given.get("units") or ())]
                found.update(dict.fromkeys(text for text in stated if text))
    return list(found)


def value_of(text: str) -> JsonValue | None:
    """The document as an editor's YAML reader has it; None when it does not scan."""
    try:
        return tree_value(parse_tree(read_text(text)))
    except DescriptorError:
        return None


def configs(descriptor: Descriptor) -> list[Capability]:
    return [entry for entry in descriptor.entries() if entry.type in known_types() and entry.config is not None]


def waits(entry: Capability) -> bool:
    """True for what the validator leaves until the placeholders beside it are filled in; the schema says it at once."""
    return is_parameterised(entry.config) and not BY_TYPE[entry.type].is_valid(entry.config)


def exact_keys(value: JsonValue, schema: JsonValue) -> bool:
    """False where a key differs from a field in case alone, which is read all the same, or is still a placeholder."""
    fields = {name.lower(): name for name in json.dumps(schema).replace('"', " ").split()}
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if any(not isinstance(key, str) or fields.get(key.lower(), key) != key or "${{" in key for key in item):
                return False
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return True


def test_the_committed_schemas_are_what_the_types_say() -> None:
    folder = ROOT / "resources" / "schema"
    committed = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}

    assert committed == schemas(), "run: python packaging/schema.py"


def test_every_schema_is_one() -> None:
    for schema in schemas().values():
        Draft7Validator.check_schema(schema)


def test_what_the_validator_accepts_the_schema_accepts() -> None:
    accepted = waiting = 0
    for text in texts():
        value = value_of(text)
        if value is None:
            continue
        try:
            document = decode(text)
        except DescriptorError:
            continue
        if not validate(document, Form.AUTHORED).valid or not exact_keys(value, descriptor_schema()):
            continue
        if any(waits(entry) for entry in configs(document.descriptor)):
            waiting += 1
            continue
        accepted += 1
        assert not [error.message for error in WHOLE.iter_errors(value)], text

    assert accepted > 700 and waiting < 20


def test_what_does_not_decode_for_its_shape_the_schema_refuses() -> None:
    refused: Counter[bool] = Counter()
    for text in texts():
        value = value_of(text)
        if value is None:
            continue
        try:
            decode_tree(parse_tree(read_text(text)))
        except DescriptorError as error:
            refuses = not WHOLE.is_valid(value)
            refused[refuses] += 1
            # A date or a merge is told from text by its spelling alone, which is gone in a value.
            assert refuses or any(word in error.what for word in TOLD_BY_SPELLING), text

    assert refused[True] > 60 and refused[False] < 0.1 * refused[True]


def test_schema_and_type_agree_on_the_shape_of_every_config() -> None:
    agreed: Counter[str] = Counter()
    for text in texts():
        try:
            descriptor = decode(text).descriptor
        except DescriptorError:
            continue
        for entry in configs(descriptor):
            type_ = lookup(entry.type)
            if type_ is None or type_.configless or is_parameterised(entry.config):
                continue
            schema = BY_TYPE[entry.type]
            if not exact_keys(entry.config, schema.schema):
                continue
            accepts = schema.is_valid(entry.config)
            try:
                type_.decode(entry.config)
            except ShapeError as error:
                assert not accepts or "JSON cannot spell" in str(error), (entry, error)
                agreed["refused"] += 1
                continue
            faults = type_.check(entry.config, "", "workload")
            assert accepts or faults, (entry, [e.message for e in schema.iter_errors(entry.config)])
            agreed["accepted" if accepts else "values refused"] += 1

    assert min(agreed.values()) > 20, agreed


def test_a_type_is_found_by_its_short_name_and_an_unknown_one_named() -> None:
    assert capability_schema("port@1") == capability_schema("com.docker.sandbox/port@1")
    with pytest.raises(DescriptorError, match="port@9") as caught:
        capability_schema("port@9")
    assert "port@1" in caught.value.remedy
