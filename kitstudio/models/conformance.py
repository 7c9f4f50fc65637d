"""Running judged cases: facts about the grammar, one JSON object each (``tests/conformance/README.md``).

``run_case`` answers a case with this package's own functions and compares. ``conformance_sets`` holds the
operations on several Kits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kitstudio.models import conformance_sets as sets
from kitstudio.models.annotations import capability_types, oci_annotations
from kitstudio.models.args import expand_build, expand_create, resolve_args
from kitstudio.models.canonical import encode
from kitstudio.models.decode import decode
from kitstudio.models.diagnostics import locate
from kitstudio.models.document import Document
from kitstudio.models.environment import expand_environment
from kitstudio.models.errors import DescriptorError, KitStudioError
from kitstudio.models.issue import Issue
from kitstudio.models.packages import Package, derived_provides, package_version, parse_apk, parse_dpkg
from kitstudio.models.relations import parse_provide, parse_require, satisfies
from kitstudio.models.validate import Form, validate, validate_descriptor
from kitstudio.models.versions import compare, is_version, latest, reference_version, tag_version, trim

Json: TypeAlias = Any
Given: TypeAlias = Mapping[str, Json]
Answer: TypeAlias = dict[str, Json]

_FAILS: Answer = {"fails": True}
_VERBATIM = frozenset({"descriptor", "json"})


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case, answered. ``got`` is ours and ``expect`` the judged answer; ``note`` says what the case is about."""

    id: str
    op: str
    passed: bool
    got: Answer
    expect: Answer
    note: str = ""


def run_case(case: Mapping[str, Json]) -> CaseResult:
    """Answer one case and compare. A case that makes us fail in another way than a clear error is not caught."""
    operation = _OPERATIONS[case["op"]]
    given: Given = case.get("in") or {}
    try:
        got = operation(given)
    except KitStudioError:
        got = dict(_FAILS)
    expect: Answer = case["expect"]
    return CaseResult(case["id"], case["op"], matches(got, expect), got, expect, case.get("note", ""))


def run_cases(lines: Iterable[str]) -> Iterable[CaseResult]:
    """Answer every case of a file, one JSON object a line."""
    for line in lines:
        if line.strip():
            yield run_case(json.loads(line))


def matches(got: Answer, expect: Answer) -> bool:
    """True when the answers agree: null is an absent list, and a line or column counts only where one is given."""
    ours, theirs = _comparable(got), _comparable(expect)
    if "errors" in theirs and "errors" in ours and len(ours["errors"]) == len(theirs["errors"]):
        ours["errors"] = [
            {key: value for key, value in error.items() if key in wanted}
            for error, wanted in zip(ours["errors"], theirs["errors"], strict=True)
        ]
    return _exactly(ours) == _exactly(theirs)


def _exactly(value: Json) -> str:
    """JSON text: unlike Python values it tells 1 from true."""
    return json.dumps(value, sort_keys=True)


def _comparable(answer: Answer) -> Answer:
    found = {key: value if key in _VERBATIM else _without_empty(value) for key, value in answer.items()}
    found = {key: value for key, value in found.items() if value is not None and (key in _VERBATIM or value != [])}
    if "errors" in found:
        found["errors"] = [{**error, "path": error.get("path") or ""} for error in found["errors"]]
    return found


def _without_empty(value: Json) -> Json:
    if isinstance(value, dict):
        kept = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None and item != [] and item != ""}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value


def _judge(form: Form) -> Callable[[Given], Answer]:
    def operation(given: Given) -> Answer:
        try:
            document = decode(given.get("text", ""))
        except DescriptorError:
            return {"decodes": False, "valid": False}
        report = validate(document, form)
        errors = [_placed(document, issue) for issue in report.errors]
        return {"decodes": True, "valid": report.valid, "warnings": len(report.warnings), "errors": errors}

    return operation


def _placed(document: Document, issue: Issue) -> Answer:
    position = locate(document, issue.path)
    return {"path": issue.path, "line": position.line, "column": position.column}


def _canonical(given: Given) -> Answer:
    descriptor = decode(given.get("text", "")).descriptor
    return {
        "json": encode(descriptor),
        "ociAnnotations": oci_annotations(descriptor),
        "capabilityTypes": capability_types(descriptor),
    }


def _expand_build(given: Given) -> Answer:
    document = decode(given.get("text", ""))
    values = resolve_args(document.descriptor.args, given.get("values") or {})
    return {"descriptor": sets.value_of(expand_build(document, values))}


def _expand_create(given: Given) -> Answer:
    document = decode(given.get("text", ""))
    values = resolve_args(document.descriptor.args, given.get("values") or {})
    expanded = expand_create(document, values)
    report = validate_descriptor(expanded, Form.EXPANDED_DECLARATIONS)
    errors = [{"path": issue.path} for issue in report.errors]
    return {"descriptor": sets.value_of(expanded), "valid": report.valid, "errors": errors}


def _expand_env(given: Given) -> Answer:
    descriptor = decode(given.get("text", "")).descriptor
    try:
        return {"descriptor": sets.value_of(expand_environment(descriptor, given.get("env") or {}))}
    except DescriptorError as error:
        return {"fails": True, "errors": [{"path": error.where}]}


def _version_compare(given: Given) -> Answer:
    a, b = given.get("a", ""), given.get("b", "")
    return {"isVersionA": is_version(a), "isVersionB": is_version(b), "compare": compare(trim(a), trim(b))}


def _provide(given: Given) -> Answer:
    try:
        provide = parse_provide(given.get("text", ""))
    except DescriptorError:
        return {"valid": False}
    return {"valid": True, "name": provide.name, "version": provide.version}


def _require(given: Given) -> Answer:
    try:
        require = parse_require(given.get("text", ""))
    except DescriptorError:
        return {"valid": False}
    constraints = [{"Op": c.operator, "Version": c.version} for c in require.constraints]
    return {"valid": True, "name": require.name, "constraints": constraints, "canonical": require.canonical()}


def _satisfies(given: Given) -> Answer:
    return {"satisfies": satisfies(parse_provide(given["a"]), parse_require(given["b"]))}


def _database(namespace: str, parse: Callable[[str], tuple[Package, ...]]) -> Callable[[Given], Answer]:
    def operation(given: Given) -> Answer:
        packages = parse(given.get("text", ""))
        return {
            "packages": [{"Name": package.name, "Version": package.version} for package in packages],
            "provides": list(derived_provides([{namespace: packages}])),
        }

    return operation


_OPERATIONS: Mapping[str, Callable[[Given], Answer]] = {
    "authored": _judge(Form.AUTHORED),
    "published": _judge(Form.PUBLISHED),
    "effective": _judge(Form.EFFECTIVE),
    "canonical": _canonical,
    "expand-build": _expand_build,
    "expand-create": _expand_create,
    "expand-env": _expand_env,
    "version-compare": _version_compare,
    "provide": _provide,
    "require": _require,
    "satisfies": _satisfies,
    "tag-version": lambda given: {"version": tag_version(given.get("text", ""))},
    "ref-version": lambda given: {"version": reference_version(given.get("text", ""))},
    "latest": lambda given: {"latest": latest(given.get("tags") or ())},
    "package-version": lambda given: {"version": package_version(given.get("text", ""))},
    "dpkg": _database("deb", parse_dpkg),
    "apk": _database("apk", parse_apk),
    "surface": sets.surface,
    "diff": sets.diff,
    "select": sets.select,
    "resolve": sets.resolve,
    "resolve-partial": sets.resolve_partial,
    "merge": sets.merge,
    "compose": sets.compose,
}
