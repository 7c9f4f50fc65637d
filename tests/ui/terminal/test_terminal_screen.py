"""The emulator behind the terminal: what programs draw, and what hostile bytes cannot do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyte.modes import DECOM

from kitstudio.ui.terminal.cells import clean_title, column_of
from kitstudio.ui.terminal.parser import Parser
from kitstudio.ui.terminal.screen import BRACKETED_PASTE, Screen


def drawn(*data: bytes, columns: int = 20, lines: int = 5, history: int = 100) -> Screen:
    screen = Screen(columns, lines, history)
    parser = Parser(screen)
    for portion in data:
        parser.feed(portion)
    return screen


def text(screen: Screen) -> list[str]:
    return [screen.row(len(screen.history) + y).text for y in range(screen.lines)]


def test_plain_text_wraps_and_remembers_that_it_did() -> None:
    screen = drawn(b"x" * 25)
    assert text(screen)[:2] == ["x" * 20, "x" * 5]
    assert screen.row(0).wrapped and not screen.row(1).wrapped


@pytest.mark.parametrize(
    ("code", "fg"),
    [
        (b"\x1b[31m", "red"),
        (b"\x1b[93m", "brightbrown"),
        (b"\x1b[38;5;1m", "red"),
        (b"\x1b[38;5;208m", "ff8700"),
        (b"\x1b[38;2;1;2;255m", "0102ff"),
        (b"\x1b[38:2::1:2:255m", "0102ff"),
        (b"\x1b[38;2;999;0;0m", "ff0000"),
    ],
)
def test_colours(code: bytes, fg: str) -> None:
    assert drawn(code + b"a").row(0).cells[0].fg == fg


def test_a_private_sequence_is_no_rendition() -> None:
    """xterm's key modifier setting looks like SGR 4 to a careless parser."""
    assert not drawn(b"\x1b[>4;2ma").row(0).cells[0].underscore


def test_wide_characters_take_two_cells_and_never_survive_in_half_row_104() -> None:
    screen = drawn("日本a".encode())
    assert [cell.data for cell in screen.row(0).cells] == ["日", "", "本", "", "a"]
    Parser(screen).feed(b"\x1b[1;2Hx")
    assert [cell.data for cell in screen.row(0).cells] == [" ", "x", "本", "", "a"]


def test_a_wide_character_that_does_not_fit_goes_below() -> None:
    assert text(drawn("aaa日".encode(), columns=4))[:2] == ["aaa", "日"]


def test_the_alternate_screen_leaves_the_main_one_and_the_history_alone_row_104() -> None:
    screen = drawn(b"main\r\n\x1b[?1049h\x1b[2J\x1b[Hfull screen" + b"\n" * 50)
    assert screen.alternate and not screen.history
    Parser(screen).feed(b"\x1b[?1049l")
    assert not screen.alternate
    assert text(screen)[0] == "main" and screen.cursor.y == 1


def test_history_is_bounded_and_lines_keep_their_numbers() -> None:
    screen = drawn(b"".join(b"%d\r\n" % n for n in range(300)), history=100)
    assert len(screen.history) == 100
    assert screen.row(0).text == str(screen.dropped)


def test_clearing_the_screen_keeps_its_text_in_the_history() -> None:
    assert [row.text for row in drawn(b"one\r\ntwo\x1b[H\x1b[2J").history] == ["one", "two"]


def test_shrinking_moves_lines_into_the_history_and_growing_brings_them_back() -> None:
    screen = drawn(b"1\r\n2\r\n3\r\n4\r\n5")
    screen.resize(2, 20)
    assert [row.text for row in screen.history] == ["1", "2", "3"]
    assert text(screen) == ["4", "5"] and screen.cursor.y == 1
    screen.resize(5, 20)
    assert text(screen) == ["1", "2", "3", "4", "5"] and screen.cursor.y == 4


def test_line_drawing_characters() -> None:
    assert text(drawn(b"\x1b(0lqk\x1b(Bq"))[0] == "┌─┐q"


def test_sequences_split_anywhere_mean_the_same() -> None:
    data = "\x1b[1;31mré日\x1b[0m\x1b]0;title\x07\x1b[?2004hok".encode()
    whole = drawn(data)
    bytewise = drawn(*(data[i : i + 1] for i in range(len(data))))
    assert text(whole) == text(bytewise) and whole.title == bytewise.title == "title"
    assert BRACKETED_PASTE in bytewise.mode


def test_clipboard_requests_are_refused_and_noticed_row_103() -> None:
    answers: list[bytes] = []
    screen = Screen(20, 5)
    screen.reply = answers.append
    Parser(screen).feed(b"\x1b]52;c;?\x07\x1b]52;c;aGk=\x1b\\")
    assert screen.refused_clipboard and not answers


