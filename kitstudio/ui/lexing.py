"""What is coloured in a text of code: which part of which line in which ink. Pure, so that a thread may do it."""

from __future__ import annotations

from typing import Final, TypeAlias

from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, _TokenType
from pygments.token import Token as Lexeme

from kitstudio.ui.theme import Token

HIGHLIGHTED: Final = 200_000
"""Characters that are lexed; a longer text stays plain."""

Span: TypeAlias = tuple[int, int, Token]
"""Column and length as Qt counts them, and the ink."""
Spans: TypeAlias = tuple[tuple[Span, ...], ...]
"""The spans of every line."""

_INKS: Final[tuple[tuple[_TokenType, Token], ...]] = (
    (Comment, Token.SECONDARY),
    (Name.Tag, Token.ACCENT),
    (Keyword, Token.SERIOUS),
    (Number, Token.SERIOUS),
    (String, Token.SUCCESS),
    (Lexeme.Literal, Token.SUCCESS),
    (Punctuation, Token.SECONDARY),
)


def lexed(lexer: Lexer, text: str) -> Spans:
    """What is coloured on each line; empty for a text of more than ``HIGHLIGHTED`` characters."""
    if len(text) > HIGHLIGHTED:
        return ()
    # The lexer would drop empty lines at both ends, and with them the count of lines.
    lexer.stripnl = False
    lines: list[list[Span]] = [[]]
    column = 0
    for kind, value in lexer.get_tokens(text):
        ink = next((token for family, token in _INKS if kind[: len(family)] == family), None)
        for index, part in enumerate(value.split("\n")):
            if index:
                lines.append([])
                column = 0
            if ink is not None and part.strip():
                lines[-1].append((column, _size(part), ink))
            column += _size(part)
    return tuple(tuple(line) for line in lines)


def _size(part: str) -> int:
    """Length as Qt counts: a character beyond the first plane is two."""
    return len(part) if part.isascii() else len(part.encode("utf-16-le", "surrogatepass")) // 2
