"""One Kit's declarations on their way to create: published form judged, args and environment filled in, judged again.

Judging is a pure function of a descriptor that is asked for on every key press, so answers are remembered by the
descriptor object itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Generic, TypeVar

from kitstudio.models.args import expand_create, looks_secret
from kitstudio.models.canonical import encode
from kitstudio.models.descriptor import Descriptor
from kitstudio.models.environment import expand_environment
from kitstudio.models.errors import DescriptorError
from kitstudio.models.issue import Issue
from kitstudio.models.references import ENV_REFERENCE
from kitstudio.models.validate import Form, redacted, validate_descriptor

T = TypeVar("T")
Prepared = tuple[Descriptor | None, tuple[Issue, ...]]


class Remembered(Generic[T]):
    """A bounded memory of answers about descriptors, by object and by what else they depend on."""

    def __init__(self, size: int = 512) -> None:
        self._size = size
        self._lock = Lock()
        self._answers: OrderedDict[tuple[int, object], tuple[Descriptor, T]] = OrderedDict()

    def get(self, descriptor: Descriptor, key: object, make: Callable[[], T]) -> T:
        """The answer for this very object, made once."""
        place = (id(descriptor), key)
        with self._lock:
            held = self._answers.get(place)
            if held is not None and held[0] is descriptor:
                self._answers.move_to_end(place)
                return held[1]
        answer = make()
        with self._lock:
            self._answers[place] = (descriptor, answer)
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)
        return answer


_faults: Remembered[tuple[Issue, ...]] = Remembered()
_texts: Remembered[str] = Remembered()
_prepared: Remembered[Prepared] = Remembered()


def published_faults(descriptor: Descriptor) -> tuple[Issue, ...]:
    """What the published form holds against a descriptor."""
    return _faults.get(descriptor, None, lambda: validate_descriptor(descriptor, Form.PUBLISHED).errors)


def prepare(
    descriptor: Descriptor,
    values: Mapping[str, str],
    environment: Mapping[str, str],
    secrets: frozenset[str] = frozenset(),
) -> Prepared:
    """The declarations with args and environment filled in, or what is wrong with them then.

    ``secrets``: args a person marked as secret, beside those whose declaration says so.
    """
    text = _texts.get(descriptor, None, lambda: _canonical(descriptor))
    read = ENV_REFERENCE.findall(text) if "${{" in text else ()
    # A value may stand in for a whole environment the declarations never read.
    used = tuple((name, environment.get(name)) for name in dict.fromkeys(read))
    key = (tuple(sorted(values.items())), used, secrets)
    return _prepared.get(descriptor, key, lambda: _prepare(descriptor, text, values, environment, secrets))


def _canonical(descriptor: Descriptor) -> str:
    try:
        return encode(descriptor)
    except DescriptorError:
        # What JSON cannot spell is refused by validation; nothing of it is expanded.
        return ""


def _prepare(
    descriptor: Descriptor,
    text: str,
    values: Mapping[str, str],
    environment: Mapping[str, str],
    secrets: frozenset[str],
) -> Prepared:
    made = descriptor
    if "${{" in text:
        try:
            made = expand_create(made, values)
            made = expand_environment(made, environment)
        except DescriptorError as error:
            return None, (Issue(error.where, error.what, error.remedy),)
    faults = validate_descriptor(made, Form.EXPANDED_DECLARATIONS).errors
    return (None, redacted(faults, descriptor, _secret_in(descriptor, secrets))) if faults else (made, ())


def _secret_in(descriptor: Descriptor, marked: frozenset[str]) -> Callable[[str], bool]:
    """Whether the value of an arg is never shown; one that is not declared is taken for a secret."""
    args = descriptor.args
    return lambda name: name in marked or name not in args or looks_secret(name, args[name].description)
