"""Commands on single Kits: check, inspect, tags, search, copy."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kitstudio.cli.gate import tell_uncounted
from kitstudio.cli.output import DONE, FAILED, UsageError
from kitstudio.models.errors import KitStudioError
from kitstudio.registry.reference import RegistryError

if TYPE_CHECKING:
    from kitstudio.cli.main import Run
    from kitstudio.registry.source import Artifact, ImageConfig, Manifest
    from kitstudio.services.app import Studio
    from kitstudio.services.catalog import Catalog
    from kitstudio.services.catalog_values import KitCard, SourceInfo

_MAX_CASES = 256 * 1024 * 1024
_SHOWN_FAILURES = 20
MAX_FETCHED = 100
"""Manifests one search fetches: registries count them, and a person's day has a limit."""


async def check(run: Run) -> int:
    """Run conformance cases; exit 1 if any fails."""
    from kitstudio.models.conformance import run_case

    total, failed = 0, []
    for file in run.args.files:
        for number, line in enumerate(_lines(file), 1):
            if not line.strip():
                continue
            total += 1
            try:
                result = run_case(json.loads(line))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise KitStudioError(
                    f"This line is not a case: {error}.",
                    where=f"{file}:{number}",
                    remedy="A case is a JSON object with id, op, in and expect.",
                ) from error
            if not result.passed:
                failed.append({"id": result.id, "op": result.op, "got": result.got, "expect": result.expect})
    run.output.document({"total": total, "passed": total - len(failed), "failed": failed})
    for case in failed[:_SHOWN_FAILURES]:
        run.output.note(f"failed  {case['id']}  {case['op']}")
    if len(failed) > _SHOWN_FAILURES:
        run.output.note(f"… and {len(failed) - _SHOWN_FAILURES} more (see --json)")
    run.output.say(f"{total - len(failed)} of {total} cases passed.")
    return FAILED if failed else DONE


async def inspect(run: Run) -> int:
    """One Kit, from one manifest GET plus config."""
    from kitstudio.models import canonical
    from kitstudio.models import surface as surfaces
    from kitstudio.registry.manifest import parse_platform
    from kitstudio.services import cards

    studio = await run.studio()
    platform = parse_platform(run.args.platform) if run.args.platform else None
    artifact = await studio.catalog.artifact(run.args.reference, platform)
    spelled = _spelled(run.args.reference, str(artifact.reference))
    reading = cards.read(artifact, spelled)
    descriptor = reading.descriptor
    kind = descriptor.kind if descriptor else artifact.kind.value
    surface = surfaces.to_json(surfaces.project(cards.as_installed(descriptor))) if descriptor else None
    document: dict[str, object] = {
        "reference": spelled,
        "digest": artifact.digest,
        "mediaType": (artifact.index or artifact.manifest).media_type,
        "kind": kind,
        "descriptor": canonical.to_value(descriptor) if descriptor else None,
        "annotations": _annotations(artifact),
        "platforms": [str(p) for p in artifact.platforms],
        "config": _config(artifact.config),
        "layers": [{"digest": layer.digest, "size": layer.size} for layer in artifact.manifest.layers],
        "surface": surface,
    }
    run.output.document(document)
    size = sum(layer.size for layer in artifact.manifest.layers)
    rows = [
        ("Reference", spelled),
        ("Digest", artifact.digest),
        ("Kind", kind),
        ("Platforms", ", ".join(str(p) for p in artifact.platforms) or "not stated"),
        ("Layers", f"{len(artifact.manifest.layers)}, {size / 1e6:.1f} MB"),
    ]
    if descriptor:
        rows[:0] = [("Name", f"{descriptor.display_name or '–'} {descriptor.version}".rstrip())]
        rows += [("Says", descriptor.description)] if descriptor.description else []
    run.output.table(rows)
    if descriptor:
        permissions = cards.permissions(reading, spelled)
        run.output.say()
        run.output.say("Asks for:" if permissions else "Asks for nothing.")
        run.output.table(
            (f"  {p.weight.name.lower()}", p.phase.value, p.entry, p.sentence + (" (optional)" if p.optional else ""))
            for p in permissions
        )
        tell_uncounted(run.output, cards.uncounted(reading, spelled), "Also inside its sandbox")
    for problem in reading.problems:
        run.output.say(f"\n{problem}")
    return DONE


