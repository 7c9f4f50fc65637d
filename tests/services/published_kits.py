"""Kits as a publisher makes them, for tests of publishing: sources staged, several platforms, files of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kitstudio.models.annotations import kit_annotations
from kitstudio.models.canonical import encode
from kitstudio.models.descriptor import Descriptor
from kitstudio.registry.source import ImageConfig, Platform
from kitstudio.registry.writer import Entry, Image, build_image, build_index, build_layer
from kitstudio.services.app import Studio
from kitstudio.services.composition import JudgedPlan
from tests.builders import AMD64, BUILT_BY, descriptor_from

STAGED = "usr/share/sandbox/kit"
HEAD = 'schemaVersion: "3"\n'
NETWORK = "  - type: com.docker.sandbox/network-policy@1\n    config: {{runtime: {{allow: [{host}]}}}}\n"


def mixin(name: str, text: str = "", *, version: str = "1.0.0") -> Descriptor:
    """A mixin that offers ``name``."""
    return descriptor_from(f'{HEAD}kind: mixin\ndisplayName: {name}\nversion: "{version}"\nprovides: [{name}]\n{text}')


def workload(name: str = "base", text: str = "", *, version: str = "1.0.0") -> Descriptor:
    """A workload that offers ``name``."""
    about = f'{HEAD}kind: workload\ndisplayName: {name}\nversion: "{version}"\nprovides: [{name}]\n{text}'
    return descriptor_from(about)


def asking(*hosts: str, optional: bool = False) -> str:
    """A ``capabilities`` section with one network request."""
    more = "    optional: true\n" if optional else ""
    return f"capabilities:\n{NETWORK.format(host=', '.join(hosts))}{more}"


def published(
    about: Descriptor,
    stem: str,
    files: Mapping[str, bytes] | None = None,
    *,
    platforms: Sequence[Platform] = (AMD64,),
    config: ImageConfig | None = None,
    staged: Mapping[str, bytes] | None = None,
    own_sources: bool = True,
) -> Image:
    """One Kit: a layer of content, a layer of staged sources; an index where there are several platforms."""
    content = {f"opt/{stem}/content": f"{stem}\n".encode()} if files is None else files
    launch = config or ImageConfig(entrypoint=("/bin/sh",) if about.kind == "workload" else ())
    sources = {f"{STAGED}/{stem}/{name}": data for name, data in (staged or {}).items()}
    if own_sources:
        sources[f"{STAGED}/{stem}/kit.yaml"] = encode(about).encode()
    rows: list[tuple[Platform | None, Image]] = []
    for platform in platforms:
        layers = [build_layer([Entry(path, data=data) for path, data in content.items()])] if content else []
        layers.append(build_layer([Entry(path, data=data) for path, data in sources.items()] or [Entry("etc/empty")]))
        rows.append(
            (platform, build_image(layers, replace(launch, platform=platform), kit_annotations(about, BUILT_BY)))
        )
    return rows[0][1] if len(rows) == 1 else build_index(rows, kit_annotations(about, BUILT_BY))


def set_text(references: Sequence[str], more: str = "", *, name: str = "Team", version: str = "1.0.0") -> str:
    """A set file that lists references, without args."""
    kits = "".join(f"  - ref: {reference}\n" for reference in references)
    return f'{HEAD}kind: set\ndisplayName: {name}\nversion: "{version}"\nkits:\n{kits}{more}'


async def judged(studio: Studio, text: str, folder: Path) -> JudgedPlan:
    """A set file, opened and judged."""
    path = folder / "team.yaml"
    path.write_text(text)
    composer = studio.new_composer()
    await composer.open(path)
    await composer.settled()
    plan = composer.value.plan
    assert isinstance(plan, JudgedPlan), composer.value.text_error
    return plan


def raw_json(data: bytes) -> dict[str, object]:
    """A manifest or config as an object."""
    document = json.loads(data)
    assert isinstance(document, dict)
    return document
