from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kitstudio.models.comment_form import check_comment_form, comment_block
from kitstudio.models.decode import decode

DOCKERFILE = """# syntax=docker/sandbox-kit:3
# kit:
#   schemaVersion: "3"
#   kind: mixin
#
#   provides: ["gh@1.0"]
# syntax=docker/dockerfile:1
FROM scratch AS content
# kit:
#   kind: workload
"""


def test_block_ends_at_the_contents_own_syntax_line_and_keeps_the_files_lines() -> None:
    block = comment_block(DOCKERFILE)
    assert block is not None
    document = decode(block.text, name="Dockerfile")
    assert document.descriptor.provides == ("gh@1.0",)
    place = document.positions["provides[0]"]
    assert place.line == 6
    assert DOCKERFILE.split("\n")[5][block.column(6, place.column) - 1 :].startswith('"gh@1.0"')


def test_block_without_indentation_or_blank_ends_at_the_first_line_that_is_no_comment() -> None:
    block = comment_block('#kit:\n#schemaVersion: "3"\n#kind: mixin\nFROM scratch\n# version: "1"\n')
    assert block is not None
    assert decode(block.text).descriptor.version == ""


def test_dockerfile_without_a_block_above_its_first_instruction_carries_no_descriptor() -> None:
    assert comment_block("FROM scratch\n# kit:\n# kind: mixin\n") is None
    assert comment_block("# a kit: is not a block\nFROM scratch\n") is None
    assert comment_block("") is None


def test_recipe_beside_the_recipe_is_refused() -> None:
    stated = decode('schemaVersion: "3"\nkind: mixin\nbuild: FROM scratch\ndockerfile: x\n').descriptor
    assert [issue.path for issue in check_comment_form(stated)] == ["build", "dockerfile"]
    assert not check_comment_form(decode('schemaVersion: "3"\nkind: mixin\n').descriptor)


@given(st.text(alphabet='#kit: \n\r"abF=', max_size=80))
def test_any_text_has_as_many_lines_above_the_block_as_the_file(text: str) -> None:
    block = comment_block(text)
    if block is not None:
        lines = block.text.split("\n")
        written = text.split("\n")
        for index, cut in enumerate(block.cuts):
            number = block.first + index
            assert written[number - 1][cut:] == lines[number - 1]
