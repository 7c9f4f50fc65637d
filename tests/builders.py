"""Small descriptors, images and layouts, built in memory, for tests of every layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kitstudio.models.annotations import BuiltBy, kit_annotations
from kitstudio.models.canonical import encode
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Capability, Descriptor
from kitstudio.registry.source import ImageConfig, Platform
from kitstudio.registry.writer import Entry, Image, LayerBlob, LayoutWriter, build_image, build_index, build_layer

AMD64 = Platform("linux", "amd64")
ARM64 = Platform("linux", "arm64")
BUILT_BY = BuiltBy("kitstudio/tests", "1")


def descriptor(kind: str = "mixin", **fields: object) -> Descriptor:
    """A valid descriptor; ``fields`` are the dataclass's own."""
    stated: dict[str, object] = {"schema_version": "3", "kind": kind, "display_name": "Test Kit", "version": "1.0.0"}
    return Descriptor(**{**stated, **fields})  # type: ignore[arg-type]


def descriptor_from(text: str) -> Descriptor:
    """A descriptor decoded from YAML."""
    return decode(text).descriptor


def network(runtime: Sequence[str] = (), deny: Sequence[str] = ()) -> Capability:
    """A ``network-policy@1`` request for the runtime phase."""
    lists = {"allow": list(runtime), "deny": list(deny)}
    config = {"runtime": {name: hosts for name, hosts in lists.items() if hosts}}
    return Capability("com.docker.sandbox/network-policy@1", config, True)  # type: ignore[arg-type]


def layer(files: Mapping[str, bytes] | None = None) -> LayerBlob:
    """A layer of plain files."""
    return build_layer([Entry(path, data=data) for path, data in (files or {"usr/share/hi": b"hi\n"}).items()])


def kit_image(
    about: Descriptor | None = None,
    *,
    platform: Platform = AMD64,
    layers: Sequence[LayerBlob] = (),
    config: ImageConfig | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Image:
    """A published Kit with its staged sources; ``annotations`` replace the derived ones."""
    about = about or descriptor()
    found = dict(annotations) if annotations is not None else kit_annotations(about, BUILT_BY)
    base = config or ImageConfig(platform=platform)
    return build_image(layers or [layer({"usr/share/sandbox/kit/test/kit.yaml": encode(about).encode()})], base, found)


def kit_index(
    about: Descriptor | None = None,
    *,
    platforms: Sequence[Platform] = (AMD64, ARM64),
    promoted: bool = True,
    attested: bool = False,
) -> Image:
    """A Kit for several platforms; ``promoted``: the index carries the annotations too."""
    about = about or descriptor()
    rows: list[tuple[Platform | None, Image]] = [(p, kit_image(about, platform=p)) for p in platforms]
    notes = {}
    if attested:
        unknown = Platform("unknown", "unknown")
        statement = build_image([layer({"attestation": b"{}"})], ImageConfig(platform=unknown))
        rows.append((unknown, statement))
        notes[statement.digest] = {"vnd.docker.reference.type": "attestation-manifest"}
    return build_index(rows, kit_annotations(about, BUILT_BY) if promoted else None, rows=notes)


def layout(root: Path, images: Mapping[str, Image]) -> Path:
    """An OCI layout with these images under these names."""
    writer = LayoutWriter(root)
    for name, image in images.items():
        writer.add(name, image)
    return root
