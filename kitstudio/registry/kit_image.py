"""One Kit from a folder of sources to its published form (§9, §10), without Docker.

A source folder holds one ``VERSION.yaml`` a version (the authored descriptor), ``kit.toml`` (what goes into the
image), and ``content/`` (files placed at the root; ``content-VERSION/`` on top). Text only goes in; an ``Image`` and
its tag come out. A descriptor that fails the published form fails the build.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kitstudio.models.annotations import BuiltBy, kit_annotations, oci_annotations
from kitstudio.models.canonical import encode, to_value
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Capability, CapabilityGroup, CapabilityItem, Descriptor
from kitstudio.models.document import Document
from kitstudio.models.packages import derived_provides, parse_dpkg
from kitstudio.models.validate import Form, validate
from kitstudio.registry.blob_store import digest_of
from kitstudio.registry.manifest import PROMOTED, V2_ARTIFACT
from kitstudio.registry.reference import RegistryError
from kitstudio.registry.source import ImageConfig, Platform
from kitstudio.registry.writer import (
    Entry,
    Image,
    LayerBlob,
    build_image,
    build_index,
    build_layer,
    folder,
    symlink,
)

STAGED = "usr/share/sandbox/kit"
CONTEXT = "com.docker.sandbox/agent-context@1"
MAX_CONTENT = 16 * 1024 * 1024
AGENT = 1000
HOME = "home/agent/"
SHARED = frozenset(
    (
        *("etc", "home", "home/agent", "opt", "usr", "usr/bin", "usr/lib", "usr/local", "usr/local/bin"),
        *("usr/local/share", "usr/share", "var", "var/lib"),
    )
)
"""Folders every workload has: a mixin that ships them again would replace their owner (§10)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What one version's image is made of, as ``kit.toml`` states it.

    ``alone``: exactly the packages named, for static programs that need nothing of what they depend on.
    """

    name: str
    version: str
    publish: str = "kit"
    packages: tuple[str, ...] = ()
    alone: bool = False
    applets: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    config: ImageConfig = field(default_factory=ImageConfig)
    platforms: tuple[Platform, ...] = ()
    attested: bool = False
    promoted: bool = True

    @property
    def stem(self) -> str:
        return self.name


def read_versions(source: Path) -> tuple[str, ...]:
    """A source folder's versions: one descriptor each, and what ``kit.toml`` lists for images without one."""
    listed = _document(source / "kit.toml").get("versions", [])
    return tuple(sorted({path.stem for path in source.glob("[0-9]*.yaml")} | set(listed)))


def read_recipe(path: Path, version: str) -> Recipe:
    """``kit.toml`` for one version: the common part with that version's table on top."""
    document = _document(path)
    stated = {**document, **document.get("version", {}).get(version, {})}
    unknown = set(stated) - _KEYS
    if unknown:
        raise RegistryError(f"The recipe has unknown keys: {', '.join(sorted(unknown))}.", where=str(path))
    config = ImageConfig(
        entrypoint=tuple(stated.get("entrypoint", ())),
        cmd=tuple(stated.get("cmd", ())),
        env=tuple(stated.get("env", ())),
        user=stated.get("user", ""),
        workdir=stated.get("workdir", ""),
        labels=stated.get("labels", {}),
        exposed_ports=tuple(stated.get("expose", ())),
    )
    return Recipe(
        name=path.parent.name,
        version=version,
        publish=stated.get("publish", "kit"),
        packages=tuple(stated.get("packages", ())),
        alone=bool(stated.get("alone", False)),
        applets=tuple(stated.get("applets", ())),
        links=stated.get("links", {}),
        folders=_modes(stated.get("folders", {})),
        files=_modes(stated.get("files", {})),
        config=config,
        platforms=tuple(Platform(*name.split("/")) for name in stated.get("platforms", ())),
        attested=bool(stated.get("attested", False)),
        promoted=bool(stated.get("promoted", True)),
    )