def test_reports_say_nothing_but_size_and_kind() -> None:
    answers: list[bytes] = []
    screen = Screen(20, 5)
    screen.reply = answers.append
    Parser(screen).feed(b"\x1b]0;rm -rf\x07\x1b[21t\x1b[c\x1b[>c\x1b[5n\x1b[6n\x1b[?6n\x1bP$qm\x1b\\\x05")
    assert answers == [b"\x1b[?6c", b"\x1b[>0;0;0c", b"\x1b[0n", b"\x1b[1;1R"]


def test_a_title_is_one_short_printable_line() -> None:
    assert clean_title("a\nb\x1b[31m \u202ec\u2028" + "x" * 500) == ("ab[31m c" + "x" * 500)[:80]


def test_a_guest_cannot_resize_the_window() -> None:
    screen = drawn(b"\x1b[?3h\x1b[8;100;200t\x1b[?40h")
    assert (screen.columns, screen.lines) == (20, 5)


def test_endless_strings_and_marks_stay_bounded() -> None:
    screen = drawn(b"\x1b]0;" + b"a" * 3_000_000, b"\x07e" + "\u0301".encode() * 10_000 + b"\x1b7" * 10_000)
    assert len(screen.title) <= 80 and len(screen.row(0).text) < 20 and len(screen.savepoints) <= 1


def test_origin_mode_without_margins_does_not_break() -> None:
    screen = drawn(b"\x1b[?6h\x1b[3d\x1b[6nx")
    assert DECOM in screen.mode and text(screen)[2] == "x"


def test_columns_of_text_count_wide_cells() -> None:
    row = drawn("日本 ab".encode()).row(0)
    assert column_of(row, row.text.index("a")) == 5


_SEQUENCES = st.one_of(
    st.binary(max_size=40),
    st.builds(
        lambda private, numbers, final: b"\x1b[" + private + b";".join(b"%d" % n for n in numbers) + final,
        st.sampled_from([b"", b"?", b">", b"="]),
        st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 19, 38, 47, 48, 1000, 1049, 2004, 9999]), max_size=4),
        st.sampled_from([bytes([code]) for code in range(0x40, 0x7F)]),
    ),
    st.text("日🙂e\u0301\u200d─ a", max_size=30).map(str.encode),
    st.sampled_from([b"\n", b"\r\n", b"\x1bM", b"\x1bD", b"\x1b7", b"\x1b8", b"\x1bc", b"\t", b"\x1b(0", b"\x1b#8"]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(_SEQUENCES, st.tuples(st.integers(1, 30), st.integers(2, 40))), max_size=40))
def test_no_bytes_and_no_resize_break_the_screen(steps: list[bytes | tuple[int, int]]) -> None:
    screen = Screen(12, 6, history=20)
    parser = Parser(screen)
    for step in steps:
        if isinstance(step, bytes):
            parser.feed(step)
        else:
            screen.resize(*step)
        assert 0 <= screen.cursor.y < screen.lines and 0 <= screen.cursor.x <= screen.columns
        assert len(screen.history) <= 20
        rows = [screen.row(index) for index in range(screen.total())]
        assert all(len(row.cells) <= 40 for row in rows)


REFERENCE = """\
┌────────────────┐
│日本語 🚀 done │
│  12 % ████     │
└────────────────┘
"""


def test_full_screen_program_is_drawn_as_the_reference_row_104() -> None:
    """Alternate screen, true colour, wide letters and emoji, a partial redraw: cell by cell what was meant."""
    frame = REFERENCE.splitlines()
    data = "\x1b[?1049h\x1b[2J" + "".join(f"\x1b[{at + 1};1H\x1b[38;2;1;2;3m{row}" for at, row in enumerate(frame))
    data += "\x1b[3;4H\x1b[0;1;48;2;250;128;0m99"
    for cut in (len(data.encode()), 7, 1):
        coded = data.encode()
        screen = drawn(b"shell\r\n", *(coded[at : at + cut] for at in range(0, len(coded), cut)), columns=18, lines=5)
        assert text(screen)[:4] == [frame[0], frame[1], frame[2].replace("12", "99"), frame[3]]
        first, redrawn = screen.row(0).cells[0], screen.row(2).cells[3]
        assert (first.fg, redrawn.bg, redrawn.bold) == ("010203", "fa8000", True)
        wide = [cell.data for cell in screen.row(1).cells[:7]]
        assert wide == ["│", "日", "", "本", "", "語", ""]
