"""What could be written at a place of a descriptor: fields, values and inputs, from the schema (§3 to §7).

The text around the place need not be YAML yet, so the path is read from the indentation of the lines above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from kitstudio.models.comment_form import comment_block
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.schema import capability_schema, descriptor_schema
from kitstudio.services.half_written import KEY, LINE, MAX_COLUMN, HalfWritten, in_comment, unquoted

_REFERENCE: Final = re.compile(r"\$\{\{\s*[\w.]*$")
_WORD: Final = re.compile(r"[\w@./:\"'-]*$")
_TYPED: Final = re.compile(r"^(?:true|false|yes|no|on|off|y|n|null|~|[-+]?[0-9][0-9_.:eE]*)$", re.IGNORECASE)

Schema: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """``label`` is what is read, ``insert`` what is written, ``detail`` says what it is."""

    label: str
    insert: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggestions that would take the place of the text from ``start`` to the cursor; ``typed`` is that text."""

    start: int
    typed: str
    suggestions: tuple[Suggestion, ...] = ()

    def matching(self) -> tuple[Suggestion, ...]:
        """Those that fit what is typed: the ones that begin so first, then the ones that hold it."""
        typed = self.typed.strip("\"'").lower()
        begin = [item for item in self.suggestions if _begins(item.label.lower(), typed)]
        holds = [item for item in self.suggestions if item not in begin and typed in item.label.lower()]
        return tuple(begin + holds)


def complete(text: str, offset: int) -> Completion:
    """What fits at a character offset; without suggestions where nothing is known."""
    above = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    before, after = text[above:offset], text[offset : end if end >= 0 else len(text)]
    nothing = Completion(offset, "")
    if len(before) > MAX_COLUMN or in_comment(before):
        return nothing
    number = text.count("\n", 0, above)
    scan = HalfWritten(text, number)
    reference = _REFERENCE.search(before)
    if reference is not None:
        closed = after.lstrip().startswith("}}")
        inputs = [Suggestion(name, f"${{{{ kit.args.{name}{'' if closed else ' }}'}", "input") for name in scan.args()]
        named = reference[0].removeprefix("${{").strip()
        typed = "" if "kit.args.".startswith(named) else named.removeprefix("kit.args.")
        return Completion(above + reference.start(), typed, tuple(inputs))
    shape = LINE.fullmatch(before)
    assert shape is not None
    indent, dashes, rest = shape.groups()
    if scan.in_block(len(indent)):
        return nothing
    column = len(indent) + len(dashes)
    parents = scan.parents(number, column, dashes=[len(indent) + i for i, c in enumerate(dashes) if c == "-"])
    schemas = [descriptor_schema_cached()]
    for token, siblings in parents:
        schemas = _below(schemas, token.key, siblings)
    here = scan.siblings(number, column)
    key = KEY.match(rest)
    if key is None:
        return _field(schemas, here, rest, after, offset, item=bool(dashes))
    name = unquoted(key[1])
    value = rest[key.end() :]
    if key.end() == len(rest) and not rest.endswith(" "):
        return nothing
    return _value(_below(schemas, name, here), value, after, offset)


def complete_in_file(text: str, offset: int, *, in_comments: bool) -> Completion:
    """The same for a file: in a Dockerfile only inside its ``# kit:`` block."""
    if not in_comments:
        return complete(text, offset)
    block = comment_block(text)
    line = text.count("\n", 0, offset) + 1
    if block is None or not 0 <= line - block.first < len(block.cuts):
        return Completion(offset, "")
    inner = block.text.split("\n")
    column = offset - (text.rfind("\n", 0, offset) + 1) - block.cuts[line - block.first]
    if column < 0:
        return Completion(offset, "")
    at = sum(len(each) + 1 for each in inner[: line - 1]) + column
    found = complete(block.text, at)
    return Completion(offset - (at - found.start), found.typed, found.suggestions)


@cache
def descriptor_schema_cached() -> Schema:
    """Made once: it asks every capability type."""
    return descriptor_schema()


def _field(
    schemas: Iterable[Schema], here: Mapping[str, str], rest: str, after: str, offset: int, *, item: bool
) -> Completion:
    """A field of the mapping, or an item of a list of texts."""
    if rest.startswith(("[", "{")):
        return _value(list(schemas), rest, after, offset)
    plain = [each for schema in schemas for each in _expanded(schema, here)]
    fields = tuple(_fields(plain, here, closed=after.lstrip().startswith(":")))
    values = tuple(_values(plain)) if item else ()
    return Completion(offset - len(rest), rest, values + fields)


def _value(schemas: list[Schema], value: str, after: str, offset: int) -> Completion:
    """A value after a key, also inside brackets and braces on the same line."""
    key = ""
    stack: list[list[Schema]] = []
    start = 0
    quoted = ""
    for index, sign in enumerate(value):
        if quoted:
            quoted = "" if sign == quoted else quoted
        elif sign in "\"'" and not value[start:index].strip():
            quoted = sign
        elif sign in "[{":
            stack.append(schemas)
            schemas = _below(schemas, None if sign == "[" else key or "", {}) if sign == "[" else schemas
            start = index + 1
        elif sign in "]}" and stack:
            schemas = stack.pop()
            start = index + 1
        elif sign == ":" and stack and value[index + 1 : index + 2] in {" ", ""}:
            key = unquoted(value[start:index])
            stack.append(schemas)
            schemas = _below(schemas, key, {})
            start = index + 1
        elif sign == "," and stack:
            if key:
                schemas, key = stack.pop(), ""
            start = index + 1
    typed = value[start:].lstrip()
    plain = [each for schema in schemas for each in _expanded(schema, {})]
    in_braces = "{" in value and not key and bool(stack)
    found = tuple(_fields(plain, {}, closed=after.lstrip().startswith(":"))) if in_braces else tuple(_values(plain))
    return Completion(offset - len(typed), typed, found)