def content_entries(recipe: Recipe, source: Path) -> tuple[Entry, ...]:
    """The Kit's own files, folders and links, with the modes and owners its recipe states."""
    entries: dict[str, Entry] = {}
    for root in (source / "content", source / f"content-{recipe.version}"):
        for path in sorted(root.rglob("*")) if root.is_dir() else ():
            name = path.relative_to(root).as_posix()
            owner = AGENT if name.startswith(HOME) else 0
            if path.is_dir():
                if name not in SHARED:
                    entries[name] = folder(name, uid=owner)
            elif path.stat().st_size > MAX_CONTENT or path.is_symlink():
                raise RegistryError("Only plain files of at most 16 MiB are content.", where=str(path))
            else:
                entries[name] = Entry(name, uid=owner, gid=owner, data=path.read_bytes())
    for name, (mode, owner) in recipe.folders.items():
        entries[name] = folder(name, mode, owner)
    for name, (mode, owner) in recipe.files.items():
        if name not in entries:
            raise RegistryError(f"The recipe sets the mode of {name}, which is no content.", where=str(source))
        entries[name] = replace(entries[name], mode=mode, uid=owner, gid=owner)
    entries.update({f"usr/bin/{name}": symlink(f"usr/bin/{name}", "busybox") for name in recipe.applets})
    entries.update({name: symlink(name, target) for name, target in recipe.links.items()})
    return tuple(entries.values())


def publish(
    recipe: Recipe,
    source: Path,
    *,
    base: Sequence[LayerBlob] = (),
    dpkg_status: str = "",
    installed: Sequence[str] = (),
    built_by: BuiltBy,
    epoch: int,
    default_platform: Platform,
) -> Image:
    """Make the image of one version: ``base`` layers first, then the content, then the staged sources."""
    own = content_entries(recipe, source)
    layers = [*base, *([build_layer(own, epoch=epoch)] if own else [])]
    config = replace(recipe.config, platform=default_platform)
    if recipe.publish == "image":
        return build_image(layers, config, {"org.opencontainers.image.title": recipe.name})
    descriptor_path = source / f"{recipe.version}.yaml"
    if recipe.publish == "v2":
        text = descriptor_path.read_bytes()
        staged = build_layer([Entry("spec.yaml", data=text)], epoch=epoch)
        return build_image([staged], config, {"org.opencontainers.image.title": recipe.name}, artifact_type=V2_ARTIFACT)
    document = decode(descriptor_path.read_bytes(), name=str(descriptor_path))
    _require_valid(document, Form.AUTHORED)
    descriptor, bodies = _staged_bodies(document.descriptor, recipe, source)
    if descriptor.kind == "workload" and dpkg_status:
        derived = derived_provides([{"deb": parse_dpkg(dpkg_status)}])
        descriptor = replace(descriptor, provides=(*descriptor.provides, *derived))
    _require_valid(decode(encode(descriptor), name=str(descriptor_path)), Form.PUBLISHED)
    staged_layer = build_layer(_staged(descriptor, recipe, bodies, installed), epoch=epoch)
    annotations = kit_annotations(descriptor, built_by)
    images = [
        (platform, build_image([*layers, staged_layer], replace(config, platform=platform), annotations))
        for platform in recipe.platforms or (default_platform,)
    ]
    if not recipe.platforms:
        return images[0][1]
    return _index(recipe, descriptor, images, annotations)


def staged_sources(
    descriptor: Descriptor, title: str, source: Path, recipe_text: str, epoch: int
) -> tuple[Descriptor, LayerBlob]:
    """The published descriptor, and the layer with it, its recipe and the files it names below ``source`` (§10)."""
    recipe = Recipe(title, "kit")
    published, bodies = _staged_bodies(descriptor, recipe, source)
    _require_valid(decode(encode(published), name=title), Form.PUBLISHED)
    text = {"kit.dockerfile": recipe_text.encode()}
    if clash := sorted(set(text) & set(bodies)):
        raise RegistryError(f"A file for the agent has the recipe's name, {clash[0]}.", where=str(source))
    return published, build_layer(_staged(published, recipe, {**bodies, **text}, ()), epoch=epoch)


def render_recipe(recipe: Recipe, installed: Sequence[str]) -> str:
    """The staged ``kit.dockerfile``: what went into the image, in the words of a Dockerfile."""
    lines = ["# What this image was made of, rendered by the builder that made it.", "FROM scratch"]
    if installed:
        lines.append("# Files of these Debian packages, unpacked without maintainer scripts:")
        lines.extend(f"#   {package}" for package in installed)
    if recipe.applets:
        lines.append(f"# Links to busybox in /usr/bin: {' '.join(recipe.applets)}")
    lines.append("COPY content/ /")
    lines.extend(f"# link /{name} -> {target}" for name, target in recipe.links.items())
    config = recipe.config
    lines.extend(f"ENV {variable}" for variable in config.env)
    lines.extend(f"EXPOSE {port}" for port in config.exposed_ports)
    for word, value in (("USER", config.user), ("WORKDIR", config.workdir)):
        if value:
            lines.append(f"{word} {value}")
    for word, argv in (("ENTRYPOINT", config.entrypoint), ("CMD", config.cmd)):
        if argv:
            lines.append(f"{word} {json.dumps(list(argv))}")
    return "\n".join(lines) + "\n"


