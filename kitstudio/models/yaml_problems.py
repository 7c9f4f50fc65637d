"""What is wrong with a text that does not scan, in words of ours and with what would repair it."""

from __future__ import annotations

from typing import Final

from kitstudio.models.quote import quote

_PROBLEMS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "mapping values are not allowed",
        "A colon followed by a blank begins a mapping here, where none can begin",
        "Put the text in quotes, or check the indentation of this line and the one above.",
    ),
    (
        "did not find expected ',' or",
        "A list in brackets or a map in braces is not closed, or lacks a comma",
        "Put `${{ … }}` in quotes inside brackets and braces; else look for the missing bracket or comma.",
    ),
    (
        "could not find expected ':'",
        "A line above is neither `key: value` nor a list item",
        "Add the colon, or indent the text so that it belongs to the value before it.",
    ),
    (
        "did not find expected key",
        "A key was expected here",
        "Check the indentation; text behind a closing quote has to be inside it.",
    ),
    ("did not find expected '-' indicator", "A list item was expected here", "Check the indentation."),
    ("found unexpected end of stream", "A quote is opened and never closed", "Close it."),
    ("found unexpected document indicator", "A quote is opened and never closed before `---`", "Close it."),
    (
        "found unknown escape character",
        "The backslash begins no escape YAML knows",
        "Use single quotes, or write the backslash twice.",
    ),
    ("exceeded maximum nesting depth", "Nesting is deeper than 1000 levels", ""),
    ("found undefined tag handle", "The tag is not known", "A text that begins with `!` needs quotes."),
    (
        "did not find expected alphabetic or numeric character",
        "`*` and `&` begin an alias and an anchor, and no name follows",
        "Put the text in quotes.",
    ),
    ("did not find expected comment or line break", "Only an indentation and a sign may follow `|` and `>`", ""),
    ("block sequence entries are not allowed", "A list item cannot begin here", "Check the indentation."),
)


def explain(problem: str, context: str, character: str) -> tuple[str, str]:
    """(what, remedy) for a scanner's problem. ``character``: what stands at its place, empty at the end."""
    if "cannot start any token" in problem:
        if character == "\t":
            return "A tab stands where only blanks can.", "Indent with blanks."
        return f"A value cannot begin with {quote(character)}.", "Put the text in quotes."
    for known, what, remedy in _PROBLEMS:
        if known in problem:
            return f"{what}.", remedy
    told = ", ".join(part for part in (context, problem) if part) or "it does not scan"
    return f"The text is not YAML: {told}.", ""