async def tags(run: Run) -> int:
    """Versions, newest first."""
    from kitstudio.models.versions import tag_version
    from kitstudio.services.cards import is_signature, version_rows

    studio = await run.studio()
    located = await studio.places.locate(run.args.repository)
    found = await located.place.source.tags(located.reference.name)
    rows: list[dict[str, str | None]] = [
        {"tag": row.tag, "version": row.version or None} for row in version_rows(found)
    ]
    signatures = sorted(tag for tag in found if is_signature(tag))
    if run.args.all:
        rows += [{"tag": tag, "version": tag_version(tag) or None} for tag in signatures]
    repository = _spelled(run.args.repository, located.reference.name)
    run.output.document({"repository": repository, "tags": rows})
    for row in rows:
        run.output.say(str(row["tag"]))
    if signatures and not run.args.all:
        run.output.note(f"{len(signatures)} signature tags left out (--all shows them).")
    return DONE


async def search(run: Run) -> int:
    """Search the catalogs; ``--source`` opens a network source, nothing else does. Offline, what was kept is searched
    too."""
    studio = await run.studio()
    catalog, query, source = studio.catalog, " ".join(run.args.query), ""
    if run.args.source:
        source = _source(run, studio)
        await catalog.refresh(source)
    else:
        await catalog.refresh()
    asked = [info for info in catalog.sources() if (info.id == source if source else info.opened or not info.network)]
    reached = {info.id for info in asked}
    await _widen(catalog, asked, query)
    loading = [card for card in catalog.cards() if card.source in reached and card.kind.value == "loading"]
    async with asyncio.TaskGroup() as group:
        for card in _worth(catalog, query, loading):
            group.create_task(catalog.want(card.repository))
    if run.options.offline:
        cards = await catalog.search_all(query, source)
    else:
        cards = catalog.search(query, tuple(card for card in catalog.cards() if card.source in reached))
    found = [card for card in cards if _wanted(run, card)]
    for card in found:
        run.output.line(_card(card))
    run.output.table(
        (card.reference, card.kind.value, card.display_name, ", ".join(chip.text for chip in card.chips))
        for card in found
    )
    if unread := sum(card.kind.value == "loading" for card in found):
        run.output.note(f"{unread} of them are shown as they are listed; their manifests were not read.")
    _tell_sources(run, catalog, reached, offline=run.options.offline)
    if not found:
        run.output.note("Nothing found.")
    failed = any(info.error is not None for info in catalog.sources())
    return FAILED if failed and not found else DONE


def _source(run: Run, studio: Studio) -> str:
    """The source a person names: one of the catalog's by its id or title, else one for this search alone."""
    named = run.args.source
    for info in studio.catalog.sources():
        if named in (info.id, info.title):
            return info.id
    try:
        place = studio.places.open(named)
    except RegistryError as error:
        known = ", ".join(info.id for info in studio.catalog.sources())
        raise RegistryError(error.what, where=error.where, remedy=f"{error.remedy} Known here: {known}.") from error
    studio.catalog.visit(place)
    return place.id


async def _widen(catalog: Catalog, asked: list[SourceInfo], query: str) -> None:
    """Docker Hub's lists are cut short: its own search is asked for the words as well."""
    for info in asked:
        if query and info.kind.value == "hub" and info.opened and info.error is None and info.note:
            await catalog.find(info.id, query)


