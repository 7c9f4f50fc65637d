"""Edits of a ``SetState``: text, choices and secrets change together, several Kits at once where several are meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from kitstudio.models import set_file
from kitstudio.models.args import check_re_export, looks_secret
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Arg, Descriptor, Kind, ListedKit
from kitstudio.models.errors import DescriptorError
from kitstudio.models.plan import Input
from kitstudio.models.references import whole_reference
from kitstudio.services.composition import SetState

OWN = ""


def removed(state: SetState, references: Sequence[str]) -> SetState:
    """Without these Kits and what was said about them."""
    text = state.text
    for reference in references:
        text = set_file.remove_kit(text, reference)
    gone = frozenset(references)
    return replace(
        state,
        text=text,
        secrets={key: value for key, value in state.secrets.items() if key[0] not in gone},
        choices={key: value for key, value in state.choices.items() if key.partition("#")[0] not in gone},
    )


def replaced(state: SetState, old: str, new: str) -> SetState:
    """Another reference in a Kit's place, with its values and choices."""
    return replace(
        state,
        text=set_file.replace_kit(state.text, old, new),
        secrets={(new if kit == old else kit, name): value for (kit, name), value in state.secrets.items()},
        choices={_moved(key, old, new): value for key, value in state.choices.items()},
    )


def pinned(state: SetState, digests: Mapping[str, str]) -> SetState:
    """References with the digests given; an empty digest lets a Kit follow its tag again."""
    text = state.text
    for reference, digest in digests.items():
        text = set_file.replace_kit(text, reference, reference, digest)
    return replace(state, text=text)


def listed_text(kits: Iterable[ListedKit]) -> str:
    """Some entries of a set as a set of their own, for a clipboard: no secret is in it."""
    return set_file.render(Descriptor("3", kind=Kind.SET, kits=tuple(kits), kits_stated=True))


def pasted(state: SetState, text: str, present: Iterable[str]) -> SetState:
    """With the Kits another set lists, their digests and literal values; those already there are left alone."""
    source = set_file.parse(text, "the pasted text").descriptor
    known = set(present)
    made = state.text
    for kit in source.kits:
        if kit.ref not in known:
            known.add(kit.ref)
            literal = {name: value for name, value in kit.args.items() if "${{" not in value}
            made = set_file.add_kit(made, kit.ref, kit.digest, literal)
    return replace(state, text=made)


def without_args(state: SetState, reference: str, names: Sequence[str], kept: Callable[[str], bool]) -> SetState:
    """Without some values of a Kit; of its secrets only those that are kept."""
    text = state.text
    for name in names:
        text = set_file.set_kit_arg(text, reference, name, None)
    secrets = {key: value for key, value in state.secrets.items() if key[0] != reference or kept(key[1])}
    return replace(state, text=text, secrets=secrets)


def offered(state: SetState, document: Descriptor, each: Input) -> SetState:
    """With an input handed on to the users of the set (§9.5): declared by the set, referred to by the Kit.

    The set's declaration says what the Kit's says; a value that was stated becomes its default, a secret never does.
    """
    name, declared = _target(document, each)
    text = state.text
    if name not in document.args:
        text = set_file.declare_arg(text, name, declared)
    secrets = dict(state.secrets)
    secret = secrets.pop((each.kit, each.name), None)
    if secret is not None:
        secrets[(OWN, name)] = secret
    text = set_file.set_kit_arg(text, each.kit, each.name, f"${{{{ kit.args.{name} }}}}")
    return replace(state, text=text, secrets=secrets)


def without_secrets(text: str, kits: Sequence[ListedKit], inputs: Iterable[Input]) -> str:
    """The text of a set without values that its author wrote for secret inputs: what is kept of it holds none.

    ``kits``: as they are listed once build-phase inputs are filled in, in the order of the text.
    """
    secret = written_secrets(kits, inputs)
    if not secret:
        return text
    stated = decode(text).descriptor.kits
    for raw, kit in zip(stated, kits, strict=True):
        for name in raw.args:
            if (kit.ref, name) in secret:
                text = set_file.set_kit_arg(text, raw.ref, name, None)
    return text


def written_secrets(kits: Iterable[ListedKit], inputs: Iterable[Input]) -> frozenset[tuple[str, str]]:
    """(Kit, input) of every secret that stands as it is in the text of a set, not as a reference to the set's own."""
    secret = {(each.kit, each.name) for each in inputs if each.secret}
    written = {(kit.ref, name) for kit in kits for name, value in kit.args.items() if not whole_reference(value)}
    return frozenset(secret & written)


def _target(document: Descriptor, each: Input) -> tuple[str, Arg]:
    arg = each.arg
    value = each.value
    if each.secret or value is None:
        declared = Arg(arg.default, arg.required, arg.description, arg.enum, arg.pattern)
    else:
        declared = Arg(value, False, arg.description, arg.enum, arg.pattern)
    if each.secret and not looks_secret(each.name, arg.description):
        raise DescriptorError(
            "An input marked as secret cannot be offered: nothing in its declaration would say so.", where=each.name
        )
    kit = each.kit.partition("@")[0].rpartition("/")[2].partition(":")[0]
    plain = "".join(char if char.isascii() and char.isalnum() else "_" for char in kit)
    for name in (each.name, *(f"{plain}_{each.name}{number}" for number in ("", *range(2, 100)))):
        if name not in document.args:
            return name, declared
        try:
            check_re_export(each.name, arg, document.args, name)
        except DescriptorError:
            # Another input of that name which says less: this one gets a name of its own.
            continue
        return name, declared
    raise DescriptorError("The set declares too many inputs of that name.", where=each.name)


def _moved(key: str, old: str, new: str) -> str:
    kit, mark, path = key.partition("#")
    return f"{new if kit == old else kit}{mark}{path}"
