"""What the surface leaves out and a reviewer still wants to know (§7.4): remembered in a lock, compared at an update.

Notes are taken from the selected declarations with the inputs filled in that are no secret; a secret one, and the
environment, stay the placeholders they were published as.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kitstudio.models import words
from kitstudio.models.capabilities import lookup
from kitstudio.models.capabilities.acp import Acp
from kitstudio.models.capabilities.agent_context import AgentContext
from kitstudio.models.capabilities.agent_skill import AgentSkill
from kitstudio.models.capabilities.commands import spoken
from kitstudio.models.capabilities.credential import Credential
from kitstudio.models.capabilities.digest import config_digest
from kitstudio.models.capabilities.lifecycle import Hook, Lifecycle
from kitstudio.models.capabilities.resources import Resources
from kitstudio.models.capabilities.shape import ShapeError
from kitstudio.models.capabilities.volume import Volume
from kitstudio.models.descriptor import Capability, JsonValue
from kitstudio.models.expansion import adopt_type
from kitstudio.models.references import ARG_REFERENCE, whole_reference
from kitstudio.models.weights import Weight

LONGEST = 200
"""Letters of a note that are kept; past them a digest tells changes apart."""


_STATED = {
    "com.docker.sandbox/agent-sessions@1": "Says how the agent takes a task, and how its sessions are continued.",
    "com.docker.sandbox/agent-interactive-sessions@1": "Says how the agent's sessions are begun and continued by hand.",
    "com.docker.sandbox/long-running@1": "Keeps running after the last terminal is closed.",
    "com.docker.sandbox/sbx@1": "Is started the way Docker's own sandboxes start: the agent as a user of its own.",
}
"""What the types say that grant nothing and are told as a whole."""


@dataclass(frozen=True, slots=True)
class Note:
    """One such fact. ``key`` is stable across versions, ``text`` what is compared; a lock keeps these two."""

    key: str
    text: str
    sentence: str = ""
    weight: Weight = Weight.INFO
    path: str = ""


def notes(entries: Iterable[tuple[str, Capability]]) -> tuple[Note, ...]:
    """The notes of requests given with their paths, each key once."""
    found: dict[str, Note] = {}
    for path, entry in entries:
        for note in _of(path, entry):
            place = note.key
            count = 2
            while place in found:
                place = f"{note.key} ({count})"
                count += 1
            found[place] = Note(place, _kept(note.text), note.sentence, note.weight, note.path)
    return tuple(found.values())


def filled(entry: Capability, values: Mapping[str, str]) -> Capability:
    """The request with the values of ``values`` in place of their references (§6); other references stay."""
    if entry.config is None or not values:
        return entry
    typed = entry.type != "com.docker.sandbox/volume@1"
    return replace(entry, config={key: _filled(value, values, typed) for key, value in entry.config.items()})


def _filled(value: JsonValue, values: Mapping[str, str], typed: bool) -> JsonValue:
    if isinstance(value, list):
        return [_filled(item, values, typed) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, values, typed) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    whole = whole_reference(value)
    if typed and whole in values:
        return adopt_type(values[whole])
    return ARG_REFERENCE.sub(lambda found: values.get(found[1], found[0]), value)


def _of(path: str, entry: Capability) -> Iterator[Note]:
    type_ = lookup(entry.type)
    if type_ is None:
        return
    try:
        typed = type_.decode(entry.config)
    except ShapeError:
        # Still a reference where the type wants something else: the config as a whole is the note.
        yield Note(
            type_.title, config_digest(entry.config) or "", f"Its inputs decide its {type_.title}.", Weight.INFO, path
        )
        return
    at = f"{path}.config"
    if isinstance(typed, Lifecycle):
        yield from _lifecycle(typed, at)
    elif isinstance(typed, Credential):
        yield from _credential(typed, at)
    elif isinstance(typed, Volume):
        yield _volume(typed, at)
    elif isinstance(typed, Resources):
        yield Note("resources", typed.text(), f"Would like {typed.text() or 'no certain resources'}.", Weight.INFO, at)
    elif isinstance(typed, AgentContext):
        yield from _context(typed, at)
    elif isinstance(typed, AgentSkill):
        skill = f"{words.quoted(typed.effective_name)}, kept at {words.term(typed.path)}"
        yield Note(
            f"skill {typed.path}", typed.effective_name, f"Teaches the agent a skill, {skill}.", Weight.NOTICE, at
        )
    elif isinstance(typed, Acp):
        sentence = f"Brings a program that lets an editor talk to the agent {words.quoted(typed.agent)}."
        yield Note(type_.title, config_digest(entry.config) or "", sentence, Weight.INFO, path)
    elif type_.silent:
        sentence = _STATED.get(type_.name, f"States {type_.title}.")
        yield Note(type_.title, config_digest(entry.config) or "", sentence, Weight.INFO, path)


def _lifecycle(typed: Lifecycle, at: str) -> Iterator[Note]:
    for phase, hooks in (("install", typed.install), ("startup", typed.startup)):
        for index, hook in enumerate(hooks):
            yield _hook(phase, index, hook, at)
    for index, file in enumerate(typed.files):
        mode = f" with mode {file.mode}" if file.mode else ""
        content = _digest(file.content)
        sentence = f"Writes the file {words.term(file.path)}{mode}."
        text = f"{content}{mode}{'' if file.overwrite else ' kept if present'}"
        yield Note(f"file {file.path}", text, sentence, Weight.INFO, f"{at}.files[{index}]")
    if typed.interactive is not None:
        tail = spoken(typed.interactive)
        sentence = f"Adds {words.quoted(tail)} to the command its terminal starts with."
        yield Note("interactive command", tail, sentence, Weight.NOTICE, f"{at}.interactive")


def _hook(phase: str, index: int, hook: Hook, at: str) -> Note:
    named_root = hook.user.partition(":")[0] in ("0", "root")
    is_root = named_root or (phase == "install" and not hook.user)
    user = "root" if is_root else hook.user or "the agent's user"
    when = "while it is being set up" if phase == "install" else "at every start"
    command = spoken(hook.command)
    return Note(
        f"{phase} hook {index + 1}",
        f"{user}: {command}",
        f"Runs {words.quoted(command)} as {words.term(user)} {when}.",
        Weight.NOTICE if is_root else Weight.INFO,
        f"{at}.{phase}[{index}]",
    )


def _credential(typed: Credential, at: str) -> Iterator[Note]:
    service = words.term(typed.service)
    for phase in typed.phases:
        key = f"credential {typed.service} {phase}"
        for index, rule in enumerate(typed.api_key.inject if typed.api_key else ()):
            how = rule.header or rule.scheme or "as it stands"
            sentence = f"Has the key for {service} added to requests to {words.host(rule.domain)}."
            text = " ".join([rule.domain, how, rule.format, rule.username]).rstrip()
            yield Note(f"{key} rule {index + 1}", text, sentence, Weight.NOTICE, f"{at}.apiKey.inject[{index}]")
        if typed.oauth is not None and typed.oauth.passthrough:
            sentence = f"Receives the real token of {service} inside the sandbox."
            yield Note(f"{key} passthrough", "true", sentence, Weight.SERIOUS, f"{at}.oauth.passthrough")
        if typed.api_key is not None and typed.api_key.name:
            managed = typed.api_key.proxy_managed
            weight = Weight.INFO if managed else Weight.SERIOUS
            name = words.term(typed.api_key.name)
            what = "a stand-in for the key" if managed else "the real key"
            sentence = f"Finds {what} for {service} in the variable {name}."
            yield Note(f"{key} variable", f"{name}: {what}", sentence, weight, f"{at}.apiKey")


def _volume(typed: Volume, at: str) -> Note:
    size = words.term(typed.size) if typed.size else "no stated size"
    kind = "in memory" if typed.tmpfs else "on disk"
    text = f"{typed.size or 'no size'}, {kind}, mode {typed.mode or 'not stated'}"
    return Note(f"volume {typed.path}", text, f"Keeps {words.term(typed.path)} {kind} with {size}.", Weight.INFO, at)


def _context(typed: AgentContext, at: str) -> Iterator[Note]:
    profile = typed.destination or typed.filename
    if profile:
        sentence = f"Names {words.term(profile)} as the file the agent reads its instructions from."
        yield Note("instruction file", profile, sentence, Weight.INFO, at)
    if typed.body is not None:
        kind, value = typed.body
        text = value if kind == "contentFile" else _digest(value)
        yield Note("instructions", text, "Gives the agent instructions of its own.", Weight.NOTICE, at)


def _kept(text: str) -> str:
    shown = words.exact(text)
    if len(shown) <= LONGEST:
        return shown
    return f"{shown[:LONGEST]}… {_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
