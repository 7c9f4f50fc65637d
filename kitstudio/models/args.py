"""Args (§6): declared inputs, the values they take and what a set may hand on to an installer (§9.5)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping

import re2

from kitstudio.models.descriptor import Arg
from kitstudio.models.errors import DescriptorError
from kitstudio.models.expansion import expand_build, expand_create
from kitstudio.models.quote import quote
from kitstudio.models.references import ARG_OPENER, references, whole_reference

__all__ = [
    "check_re_export",
    "check_value",
    "compile_pattern",
    "expand_build",
    "expand_create",
    "kit_arg_values",
    "looks_secret",
    "references",
    "resolve_args",
]

_SECRET = re.compile(r"(?i)token|secret|passw|api.?key|credential")


def resolve_args(args: Mapping[str, Arg], values: Mapping[str, str]) -> dict[str, str]:
    """The value of every arg that has one: supplied, else default. Raises DescriptorError."""
    _refuse_undeclared(args, values)
    return _resolve(args, values, skipped=frozenset())


def kit_arg_values(args: Mapping[str, Arg], values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What a set states for a listed Kit: (values of create-phase args, arg of the Kit → arg of the set re-exported).

    A re-exported arg's value is the reference itself, so that it survives into the merged descriptor.
    """
    _refuse_undeclared(args, values)
    exported: dict[str, str] = {}
    for name, value in values.items():
        if args[name].is_build:
            raise DescriptorError(
                f"The arg {quote(name)} was answered when the Kit was published.",
                where=name,
                remedy="Leave it out, or choose a build of the Kit with the value you want.",
            )
        target = whole_reference(value)
        if target:
            exported[name] = target
        elif "${{" in value and (references(value) or ARG_OPENER.search(value)):
            raise DescriptorError(
                f"The value of {quote(name)} mixes a reference with other text.",
                where=name,
                remedy="State a literal value, or nothing but one reference.",
            )
    create = {name: arg for name, arg in args.items() if not arg.is_build}
    literal = {name: value for name, value in values.items() if name not in exported}
    resolved = _resolve(create, literal, skipped=frozenset(exported))
    return {**resolved, **{name: values[name] for name in exported}}, exported


def check_re_export(name: str, arg: Arg, set_args: Mapping[str, Arg], target: str) -> None:
    """Raise DescriptorError unless the set's declaration says at least what the Kit's says (§9.5)."""
    own = set_args.get(target)
    if own is None:
        raise _re_export_error(name, target, f"the set does not declare {quote(target)}", "Declare it under args.")
    answered = own.required or own.default is not None
    if arg.required and not answered:
        raise _re_export_error(name, target, "the Kit requires a value", "Make it required or give it a default.")
    if arg.enum and not (own.enum and set(own.enum) <= set(arg.enum)):
        accepted = _listed(arg.enum)
        raise _re_export_error(name, target, "the Kit accepts fewer values", f"State an enum out of: {accepted}.")
    if arg.pattern and own.pattern != arg.pattern:
        raise _re_export_error(name, target, "the Kit bounds the value", f"Restate the pattern {quote(arg.pattern)}.")
    if arg.default is not None and not answered:
        raise _re_export_error(name, target, "the Kit has a default", "Give it a default or make it required.")


def check_value(name: str, arg: Arg, value: str) -> None:
    """Raise DescriptorError unless the value is within the arg's enum or pattern. The value is not repeated."""
    if arg.enum:
        if value in arg.enum:
            return
        raise DescriptorError(
            f"The value of {quote(name)} is not one of the accepted ones.",
            where=name,
            remedy=f"Accepted are: {_listed(arg.enum)}.",
        )
    if arg.pattern and compile_pattern(f"^(?:{arg.pattern})$", name).search(value) is None:
        raise DescriptorError(
            f"The value of {quote(name)} does not match its pattern.",
            where=name,
            remedy=f"The pattern is {quote(arg.pattern)}.",
        )


def compile_pattern(pattern: str, name: str = "") -> re2._Regexp:
    """An RE2 expression. Raises DescriptorError for what RE2 refuses."""
    try:
        return re2.compile(pattern, _options())
    except re2.error as error:
        raise DescriptorError(
            f"The pattern of {quote(name)} is not an RE2 expression.",
            where=name,
            remedy="RE2 has no look-around, no back references and no counts over 1000.",
        ) from error


def looks_secret(name: str, description: str) -> bool:
    """True when an arg's name or description speaks of a secret: its value is then never shown or stored."""
    return _SECRET.search(name) is not None or _SECRET.search(description) is not None


def _listed(texts: Iterable[str]) -> str:
    shown = [quote(text) for text in itertools.islice(texts, 13)]
    return ", ".join(shown if len(shown) < 13 else [*shown[:12], "…"])


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    return options


def _refuse_undeclared(args: Mapping[str, Arg], values: Mapping[str, str]) -> None:
    unknown = sorted(values.keys() - args.keys())
    if unknown:
        known = _listed(sorted(args)) or "none"
        raise DescriptorError(
            f"There is no arg {quote(unknown[0])}.", where=unknown[0], remedy=f"Declared args: {known}."
        )


def _resolve(args: Mapping[str, Arg], values: Mapping[str, str], *, skipped: frozenset[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in sorted(args.keys() - skipped):
        arg = args[name]
        value = values.get(name, arg.default)
        if value is not None:
            check_value(name, arg, value)
            found[name] = value
        elif arg.required:
            raise DescriptorError(f"The arg {quote(name)} needs a value.", where=name, remedy="Supply one.")
    return found


def _re_export_error(name: str, target: str, why: str, remedy: str) -> DescriptorError:
    return DescriptorError(
        f"The arg {quote(name)} cannot be re-exported as {quote(target)}: {why}.", where=target, remedy=remedy
    )