_KEYS = frozenset(
    (
        *("publish", "packages", "alone", "applets", "links", "folders", "files", "entrypoint", "cmd", "env", "user"),
        *("workdir", "labels", "expose", "platforms", "attested", "promoted", "version", "versions"),
    )
)


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RegistryError(f"The recipe does not parse: {error}.", where=str(path)) from error


def _modes(stated: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    return {name: (int(str(row.get("mode", "0755")), 8), int(row.get("owner", 0))) for name, row in stated.items()}


def _staged_bodies(descriptor: Descriptor, recipe: Recipe, source: Path) -> tuple[Descriptor, dict[str, bytes]]:
    """Rewrite every ``contentFile`` to its staged place, and say what stands there (agent-context@1)."""
    bodies: dict[str, bytes] = {}
    grouped = any(isinstance(item, CapabilityGroup) for item in descriptor.capabilities)

    def placed(entry: Capability, index: int) -> Capability:
        authored = (entry.config or {}).get("contentFile")
        if entry.type != CONTEXT or not isinstance(authored, str) or not authored:
            return entry
        body = (source / authored).resolve()
        if not body.is_relative_to(source.resolve()):
            raise RegistryError(f"{authored} lies outside the Kit's folder.", where=str(source))
        inner = f"context-{index}/{body.name}" if grouped else body.name
        bodies[inner] = _body(body)
        return replace(entry, config={**(entry.config or {}), "contentFile": f"/{STAGED}/{recipe.stem}/{inner}"})

    items: list[CapabilityItem] = []
    for index, item in enumerate(descriptor.capabilities):
        if isinstance(item, Capability):
            items.append(placed(item, index))
        else:
            members = tuple(placed(m, index) if isinstance(m, Capability) else m for m in item.members or ())
            items.append(replace(item, members=members))
    return replace(descriptor, capabilities=tuple(items)), bodies


def _body(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size <= MAX_CONTENT:
            return path.read_bytes()
    except OSError as error:
        raise RegistryError(f"It cannot be read: {error.strerror}.", where=str(path)) from error
    raise RegistryError(
        "There is no file of at most 16 MiB here, though contentFile names it.", where=str(path), remedy="Add the file."
    )


def _require_valid(document: Document, form: Form) -> None:
    report = validate(document, form)
    if not report.valid:
        listed = "; ".join(str(issue) for issue in report.errors)
        raise RegistryError(f"The descriptor is not valid in its {form.value} form: {listed}.", where=document.name)


def _staged(
    descriptor: Descriptor, recipe: Recipe, bodies: Mapping[str, bytes], installed: Sequence[str]
) -> list[Entry]:
    root = f"{STAGED}/{recipe.stem}"
    text = json.dumps(to_value(descriptor), indent=2, ensure_ascii=False) + "\n"
    files = {f"{root}/kit.yaml": text.encode(), **{f"{root}/{name}": body for name, body in bodies.items()}}
    if recipe.packages or recipe.config.entrypoint or recipe.files:
        files[f"{root}/kit.dockerfile"] = render_recipe(recipe, installed).encode()
    folders = {parent.as_posix() for name in files for parent in list(Path(name).parents)[:-1]}
    return [
        *(folder(name) for name in sorted(folders - SHARED)),
        *(Entry(name, data=data) for name, data in files.items()),
    ]


def _index(
    recipe: Recipe,
    descriptor: Descriptor,
    images: Sequence[tuple[Platform, Image]],
    annotations: Mapping[str, str],
) -> Image:
    rows: list[tuple[Platform | None, Image]] = list(images)
    notes: dict[str, dict[str, str]] = {}
    if recipe.attested:
        subject = images[0][1]
        statement = json.dumps(
            {"_type": "https://in-toto.io/Statement/v0.1", "subject": [{"name": recipe.name, "digest": subject.digest}]}
        )
        layer = LayerBlob(statement.encode(), digest_of(statement.encode()), "application/vnd.in-toto+json")
        attestation = build_image([layer], ImageConfig(platform=Platform("unknown", "unknown")))
        rows.append((Platform("unknown", "unknown"), attestation))
        notes[attestation.digest] = {
            "vnd.docker.reference.type": "attestation-manifest",
            "vnd.docker.reference.digest": subject.digest,
        }
    promoted = {key: text for key, text in annotations.items() if key in PROMOTED} | oci_annotations(descriptor)
    return build_index(rows, promoted if recipe.promoted else None, rows=notes)
