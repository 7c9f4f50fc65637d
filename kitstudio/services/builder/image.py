"""A recipe carried out: ``FROM`` nothing or an image, files copied, the launch contract stated. Nothing is run.

The result is an image as the specification's frontend makes it (§9, §10): for a mixin the overlay alone with what its
recipe stated over its base, for a workload the base's layers with its own on top and the packages they hold. The same
folder gives the same bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kitstudio.models.annotations import BuiltBy, kit_annotations
from kitstudio.models.artifact_tree import Node, NodeType, Tree
from kitstudio.models.capabilities.paths import clean
from kitstudio.models.descriptor import Descriptor, Kind
from kitstudio.models.errors import KitStudioError
from kitstudio.models.packages import DATABASE_PATHS, derived_provides, parse_apk, parse_dpkg
from kitstudio.registry.blob_store import digest_of
from kitstudio.registry.kit_image import staged_sources
from kitstudio.registry.manifest import MAX_METADATA, OCI_CONFIG, host_platform, read_json
from kitstudio.registry.merged_image import oci_layer
from kitstudio.registry.reference import Reference, parse
from kitstudio.registry.source import ImageConfig, Layer, Platform, Source
from kitstudio.registry.threads import Stop, in_thread
from kitstudio.registry.writer import Image, LayerBlob, build_layer, build_manifest, config_bytes
from kitstudio.services.builder.content import Content, owner_of
from kitstudio.services.builder.dockerfile import (
    Instruction,
    NotCarriedOut,
    argv,
    expand,
    instructions,
    json_words,
    pairs,
    split_words,
)
from kitstudio.services.builder.recipe import RecipeText
from kitstudio.services.layer_files import LayerFile, read_tree

IGNORE = ".dockerignore"
_ARCHIVES = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_ROOT = Tree({"/": Node(NodeType.FOLDER)})


@dataclass(frozen=True, slots=True)
class Base:
    """What a recipe builds on: the layers as files, and the config they came with. Empty for ``scratch``."""

    layers: tuple[Layer, ...] = ()
    files: tuple[LayerFile, ...] = ()
    config: ImageConfig = field(default_factory=ImageConfig)
    tree: Tree = _ROOT


@dataclass(slots=True)
class _State:
    """What the instructions so far have stated. ``names``: variables that text may use."""

    content: Content
    names: dict[str, str]
    env: dict[str, str]
    own_env: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    ports: dict[str, None] = field(default_factory=dict)
    entrypoint: tuple[str, ...] | None = None
    cmd: tuple[str, ...] | None = None
    user: str | None = None
    workdir: str | None = None


async def build_image(
    descriptor: Descriptor,
    title: str,
    recipe: RecipeText,
    bodies: Callable[[Path], None],
    sources: Callable[[Reference], Source],
    build_args: Mapping[str, str],
    *,
    remedy: str,
    built_by: BuiltBy,
    epoch: int = 0,
) -> tuple[Image, Base]:
    """The image of a Kit with a recipe, and the base whose layers belong to it. ``bodies`` puts the files that the
    descriptor names into a folder; ``build_args``: by the name of their ``ARG``. Raises ``KitStudioError``."""
    steps = instructions(recipe.text, recipe.name, remedy)
    platform = host_platform()
    given = {**_platform_args(platform), **build_args}
    known, start, rest = _opening(steps, given, recipe, remedy)
    overlay = descriptor.kind != Kind.WORKLOAD
    base = await _base(start, sources, platform, remedy)

    def build(stop: Stop) -> Image:
        if any((recipe.folder / name).exists() for name in (IGNORE, f"{Path(recipe.name).name}{IGNORE}")):
            raise NotCarriedOut(f"{IGNORE} is not read here.", where=str(recipe.folder), remedy=remedy)
        env = dict(statement.partition("=")[::2] for statement in base.config.env)
        state = _State(Content(recipe.folder, base.tree, overlay, remedy), {}, env)
        for step in rest:
            stop.check()
            _carry_out(stop, step, state, base, given, known, remedy)
        return _image(descriptor, title, recipe, bodies, state, base, overlay, platform, built_by, epoch)

    return await in_thread(build), base


def _opening(
    steps: Sequence[Instruction], given: Mapping[str, str], recipe: RecipeText, remedy: str
) -> tuple[dict[str, str], Instruction, Sequence[Instruction]]:
    """The ``ARG`` lines before ``FROM``, ``FROM`` with its reference, and what follows."""
    known: dict[str, str] = {}
    for number, step in enumerate(steps):
        if step.word == "ARG":
            known |= _args(step, given, {}, known)
            continue
        if step.word != "FROM":
            break
        again = next((later for later in steps[number + 1 :] if later.word == "FROM"), None)
        if again is not None:
            raise NotCarriedOut("A second stage is not built here.", where=again.where, remedy=remedy)
        if step.flags:
            raise NotCarriedOut(f"FROM --{step.flags[0][0]} is not read here.", where=step.where, remedy=remedy)
        words = expand(step.rest, known, step.where).split()
        if not (len(words) == 1 or (len(words) == 3 and words[1].upper() == "AS")):
            raise KitStudioError("FROM names one image, and AS with a name at most.", where=step.where)
        return known, replace(step, rest=words[0]), steps[number + 1 :]
    raise KitStudioError(
        "The recipe does not begin with FROM.", where=recipe.name, remedy="Begin it with FROM scratch."
    )


async def _base(start: Instruction, sources: Callable[[Reference], Source], platform: Platform, remedy: str) -> Base:
    if start.rest == "scratch":
        return Base()
    reference = parse(start.rest)
    if not (reference.tag or reference.digest):
        raise KitStudioError("The image below states no version.", where=start.where, remedy="Name a tag or a digest.")
    source = sources(reference)
    artifact = await source.artifact(reference, platform)
    config, manifest = artifact.config, artifact.manifest
    if config is None or manifest.config is None or len(config.diff_ids) != len(manifest.layers):
        raise KitStudioError(f"{reference} is no image that can be built on.", where=start.where)
    raw = await source.blob(reference, manifest.config.digest, manifest.config.size)
    files = [
        LayerFile(await source.blob(reference, layer.digest, layer.size), diff_id)
        for layer, diff_id in zip(manifest.layers, config.diff_ids, strict=True)
    ]

    def read(stop: Stop) -> Tree:
        document = read_json(raw.read_bytes()[: MAX_METADATA + 1], str(reference))
        stated = document.get("config") if isinstance(document, dict) else None
        for key in ("OnBuild", "Shell", "Healthcheck", "StopSignal"):
            if isinstance(stated, dict) and stated.get(key):
                raise NotCarriedOut(f"{reference} states {key}, not kept here.", where=start.where, remedy=remedy)
        check: Callable[[], None] = stop.check
        return read_tree(files, check)

    layers = tuple(oci_layer(layer, str(reference)) for layer in manifest.layers)
    return Base(layers, tuple(files), config, await in_thread(read))


def _carry_out(
    stop: Stop,
    step: Instruction,
    state: _State,
    base: Base,
    given: Mapping[str, str],
    known: Mapping[str, str],
    remedy: str,
) -> None:
    values = {**state.names, **state.env}
    match step.word:
        case "ARG":
            state.names |= _args(step, given, values, known)
        case "ENV":
            stated = dict(pairs(step.rest, values, step.where))
            state.env |= stated
            state.own_env |= stated
        case "LABEL":
            state.labels |= dict(pairs(step.rest, values, step.where))
        case "EXPOSE":
            for port in split_words(step.rest, values, step.where):
                number, _, protocol = port.partition("/")
                if not (number.isascii() and number.isdigit() and 0 < int(number[:6]) < 65536):
                    raise KitStudioError(f"{port} is no port.", where=step.where)
                state.ports[f"{number}/{(protocol or 'tcp').lower()}"] = None
        case "USER":
            state.user = expand(step.rest, values, step.where)
        case "WORKDIR":
            state.workdir = _absolute(expand(step.rest, values, step.where), state, base)
            state.content.make_folder(state.workdir, step.where)
        case "ENTRYPOINT":
            state.entrypoint = argv(step.rest, step.where)
            state.cmd = state.cmd if state.cmd is not None else ()
        case "CMD":
            state.cmd = argv(step.rest, step.where)
        case _:
            _copy(stop, step, state, base, values, remedy)


def _copy(stop: Stop, step: Instruction, state: _State, base: Base, values: Mapping[str, str], remedy: str) -> None:
    owner, mode = (0, 0), None
    for name, stated in step.flags:
        value = expand(stated, values, step.where)
        if name == "chown":
            owner = owner_of(value, base.tree, step.where)
        elif name == "chmod" and value and len(value) <= 4 and not set(value) - set("01234567"):
            mode = int(value, 8)
        else:
            raise NotCarriedOut(f"{step.word} --{name} is not read here.", where=step.where, remedy=remedy)
    words = json_words(step.rest, step.where)
    if words:
        words = tuple(expand(word, values, step.where) for word in words)
    else:
        words = split_words(step.rest, values, step.where)
    if len(words) < 2:
        raise KitStudioError(f"{step.word} needs a source and a target.", where=step.where)
    *sources, target = words
    if step.word == "ADD":
        for text in sources:
            if "://" in text or text.startswith("git@"):
                raise NotCarriedOut(f"ADD of {text!r} needs the network.", where=step.where, remedy=remedy)
            if _is_archive(state.content.source(text, step.where)):
                raise NotCarriedOut(f"ADD unpacks {text}; archives are not read here.", where=step.where, remedy=remedy)
    place = _absolute(target, state, base)
    ends = target.endswith(("/", "/.")) or target == "."
    state.content.copy(stop, tuple(sources), f"{place.rstrip('/')}/" if ends else place, owner, mode, step.where)


def _is_archive(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.read(512)
    return head.startswith(_ARCHIVES) or head[257:262] == b"ustar"


def _absolute(path: str, state: _State, base: Base) -> str:
    workdir = state.workdir if state.workdir is not None else base.config.workdir
    return clean(path if path.startswith("/") else f"/{workdir}/{path}")


def _args(
    step: Instruction, given: Mapping[str, str], values: Mapping[str, str], known: Mapping[str, str]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in split_words(step.rest, {**known, **values}, step.where):
        name, equals, default = word.partition("=")
        if name in given:
            found[name] = given[name]
        elif equals:
            found[name] = default
        elif name in known:
            found[name] = known[name]
    return found


def _platform_args(platform: Platform) -> dict[str, str]:
    return {"TARGETPLATFORM": str(platform), "TARGETOS": platform.os, "TARGETARCH": platform.architecture}


def _image(
    descriptor: Descriptor,
    title: str,
    recipe: RecipeText,
    bodies: Callable[[Path], None],
    state: _State,
    base: Base,
    overlay: bool,
    platform: Platform,
    built_by: BuiltBy,
    epoch: int,
) -> Image:
    own = [build_layer(state.content.entries.values(), epoch=epoch)] if state.content.entries else []
    if not overlay and not (own or base.layers):
        raise KitStudioError("A workload needs content, and its recipe brings none (§3.5).", where=recipe.name)
    with tempfile.TemporaryDirectory(prefix="kitstudio-") as name:
        folder = Path(name)
        bodies(folder)
        if not overlay:
            derived = _derived(base, own)
            descriptor = replace(descriptor, provides=(*descriptor.provides, *derived))
        published, staged = staged_sources(descriptor, title, folder, recipe.text, epoch)
    blobs = [*own, staged]
    lower = () if overlay else base.layers
    config = replace(_own_config(state, base) if overlay else _whole_config(state, base), platform=platform)
    diff_ids = [*(file.diff_id for file in (() if overlay else base.files)), *(blob.diff_id for blob in blobs)]
    raw = config_bytes(config, diff_ids)
    return build_manifest(
        Layer(digest_of(raw), len(raw), OCI_CONFIG),
        [*lower, *(blob.layer for blob in blobs)],
        (raw, *(blob.data for blob in blobs)),
        kit_annotations(published, built_by),
    )


def _derived(base: Base, own: Sequence[LayerBlob]) -> tuple[str, ...]:
    """One entry for each installed package of the finished file system (§9.6)."""
    tree = base.tree
    if own:
        with tempfile.NamedTemporaryFile(prefix="kitstudio-") as file:
            file.write(own[0].data)
            file.flush()
            tree = read_tree([*base.files, LayerFile(Path(file.name), own[0].diff_id)])
    found = {}
    for namespace, parse_database in (("deb", parse_dpkg), ("apk", parse_apk)):
        text = tree.text(DATABASE_PATHS[namespace])
        if text is not None:
            found[namespace] = parse_database(text.decode("utf-8", "replace"))
    return derived_provides([found])


def _own_config(state: _State, base: Base) -> ImageConfig:
    """What a mixin's recipe stated, ``PATH`` without what its base has already (§10)."""
    env = dict(state.own_env)
    below = dict(statement.partition("=")[::2] for statement in base.config.env).get("PATH", "").split(":")
    if "PATH" in env:
        added = [part for part in env["PATH"].split(":") if part and part not in below]
        env["PATH"] = ":".join(added)
        if not added:
            del env["PATH"]
    return ImageConfig(
        entrypoint=state.entrypoint or (),
        cmd=state.cmd or (),
        env=tuple(f"{key}={value}" for key, value in env.items()),
        user=state.user or "",
        workdir=state.workdir or "",
        labels=state.labels,
        exposed_ports=tuple(state.ports),
    )


def _whole_config(state: _State, base: Base) -> ImageConfig:
    below = base.config
    return ImageConfig(
        entrypoint=below.entrypoint if state.entrypoint is None else state.entrypoint,
        cmd=below.cmd if state.cmd is None else state.cmd,
        env=tuple(f"{key}={value}" for key, value in state.env.items()),
        user=below.user if state.user is None else state.user,
        workdir=below.workdir if state.workdir is None else state.workdir,
        labels={**below.labels, **state.labels},
        exposed_ports=tuple(dict.fromkeys((*below.exposed_ports, *state.ports))),
        volumes=below.volumes,
    )
