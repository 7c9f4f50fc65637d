from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.cli.main import main
from kitstudio.models.errors import KitStudioError
from kitstudio.models.validate import Form
from kitstudio.services.linting import (
    LONGEST_LINE,
    MAX_MARKS,
    Authoring,
    FileChanged,
    Severity,
    judge,
    open_file,
    save_file,
    stamp_of,
)

HEAD = 'schemaVersion: "3"\nkind: mixin\n'
KIT = Path("kit.yaml")


def test_findings_stand_where_validate_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEAD + 'requires: [debian, "gh@@@"]\ncapabilities:\n  - type: com.docker.sandbox/port@1\n    config: {}\n'
    file = tmp_path / "kit.yaml"
    file.write_text(text)
    marks = judge(text, file).marks
    assert next(text[mark.start : mark.end] for mark in marks) == '"gh@@@"'
    assert main(["--home", str(tmp_path / "home"), "validate", str(file)]) == 1
    said = capsys.readouterr().out
    for mark in marks:
        assert f"{file}:{mark.line}:{mark.column}: {mark.message}" in said


def test_text_that_does_not_decode_is_marked_at_its_place_and_shows_no_permissions() -> None:
    found = judge(HEAD + "author: [a\n", KIT)
    assert (found.decoded, found.valid, found.permissions) == (False, False, ())
    assert (found.marks[0].line, found.marks[0].severity) == (4, Severity.ERROR)
    assert not judge("", KIT).valid


def test_form_decides_what_is_asked_for() -> None:
    text = HEAD + "provides: [gh]\n"
    assert judge(text, KIT, Form.AUTHORED).valid
    published = judge(text, KIT, Form.PUBLISHED)
    assert [mark.path for mark in published.marks] == ["provides[0]"]


def test_permissions_say_their_line() -> None:
    text = HEAD + "capabilities:\n  - type: com.docker.sandbox/host-mount@1\n    config:\n      path: /work\n"
    found = judge(text, KIT)
    assert [(row.entry, row.askers[0].line) for row in found.permissions] == [("host-mount /work", 6)]


def test_each_authoring_form_is_told(tmp_path: Path) -> None:
    file = tmp_path / "gh.yaml"
    assert judge(HEAD, file).authoring is Authoring.DECLARATION
    assert judge(HEAD + "build: FROM scratch\n", file).authoring is Authoring.INLINE
    assert judge('schemaVersion: "3"\nkind: set\nkits: [{ref: a.example/b:1}]\n', file).authoring is Authoring.SET
    (tmp_path / "gh.dockerfile").write_text("FROM scratch\n")
    paired = judge(HEAD, file)
    assert (paired.authoring, paired.recipe) == (Authoring.COMPANION, "gh.dockerfile")


def test_named_recipe_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "gh.yaml"
    found = judge(HEAD + "dockerfile: content/Dockerfile\n", file)
    assert [(mark.path, mark.line) for mark in found.marks] == [("dockerfile", 3)]
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "Dockerfile").write_text("FROM scratch\n")
    assert judge(HEAD + "dockerfile: content/Dockerfile\n", file).valid


def test_comment_form_is_judged_at_the_dockerfiles_own_places(tmp_path: Path) -> None:
    text = '# kit:\n#   schemaVersion: "3"\n#   kind: nothing\n#   build: x\nFROM scratch\n'
    found = judge(text, tmp_path / "Dockerfile")
    assert found.authoring is Authoring.COMMENT
    assert [(mark.path, mark.line, text[mark.start : mark.end]) for mark in found.marks] == [
        ("kind", 3, "nothing"),
        ("build", 4, "x"),
    ]
    assert not judge("FROM scratch\n", tmp_path / "Dockerfile").valid


def test_signs_that_cannot_be_seen_are_noted_without_making_it_invalid() -> None:
    found = judge(HEAD + 'description: "a\u202eb\u200bc"\n', KIT)
    assert found.valid
    assert [(mark.severity, mark.line, mark.column) for mark in found.marks] == [
        (Severity.NOTE, 3, 16),
        (Severity.NOTE, 3, 18),
    ]


def test_thousands_of_findings_are_counted_and_the_first_listed() -> None:
    text = HEAD + "requires:\n" + '  - "@"\n' * 2000
    found = judge(text, KIT)
    assert len(found.marks) == MAX_MARKS
    assert len(found.marks) + found.more == 2000


@given(st.text(alphabet='ab:-#[]{}"\n \u202e\U0001f600', max_size=60))
def test_any_text_is_judged_and_every_mark_lies_on_one_line_of_it(text: str) -> None:
    for mark in judge(text, KIT).marks:
        assert 0 <= mark.start <= mark.end <= len(text)
        assert "\n" not in text[mark.start : mark.end]


async def test_saving_gives_back_line_ends_mark_mode_and_link(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    real.chmod(0o640)
    link = tmp_path / "kit.yaml"
    link.symlink_to(real)
    file = await open_file(link)
    assert (file.text, file.crlf, file.bom) == ("a: 1\nb: 2\n", True, True)
    saved = await save_file(file, file.text + "c: 3\n")
    assert real.read_bytes() == b"\xef\xbb\xbfa: 1\r\nb: 2\r\nc: 3\r\n"
    assert link.is_symlink() and real.stat().st_mode & 0o777 == 0o640
    assert await stamp_of(link) == saved.stamp
    assert sorted(entry.name for entry in os.scandir(tmp_path)) == ["kit.yaml", "real.yaml"]


async def test_file_that_somebody_else_wrote_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "kit.yaml"
    path.write_text("a: 1\n")
    file = await open_file(path)
    path.write_text("theirs\n")
    with pytest.raises(FileChanged, match="changed"):
        await save_file(file, "mine\n")
    assert path.read_text() == "theirs\n"
    path.unlink()
    with pytest.raises(FileChanged, match="removed"):
        await save_file(file, "mine\n")
    await save_file(file, "mine\n", overwrite=True)
    assert path.read_text() == "mine\n"


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"a" * 1_048_577, "larger"),
        (b"a" * (LONGEST_LINE + 1), "characters"),
        (b"a: \xff\n", "UTF-8"),
        ("a: 1\nb: \u2028\n".encode(), "Line 2 holds the character"),
        (b"a: 1\rb: 2\n", "U\\+000D"),
        (b"a: 1\r\nb: 2\n", "two different ways"),
    ],
)
async def test_file_that_would_not_come_back_as_it_was_is_not_opened(
    tmp_path: Path, content: bytes, match: str
) -> None:
    path = tmp_path / "kit.yaml"
    path.write_bytes(content)
    with pytest.raises(KitStudioError, match=match):
        await open_file(path)


def test_hostile_text_is_judged_within_bounds() -> None:
    deep = "[" * 5000
    assert not judge(deep, KIT).valid
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
    )
    assert not judge(bomb, KIT).valid
