"""Forms, their order and what they leave out; remedies in our own words."""

from __future__ import annotations

import pytest

from kitstudio.models.args import expand_create
from kitstudio.models.canonical import encode
from kitstudio.models.decode import decode
from kitstudio.models.environment import expand_environment
from kitstudio.models.image_reference import check_reference
from kitstudio.models.validate import MAX_BYTES, WARN_BYTES, Form, redacted, validate, validate_descriptor

HEAD = 'schemaVersion: "3"\nkind: mixin\n'


def paths(text: str, form: Form = Form.AUTHORED) -> list[str]:
    return [issue.path for issue in validate(decode(text), form).errors]


def test_errors_come_in_the_order_of_the_grammar() -> None:
    text = (
        'schemaVersion: "3"\nkind: sandbox\niconUrl: http://x/y\nversion: v1\nprovides: [a@]\nconflicts: [a@1]\n'
        "capabilities: [{type: nope}]\nargs: {b: {required: true, default: x}}\nbuild: x\ndockerfile: ../y\n"
    )

    assert paths(text) == [
        "kind",
        "iconUrl",
        "version",
        "provides[0]",
        "conflicts[0]",
        "capabilities[0].type",
        "args.b",
        "dockerfile",
        "dockerfile",
    ]


def test_every_error_says_something_and_most_say_what_to_do() -> None:
    report = validate(decode('schemaVersion: "3"\nkind: sandbox\nversion: v1\n'), Form.AUTHORED)

    assert [issue.message for issue in report.errors]
    assert "workload" in report.errors[0].remedy


def test_the_size_budget_warns_and_then_refuses() -> None:
    small, large, huge = (f'{HEAD}description: "{"x" * n}"\n' for n in (10, WARN_BYTES, MAX_BYTES))

    assert [len(validate(decode(t), Form.AUTHORED).warnings) for t in (small, large, huge)] == [0, 1, 1]
    assert [validate(decode(t), Form.AUTHORED).valid for t in (small, large, huge)] == [True, True, False]


def test_an_undeclared_reference_is_found_at_each_use_and_in_comments() -> None:
    text = f"{HEAD}description: ${{{{ kit.args.x }}}}\nauthor: ${{{{ kit.args.x }}}} # ${{{{ kit.args.y }}}}\n"

    assert paths(text) == ["description", "author", ""]


def test_a_published_descriptor_holds_no_build_reference_and_versions_what_it_provides() -> None:
    text = f"{HEAD}provides: [a]\ndescription: ${{{{ kit.args.v }}}}\nargs: {{v: {{default: x, buildArg: V}}}}\n"

    assert paths(text) == []
    assert paths(text, Form.PUBLISHED) == ["provides[0]", "description"]


def test_an_effective_descriptor_has_no_groups_and_no_references_left() -> None:
    text = (
        f"{HEAD}args: {{a: {{}}}}\ncapabilities:\n- group:\n    capabilities:\n"
        '    - {type: x/y@1, config: {v: "${{ kit.args.a }} ${{ kit.env.HOME }}"}}\n'
    )

    assert paths(text, Form.EFFECTIVE) == ["capabilities", "", "capabilities"]
    assert paths(text, Form.EXPANDED_DECLARATIONS) == ["", "capabilities"]


def test_a_descriptor_without_text_is_judged_like_its_canonical_json() -> None:
    text = f'{HEAD}description: "a\\x7fb ${{{{ kit.args.x }}}}"\ncapabilities: [{{type: nope}}]\n'
    descriptor = decode(text).descriptor

    assert [issue.path for issue in validate_descriptor(descriptor, Form.AUTHORED).errors] == paths(text)


def test_a_config_json_cannot_spell_is_reported_and_not_raised() -> None:
    text = f"{HEAD}capabilities: [{{type: com.docker.sandbox/port@1, config: {{container: .nan}}}}]\n"
    descriptor = decode(text).descriptor

    assert [i.path for i in validate_descriptor(descriptor, Form.EFFECTIVE).errors] == ["capabilities[0].config"]


def test_canonical_json_of_a_valid_descriptor_is_valid() -> None:
    text = f"{HEAD}provides: [a@1]\ncapabilities: [{{type: com.docker.sandbox/port@1, config: {{container: 80}}}}]\n"

    assert validate(decode(encode(decode(text).descriptor)), Form.PUBLISHED).valid


@pytest.mark.parametrize(
    ("reference", "good"),
    [
        ("docker.io/a/b:1.0", True),
        ("a", True),
        ("localhost:5000/a", True),
        ("[::1]:5000/a", True),
        ("a@sha256:" + "0" * 64, True),
        ("a:1@sha256:" + "0" * 64, True),
        ("a/B", False),
        ("./a", False),
        ("git+https://x/y", False),
        ("https://x/y", False),
        ("0" * 64, False),
        ("a:" + "t" * 129, False),
        ("a@sha256:12", False),
        ("a b", False),
        ("a//b", False),
    ],
)
def test_a_listed_reference_is_an_image_reference(reference: str, good: bool) -> None:
    assert (check_reference(reference) == "") is good


def test_what_took_in_a_secret_is_reported_by_its_place_alone() -> None:
    text = (
        f"{HEAD}args: {{token: {{}}, port: {{}}}}\ncapabilities:\n"
        '- {type: com.docker.sandbox/credential@1, config: {service: "${{ kit.args.token }}", phase: runtime}}\n'
        '- {type: com.docker.sandbox/port@1, config: {container: "${{ kit.args.port }}"}}\n'
        '- {type: com.docker.sandbox/volume@1, config: {path: "${{ kit.env.KEY }}"}}\n'
    )
    before = decode(text).descriptor
    expanded = expand_environment(expand_create(before, {"token": "Hunter 2", "port": "0"}), {"KEY": "hunter2"})
    raw = validate_descriptor(expanded, Form.EXPANDED_DECLARATIONS).errors

    shown = redacted(raw, before, lambda name: name == "token")

    assert {issue.path for issue in shown} == {"capabilities[0]", "capabilities[1].config.container", "capabilities[2]"}
    assert "unter" not in "".join(map(str, shown))


@pytest.mark.parametrize(
    "key", [r'"\x24{{ kit.env.A }}"', r'"$\u007b{ kit.env.A }}"', "!!binary JHt7IGtpdC5lbnYuQSB9fQ=="]
)
def test_a_placeholder_spelled_in_another_way_is_still_one(key: str) -> None:
    text = f'schemaVersion: "3"\nkind: mixin\ncapabilities:\n- type: a/b@1\n  config:\n    ? {key}\n    : 1\n'

    assert [issue.path for issue in validate(decode(text), Form.AUTHORED).errors] == ["capabilities[0].config"]
