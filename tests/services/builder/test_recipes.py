"""Kit folders with a recipe: what is built, byte for byte the same, and what is refused with its line."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from kitstudio.models.decode import decode
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.layout import LayoutSource
from kitstudio.registry.reference import Reference, parse
from kitstudio.registry.source import Artifact, ImageConfig
from kitstudio.registry.writer import Entry, LayoutWriter, build_image, build_layer, folder, symlink
from kitstudio.services.artifact_checks import judged
from kitstudio.services.builder.dockerfile import NotCarriedOut
from kitstudio.services.importing import import_folder

HEAD = 'schemaVersion: "3"\nversion: 1.0.0\n'
MIXIN = HEAD + "kind: mixin\nprovides: [tool]\n"
WORKLOAD = HEAD + "kind: workload\nprovides: [base]\n"
STATUS = b"Package: jq\nStatus: install ok installed\nVersion: 1.7.1-3\n\n"


def kit(place: Path, descriptor: str, recipe: str = "", files: Mapping[str, str] | None = None) -> Path:
    """A Kit folder named hello."""
    root = place / "hello"
    root.mkdir(parents=True)
    (root / "kit.yaml").write_text(descriptor)
    if recipe:
        (root / "kit.dockerfile").write_text(recipe)
    for name, text in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o644)
    return root


def base(blobs: Path) -> str:
    """An image to build on: an account, a folder behind a link, one installed package."""
    entries = [
        folder("usr"),
        folder("usr/bin"),
        symlink("bin", "usr/bin"),
        folder("opt"),
        folder("opt/own", 0o700, 7),
        Entry("etc/passwd", data=b"root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n"),
        Entry("etc/group", data=b"root:x:0:\nstaff:x:50:\n"),
        Entry("var/lib/dpkg/status", data=STATUS),
        Entry("usr/bin/sh", mode=0o755, data=b"#!"),
    ]
    config = ImageConfig(entrypoint=("/bin/sh",), cmd=("-l",), env=("PATH=/usr/bin:/bin", "A=1"), workdir="/work")
    LayoutWriter(blobs).add("local.invalid/base:1", build_image([build_layer(entries)], config))
    return "local.invalid/base:1"


async def built(root: Path, blobs: Path) -> Artifact:
    reference, digest = await import_folder(root, blobs)
    return await LayoutSource(blobs).artifact(reference.with_digest(digest))


async def members(artifact: Artifact, blobs: Path, number: int = 0) -> dict[str, tarfile.TarInfo]:
    layer = artifact.manifest.layers[number]
    path = await LayoutSource(blobs).blob(artifact.reference, layer.digest, layer.size)
    with tarfile.open(path) as archive:
        return {info.name: info for info in archive.getmembers()}


async def refusal(
    place: Path, recipe: str, descriptor: str = MIXIN, files: Mapping[str, str] | None = None
) -> KitStudioError:
    root = kit(place, descriptor, recipe, files)
    with pytest.raises(KitStudioError) as caught:
        await import_folder(root, place / "blobs")
    return caught.value


async def test_a_mixin_from_scratch_brings_its_files_with_owners_and_modes(tmp_path: Path) -> None:
    recipe = """FROM scratch
