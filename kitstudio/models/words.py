"""Plain words about permissions: claims made safe to show, hosts spoken honestly, counts, weights' names.

Kit-provided text is a claim. ``claim`` is the only way such text reaches a sentence: no control, no direction mark,
no invisible letter, no line break, and an end.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from kitstudio.models.weights import Group, Phase, Weight

CLAIM_LENGTH = 300

WEIGHT_WORDS = {
    Weight.INFO: "info",
    Weight.NOTICE: "notice",
    Weight.SERIOUS: "serious",
    Weight.CRITICAL: "critical",
}

LOCAL_HOSTS = frozenset({"localhost", "host.docker.internal", "ip6-localhost"})

_TERM = 120
_ONE_WORD = re.compile(r"[\w./~@+:%=*#$&{}\[\]^|\\-]+", re.ASCII)
_QUOTES = dict.fromkeys(map(ord, "“”„‟«»〝〞〟＂❝❞🙶🙷🙸"), "'")
_PLACEHOLDER = re.compile(r"\$\{\{\s*kit\.(?:args|env)\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}", re.ASCII)
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u180b\u180c\u180d\u034f")
_ADDRESS = re.compile(r"^(?:\d+(?:\.\d+){3}|\[?[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\]?)$")


def claim(text: str, limit: int = CLAIM_LENGTH) -> str:
    """Text a Kit wrote, made safe to show on one line: visible letters only, blanks collapsed, at most ``limit``."""
    if text.isascii() and text.isprintable() and len(text) <= limit and "  " not in text:
        return text.strip()
    shown: list[str] = []
    for char in text[: limit * 4]:
        if char in "\n\r\t\v\f\x85\u2028\u2029" or unicodedata.category(char) == "Zs":
            char = " "
        if not _is_visible(char) or (char == " " and shown[-1:] == [" "]):
            continue
        if unicodedata.combining(char) and len(shown) >= 2 and all(map(unicodedata.combining, shown[-2:])):
            continue
        shown.append(char)
    line = "".join(shown).strip()
    if len(line) > limit or len(text) > limit * 4:
        line = line[: limit - 1].rstrip() + "…"
    return line


def exact(text: str) -> str:
    """An exact entry, one line, nothing hidden: what cannot be seen is written as an escape, nothing is cut."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _is_visible(c) else _escaped(c) for c in text)


def said(text: str, limit: int = CLAIM_LENGTH) -> str:
    """A Kit's words in quotes that nothing inside can close; empty if there is nothing to read."""
    shown = claim(text, limit).translate(_QUOTES)
    return f"“{shown}”" if shown else ""


def quoted(text: str) -> str:
    """Kit-provided text inside a sentence, marked as such; an empty one is said to be."""
    return said(text, 80) or "an empty text"


def term(text: str) -> str:
    """A name or path of a Kit inside a sentence: as it stands if it reads as one word, else in quotes.

    No text of a Kit can so go on in the app's own words; the exact entry beside the sentence shows all of it.
    """
    return text if len(text) <= _TERM and _ONE_WORD.fullmatch(text) else quoted(text)


def count(number: int, one: str, many: str = "") -> str:
    """``3 hosts``, ``1 host``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(parts: Sequence[str], limit: int = 4) -> str:
    """``a, b and c``; past ``limit`` the rest is counted, never left out in silence."""
    if len(parts) > limit:
        return f"{', '.join(parts[: limit - 1])} and {len(parts) - limit + 1} more"
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def while_phase(phase: Phase) -> str:
    """The end of a sentence about a phase: install grants are open only while the Kit is set up."""
    return " while it is being set up" if phase is Phase.INSTALL else ""


def host(text: str) -> str:
    """A host pattern in words. Patterns keep their exact spelling; the runtime decides what they match."""
    if "${{" in text:
        return _chosen(text)
    name, port = split_port(text)
    suffix = f" on port {term(port)}" if port else ""
    shown = term(name)
    if name in ("*", "**"):
        return f"any host{suffix}"
    if name.startswith("**.") and "*" not in name[3:]:
        return f"every host below {term(name[3:])}{suffix}"
    if name.startswith("*.") and "*" not in name[2:]:
        return f"every host directly below {term(name[2:])}{suffix}"
    if "*" in name:
        return f"every host that matches {shown}{suffix}"
    if not name:
        return f"a host without a name{suffix}"
    if name.lower().rstrip(".") in LOCAL_HOSTS:
        return f"this computer ({shown}){suffix}"
    if _is_private(name):
        return f"the private address {shown}{suffix}"
    return shown + suffix


def host_warning(text: str) -> str:
    """Why a host's spelling may deceive, empty if it does not: look-alike letters, encoded names, hidden characters."""
    return _host_warning(text)