def _fields(schemas: Iterable[Schema], here: Mapping[str, str], *, closed: bool) -> Iterator[Suggestion]:
    found: dict[str, Suggestion] = {}
    for schema in schemas:
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, dict):
            continue
        for name, stated in properties.items():
            if name in here or not isinstance(stated, dict):
                continue
            needed = isinstance(required, list) and name in required
            kinds = _kinds(stated)
            ending = ":" if kinds <= {"object", "array", "null"} and kinds else ": "
            words = [_kind_word(kinds), "required" if needed else ""]
            detail = ", ".join(word for word in words if word)
            if name not in found or needed:
                found[name] = Suggestion(name, name if closed else name + ending, detail)
    yield from sorted(found.values(), key=lambda item: "required" not in item.detail)


def _values(schemas: Iterable[Schema]) -> Iterator[Suggestion]:
    plain = list(schemas)
    kinds = {kind for schema in plain for kind in _kinds(schema)}
    if "boolean" in kinds and not kinds & {"number", "object"}:
        yield from (Suggestion(word, word, "yes or no") for word in ("true", "false"))
        return
    seen: set[str] = set()
    for schema in plain:
        for stated in ("enum", "examples"):
            listed = schema.get(stated)
            for value in listed if isinstance(listed, list) else ():
                if isinstance(value, str) and value and value not in seen:
                    seen.add(value)
                    detail = _about(value) if stated == "examples" else ""
                    yield Suggestion(value, f'"{value}"' if _TYPED.match(value) else value, detail)


@cache
def _about(type_: str) -> str:
    """A capability type in a few words."""
    stated = capability_schema(type_).get("description")
    return str(stated or "").partition(": ")[2].rstrip(".")


def _below(schemas: Iterable[Schema], key: str | None, siblings: Mapping[str, str]) -> list[Schema]:
    """The schemas of what stands under a key, or of a list's items (``key`` None)."""
    found: list[Schema] = []
    for schema in schemas:
        for plain in _expanded(schema, siblings):
            if key is None:
                below = plain.get("items")
            else:
                properties = plain.get("properties")
                named = properties.get(key) if isinstance(properties, dict) else None
                below = named if named is not None else plain.get("additionalProperties")
            if isinstance(below, dict):
                found.append(below)
    return found


def _expanded(schema: Schema, siblings: Mapping[str, str], depth: int = 0) -> Iterator[Schema]:
    """The schema and every alternative and rule that applies beside ``siblings``, references followed."""
    if depth > 8:
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        definitions = descriptor_schema_cached()["definitions"]
        assert isinstance(definitions, dict)
        target = definitions[reference.rpartition("/")[2]]
        assert isinstance(target, dict)
        yield from _expanded(target, siblings, depth + 1)
        return
    yield schema
    parts: list[JsonValue] = []
    for name in ("anyOf", "allOf"):
        stated = schema.get(name)
        parts += stated if isinstance(stated, list) else []
    condition = schema.get("if")
    if isinstance(condition, dict):
        verdict = _holds(condition, siblings)
        parts += [schema.get("then")] if verdict is not False else []
        parts += [schema.get("else")] if verdict is not True else []
    for part in parts:
        if isinstance(part, dict):
            yield from _expanded(part, siblings, depth + 1)


def _holds(condition: Schema, siblings: Mapping[str, str]) -> bool | None:
    """Whether a condition of ours holds; None where the text does not say yet."""
    properties, required = condition.get("properties"), condition.get("required")
    if isinstance(properties, dict):
        return all(
            isinstance(rule, dict) and siblings.get(name) == rule.get("const") for name, rule in properties.items()
        )
    if isinstance(required, list) and any(str(name) in siblings for name in required):
        return True
    return False if siblings else None


def _kinds(schema: Schema) -> set[str]:
    found: set[str] = set()
    for plain in _expanded(schema, {}):
        stated = plain.get("type")
        names = stated if isinstance(stated, list) else [stated]
        if "pattern" in plain and names == ["string"] and "kit" in str(plain["pattern"]):
            continue  # a placeholder may stand for anything
        found |= {str(name) for name in names if name}
        if "enum" in plain and "boolean" not in found and not stated:
            found.add("string")
    return found


def _kind_word(kinds: set[str]) -> str:
    for kind, word in (
        ("boolean", "yes or no"),
        ("array", "list"),
        ("object", "fields"),
        ("integer", "whole number"),
    ):
        if kind in kinds and not (kind == "boolean" and "string" in kinds and "number" in kinds):
            return word
    return "number" if kinds <= {"number", "null"} and kinds else "text"


def _begins(label: str, typed: str) -> bool:
    """``port`` finds ``com.docker.sandbox/port@1`` as well."""
    return label.startswith(typed) or label.rpartition("/")[2].startswith(typed)