COPY --chmod=0755 tool /usr/local/bin/
COPY --chown=1000:1000 home/ /home/agent/
ENV GREETING="hello there" PATH=/opt/tool:$PATH
LABEL who=me
EXPOSE 8080
"""
    root = kit(tmp_path, MIXIN, recipe, {"tool": "#!/bin/sh\n", "home/.toolrc": "x"})
    artifact = await built(root, tmp_path / "blobs")
    found = await members(artifact, tmp_path / "blobs")
    assert {name: (m.mode, m.uid, m.gid) for name, m in found.items() if m.isreg()} == {
        "usr/local/bin/tool": (0o755, 0, 0),
        "home/agent/.toolrc": (0o644, 1000, 1000),
    }
    assert "usr/local/bin" not in found and "home" not in found
    assert found["home/agent"].uid == 1000
    assert artifact.config is not None
    assert artifact.config.env == ("GREETING=hello there", "PATH=/opt/tool")
    assert artifact.config.labels == {"who": "me"} and artifact.config.exposed_ports == ("8080/tcp",)
    staged = await members(artifact, tmp_path / "blobs", 1)
    assert {"usr/share/sandbox/kit/hello/kit.yaml", "usr/share/sandbox/kit/hello/kit.dockerfile"} <= set(staged)


async def test_a_built_kit_passes_every_artifact_check(tmp_path: Path) -> None:
    place = tmp_path / "blobs"
    base(place)
    text = WORKLOAD.replace("[base]", "[shell]")
    artifact = await built(kit(tmp_path, text, "FROM local.invalid/base:1\nCOPY a /opt/a\n", {"a": "1"}), place)
    checks = await judged(LayoutSource(place), artifact.reference)
    assert len(checks) > 8 and {str(check.verdict) for check in checks} == {"pass"}


async def test_a_workload_keeps_its_base_and_states_the_packages_it_holds(tmp_path: Path) -> None:
    place = tmp_path / "blobs"
    recipe = f'FROM {base(place)} AS it\nENV B=$A-2\nWORKDIR sub\nCMD ["-c", "id"]\n'
    artifact = await built(kit(tmp_path, WORKLOAD, recipe), place)
    below = await LayoutSource(place).artifact(parse("local.invalid/base:1"))
    assert artifact.manifest.layers[0] == below.manifest.layers[0]
    assert "deb/jq@1.7.1" in decode(artifact.descriptor_text).descriptor.provides
    config = artifact.config
    assert config is not None and config.env == ("PATH=/usr/bin:/bin", "A=1", "B=1-2")
    assert (config.entrypoint, config.cmd, config.workdir) == (("/bin/sh",), ("-c", "id"), "/work/sub")


async def test_an_overlay_carries_nothing_of_its_base(tmp_path: Path) -> None:
    place = tmp_path / "blobs"
    recipe = f"FROM {base(place)}\nENV PATH=/opt/x/bin:$PATH\nCOPY --chown=agent:staff t /bin/t\nCOPY d/ /opt/own/\n"
    artifact = await built(kit(tmp_path, MIXIN, recipe, {"t": "1", "d/e": "2"}), place)
    found = await members(artifact, place)
    assert set(found) == {"usr/bin/t", "opt/own/e"}
    assert (found["usr/bin/t"].uid, found["usr/bin/t"].gid) == (1000, 50)
    assert len(artifact.manifest.layers) == 2
    assert artifact.config is not None and artifact.config.env == ("PATH=/opt/x/bin",)
    assert artifact.config.entrypoint == ()


async def test_an_entrypoint_forgets_the_command_of_the_base(tmp_path: Path) -> None:
    place = tmp_path / "blobs"
    artifact = await built(kit(tmp_path, WORKLOAD, f"FROM {base(place)}\nENTRYPOINT exec id\n"), place)
    assert artifact.config is not None
    assert (artifact.config.entrypoint, artifact.config.cmd) == (("/bin/sh", "-c", "exec id"), ())


async def test_the_same_folder_gives_the_same_digest_and_a_changed_one_another(tmp_path: Path) -> None:
    recipe, place = "FROM scratch\nCOPY a /opt/tool/\n", tmp_path / "blobs"
    root = kit(tmp_path / "1", MIXIN, recipe, {"a": "1"})
    reference, digest = await import_folder(root, place)
    os.utime(root / "a", (5, 5))
    again = kit(tmp_path / "2", MIXIN, recipe, {"a": "1"})
    assert (await import_folder(root, place))[1] == (await import_folder(again, place))[1] == digest
    (root / "a").write_text("2")
    assert (await import_folder(root, place))[1] != digest
    assert reference == Reference("local.invalid", "hello", "1.0.0")


async def test_the_recipe_is_found_in_every_authoring_form(tmp_path: Path) -> None:
    recipe = "FROM scratch\nCOPY kit.yaml /opt/x\n"
    inline = kit(tmp_path / "1", MIXIN + "build: |\n  FROM scratch\n  COPY kit.yaml /opt/x\n")
    named = kit(tmp_path / "2", MIXIN + "dockerfile: other.txt\n", files={"other.txt": recipe})
    comment = tmp_path / "3" / "hello"
    comment.mkdir(parents=True)
    lines = "".join(f"#   {line}\n" for line in MIXIN.splitlines())
    text = f"# syntax=docker/sandbox-kit:3\n# kit:\n{lines}# syntax=docker/dockerfile:1\n"
    (comment / "Dockerfile").write_text(f"{text}FROM scratch\nCOPY Dockerfile /opt/x\n")
    for number, root in enumerate((inline, named, comment)):
        artifact = await built(root, tmp_path / f"blobs{number}")
        assert "opt/x" in await members(artifact, tmp_path / f"blobs{number}")


async def test_build_inputs_reach_the_recipe_by_their_names_there(tmp_path: Path) -> None:
    args = "args:\n  level: {buildArg: LEVEL, default: low}\n"
    recipe = "ARG LEVEL\nFROM scratch\nARG LEVEL\nARG OTHER=x${LEVEL:+!}\nENV L=$LEVEL O=${OTHER} N='$LEVEL'\n"
    root = kit(tmp_path, MIXIN + args, recipe)
    artifact = await built(root, tmp_path / "blobs")
    assert artifact.config is not None and artifact.config.env == ("L=low", "O=x!", "N=$LEVEL")
    reference, digest = await import_folder(root, tmp_path / "blobs", build_args={"level": "high"})
    artifact = await LayoutSource(tmp_path / "blobs").artifact(reference.with_digest(digest))
    assert artifact.config is not None and artifact.config.env[0] == "L=high"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("RUN true", "RUN"),
        ("VOLUME /data", "VOLUME"),
        ("HEALTHCHECK NONE", "HEALTHCHECK"),
        ("ADD https://example.com/x /x", "network"),
        ("ADD a.tar /", "unpacks"),
        ("COPY --from=other a /a", "--from"),
        ("COPY --link a /a", "--link"),
        ("COPY a* /a", "pattern"),
        ("COPY <<EOF /a", "<<"),
        ("FROM scratch", "second stage"),
        ("ENV A=${B##x}", "not read"),
    ],
)
async def test_what_is_not_carried_out_is_refused_with_its_line_and_the_builder(
    tmp_path: Path, line: str, said: str
) -> None:
    files = {"a": "1", "a.tar": "x" * 257 + "ustar"}
    error = await refusal(tmp_path, f"FROM scratch\n# why\n{line}\n", files=files)
    assert isinstance(error, NotCarriedOut) and said in error.what
    assert error.where.endswith("kit.dockerfile:3")
    assert "docker buildx build" in error.remedy or said == "not read"


async def test_another_builders_syntax_and_an_ignore_list_are_refused(tmp_path: Path) -> None:
    error = await refusal(tmp_path / "1", "# syntax=example.com/own:1\nFROM scratch\n")
    assert "another builder" in error.what
    error = await refusal(tmp_path / "2", "FROM scratch\nCOPY a /a\n", files={"a": "", ".dockerignore": "a"})
    assert ".dockerignore" in error.what


async def test_nothing_outside_the_folder_is_copied(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    root = kit(tmp_path, MIXIN, "FROM scratch\nCOPY ../secret /opt/s\n")
    with pytest.raises(KitStudioError, match=r"no \.\./secret"):
        await import_folder(root, tmp_path / "blobs")
    (root / "kit.dockerfile").write_text("FROM scratch\nCOPY link /opt/s\n")
    (root / "link").symlink_to("../secret")
    with pytest.raises(KitStudioError, match="over a link"):
        await import_folder(root, tmp_path / "blobs")


async def test_a_kit_that_does_not_conform_gets_no_name(tmp_path: Path) -> None:
    error = await refusal(tmp_path, "FROM scratch\nCOPY a /etc/a\n", WORKLOAD, {"a": ""})
    assert "does not conform (image-config)" in error.what
    assert await LayoutSource(tmp_path / "blobs").list() == ()


async def test_a_mixin_never_replaces_the_folders_every_workload_has(tmp_path: Path) -> None:
    recipe = "FROM scratch\nCOPY --chown=5 d /home\nCOPY --chown=5 d/agent /usr/\n"
    artifact = await built(kit(tmp_path, MIXIN, recipe, {"d/agent/x": ""}), tmp_path / "blobs")
    assert set(await members(artifact, tmp_path / "blobs")) == {"home/agent/x", "usr/x"}


async def test_names_that_would_remove_files_are_refused(tmp_path: Path) -> None:
    error = await refusal(tmp_path, "FROM scratch\nCOPY d/ /opt/\n", files={"d/.wh.bin": ""})
    assert "remove files" in error.what