def _worth(catalog: Catalog, query: str, loading: list[KitCard]) -> list[KitCard]:
    """Cards to fetch: what Docker Hub describes only where that answers the query; of other sources all of a short
    list, of a long one those whose names answer it."""
    hubs = {info.id for info in catalog.sources() if info.kind.value == "hub"}
    described = catalog.search(query, tuple(card for card in loading if card.source in hubs))
    named = tuple(card for card in loading if card.source not in hubs)
    if len(named) > MAX_FETCHED:
        named = catalog.search(query, named)
    return [*described, *named][:MAX_FETCHED]


def _tell_sources(run: Run, catalog: Catalog, reached: set[str], *, offline: bool) -> None:
    for info in catalog.sources():
        if info.network and info.fetched_at and (offline or info.error is not None):
            run.output.note(f"{info.title}: what was fetched {_ago(time.time() - info.fetched_at)} ago.")
        elif info.note and info.id in reached:
            run.output.note(f"{info.title}: {info.note}")
        if info.error is not None and not (offline and info.fetched_at):
            run.output.note(f"{info.title}: {info.error}")
    unopened = [info.title for info in catalog.sources() if info.network and info.id not in reached]
    if unopened and not run.args.source and not offline:
        run.output.note(f"Not asked, as they are on the network: {', '.join(unopened)} (use --source).")
    if catalog.index_problem is not None:
        run.output.note(str(catalog.index_problem))


def _ago(seconds: float) -> str:
    minutes = max(0, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"


def _spelled(typed: str, found: str) -> str:
    """A layout's Kit under the spelling that was typed: its inner name means nothing outside the layout."""
    return typed if typed.strip().startswith("oci:") else found


async def copy(run: Run) -> int:
    """Copy one Kit between sources, digests kept."""
    studio = await run.studio()
    reference, digest = await studio.places.copy(run.args.reference, run.args.destination)
    run.output.document({"reference": reference, "digest": digest})
    run.output.say(f"{reference}@{digest}")
    return DONE


def _lines(file: Path) -> list[str]:
    try:
        if file.stat().st_size > _MAX_CASES:
            raise KitStudioError("The file is too large for a file of cases.", where=str(file))
        return file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise KitStudioError("The file is not UTF-8 text.", where=str(file)) from error
    except OSError as error:
        raise UsageError(f"The file cannot be read: {error.strerror}.", where=str(file)) from error


def _annotations(artifact: Artifact) -> dict[str, str]:
    manifests: list[Manifest] = [artifact.manifest, *([artifact.index] if artifact.index else [])]
    return {key: value for manifest in manifests for key, value in sorted(manifest.annotations.items())}


def _config(config: ImageConfig | None) -> dict[str, object] | None:
    if config is None:
        return None
    return {
        "entrypoint": list(config.entrypoint),
        "cmd": list(config.cmd),
        "env": list(config.env),
        "user": config.user,
        "workdir": config.workdir,
        "labels": dict(config.labels),
        "exposedPorts": list(config.exposed_ports),
        "volumes": list(config.volumes),
        "platform": str(config.platform),
    }


def _card(card: KitCard) -> dict[str, object]:
    made: dict[str, object] = {
        "reference": card.reference,
        "displayName": card.display_name,
        "kind": card.kind.value,
        "publisher": card.publisher,
        "verified": card.verified,
        "description": card.description,
        "capabilities": list(card.capability_types),
        "schema": {"workload": "3", "mixin": "3", "v2": "2"}.get(card.kind.value),
    }
    if card.digest:
        made["digest"] = card.digest
    if card.error is not None:
        made["error"] = {"what": card.error.what, "where": card.error.where, "remedy": card.error.remedy}
    return made


def _wanted(run: Run, card: KitCard) -> bool:
    args = run.args
    return (
        (not args.kind or card.kind.value == args.kind)
        and (not args.verified or card.verified)
        and (not args.capability or any(_names(args.capability, type_) for type_ in card.capability_types))
    )


def _names(asked: str, type_: str) -> bool:
    """``port``, ``port@1`` and the full type all name ``com.docker.sandbox/port@1``."""
    short = type_.rpartition("/")[2]
    return asked in (type_, short, short.partition("@")[0])