@lru_cache(maxsize=4096)
def _host_warning(text: str) -> str:
    name = split_port(text)[0]
    if name.isascii():
        if not any(label.startswith("xn--") for label in name.lower().split(".")):
            return "" if name.isprintable() else "The name holds characters that cannot be seen."
        shown = ".".join(_decoded(label) for label in name.lower().split("."))
        spelled = f"{quoted(shown)}{_alphabets(shown)}"
        return f"The name is an encoded spelling of {spelled}, which may look like another one."
    if any(not _is_visible(c) for c in name):
        return "The name holds characters that cannot be seen."
    plain = ".".join(encoded_label(label) for label in name.split("."))
    return (
        f"The name holds letters outside the plain alphabet{_alphabets(name)}, which may look like others; "
        f"on the network it is {term(plain)}."
    )


def _alphabets(name: str) -> str:
    """`` (Cyrillic and Latin mixed)``: which alphabets the letters of a name are from."""
    labels = [{_alphabet(c) for c in label if c.isalpha()} for label in name.split(".") if not label.isascii()]
    found = sorted(set().union(*labels))
    if found in ([], ["Latin"]):
        return ""
    return f" ({listed(found)}{' mixed' if any(len(label) > 1 for label in labels) else ''})"


def _alphabet(letter: str) -> str:
    return unicodedata.name(letter, "unnamed").partition(" ")[0].partition("-")[0].capitalize()


def host_weight(text: str) -> Weight:
    """How heavy it is to reach a host pattern: everything is critical; a pattern, a private address
    or this computer serious."""
    name = split_port(text)[0]
    if name in ("*", "**"):
        return Weight.CRITICAL
    if "${{" in text:
        return Weight.NOTICE
    if "*" in name or not name or name.lower().rstrip(".") in LOCAL_HOSTS or _host_warning(text):
        return Weight.SERIOUS
    if _is_private(name):
        return Weight.SERIOUS
    if _ADDRESS.match(name):
        return Weight.NOTICE
    return Weight.INFO


def _is_private(name: str) -> bool:
    """Whether a literal address lies inside a private network or on this computer, where no public server is."""
    try:
        return not ipaddress.ip_address(name.strip("[]")).is_global
    except ValueError:
        return False


def split_port(text: str) -> tuple[str, str]:
    """A host pattern and its port, empty if none. Cut at the first colon, as the grammar does (a bracketed address
    keeps its own)."""
    if text.startswith("["):
        head, bracket, tail = text.partition("]")
        return head + bracket, tail.removeprefix(":")
    name, _, port = text.partition(":")
    return name, port


def kit_name(reference: str) -> str:
    """``gh 2.73.0``: last path segment and tag of a reference."""
    if not reference:
        return "the set itself"
    name, _, tag = _tail(reference).partition(":")
    return f"{exact(name)} {exact(tag)}".strip() if name else exact(reference)


def repository(reference: str) -> str:
    """A reference without tag and digest: what a Kit is across its versions."""
    bare = reference.partition("@")[0]
    slash = bare.rfind("/")
    colon = bare.rfind(":")
    return bare[:colon] if colon > slash else bare


def kit_names(references: Sequence[str]) -> dict[str, str]:
    """A name for each reference, short where that is enough to tell them apart."""
    shown: dict[str, list[str]] = {}
    for reference in dict.fromkeys(references):
        shown.setdefault(kit_name(reference), []).append(reference)
    return {ref: name if len(refs) == 1 else exact(ref) for name, refs in shown.items() for ref in refs}


GROUP_ORDER = {group: index for index, group in enumerate(Group)}


def _chosen(text: str) -> str:
    names = list(dict.fromkeys(_PLACEHOLDER.findall(text)))
    return f"a host that the input {listed(names)} decides" if names else f"the host {exact(text)}"


def _tail(reference: str) -> str:
    return reference.partition("@")[0].rpartition("/")[2]


def _is_visible(char: str) -> bool:
    if char == " ":
        return True
    category = unicodedata.category(char)
    return category not in _DROPPED_CATEGORIES and category != "Zs" and char not in _BLANK_LETTERS


def _escaped(char: str) -> str:
    names = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return names.get(char) or f"\\u{{{ord(char):x}}}"


def _decoded(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return label


def encoded_label(label: str) -> str:
    """A label as a resolver spells it."""
    if label.isascii():
        return label
    try:
        return label.encode("idna").decode("ascii")
    except (UnicodeError, ValueError):
        return f"xn--{label.encode('punycode').decode('ascii')}"
