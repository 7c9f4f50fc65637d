"""Artifact checks that need the manifest and the image config alone (§9.3, §9.5, §10)."""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Iterator

from kitstudio.models import annotations as keys
from kitstudio.models.artifact_view import NOT_FETCHED, Found, Subject, Verdict, fail
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Kind
from kitstudio.models.validate import Form, validate


def descriptor_valid(subject: Subject) -> Iterator[Found]:
    """The annotation passes published-form validation."""
    for issue in validate(decode(subject.text), Form.PUBLISHED).errors:
        yield fail(f"{issue}.")


def schema_version(subject: Subject) -> Iterator[Found]:
    """The version annotation repeats the descriptor."""
    stated = subject.view.annotations.get(keys.SCHEMA_VERSION, "")
    if stated != subject.descriptor.schema_version:
        yield fail(f"The annotation says {stated!r}, the descriptor {subject.descriptor.schema_version!r}.")


def capabilities(subject: Subject) -> Iterator[Found]:
    """The capabilities annotation is the index of what is requested."""
    stated = subject.view.annotations.get(keys.CAPABILITIES)
    wanted = keys.capability_types(subject.descriptor)
    if not wanted and stated is not None:
        yield fail("The Kit requests nothing, so the annotation must be absent.")
    elif wanted and stated != wanted:
        yield fail(f"The annotation says {stated or 'nothing'}, the descriptor requests {wanted}.")


def built_by(subject: Subject) -> Iterator[Found]:
    """The built-by annotation, if any, names a tool and its version."""
    stated = subject.view.annotations.get(keys.BUILT_BY)
    if stated is None:
        return
    try:
        value = json.loads(stated)
    except (ValueError, RecursionError):
        value = None
    names = [value.get(key) for key in ("name", "version")] if isinstance(value, dict) else [None]
    if not all(isinstance(name, str) and name for name in names):
        yield fail("It is not a JSON object with a name and a version.")


def oci_annotations(subject: Subject) -> Iterator[Found]:
    """The derived ``org.opencontainers.image.*`` keys say what the descriptor says."""
    wanted = keys.oci_annotations(subject.descriptor)
    for name in ("title", "description", "authors", "source", "licenses", "version"):
        key = keys.OCI_PREFIX + name
        stated = subject.view.annotations.get(key)
        if stated != wanted.get(key):
            expected = f"be {wanted[key]!r}" if key in wanted else "be absent"
            yield fail(f"{key} must {expected}.")
    for name in ("revision", "base.name", "base.digest"):
        if keys.OCI_PREFIX + name in subject.view.annotations:
            yield fail(f"{keys.OCI_PREFIX}{name} must be absent.")
    created = subject.view.annotations.get(f"{keys.OCI_PREFIX}created")
    if created is not None and not is_timestamp(created):
        yield fail(f"{keys.OCI_PREFIX}created is no RFC 3339 timestamp.")


def at_least_one_layer(subject: Subject) -> Iterator[Found]:
    """Every Kit stages its sources, so there is a layer."""
    if not subject.view.layers:
        yield fail("The manifest has no layer.")


def image_config(subject: Subject) -> Iterator[Found]:
    """The config parses, and a workload can start."""
    config = subject.view.config
    if config is None:
        yield fail("The image config does not parse.")
    elif subject.descriptor.kind == Kind.WORKLOAD:
        argv = (*config.entrypoint, *config.cmd)
        if not argv or not argv[0]:
            yield fail("A workload has an entrypoint or a command.")


def merged_set(subject: Subject) -> Iterator[Found]:
    """A merged set has no recipe and carries the sources of what it was built from."""
    if subject.descriptor.build or subject.descriptor.dockerfile:
        yield fail("A merged set has no recipe of its own.")
    if subject.view.tree is None:
        yield NOT_FETCHED
    elif len(subject.view.tree.staged_roots()) < len(subject.descriptor.kits) + 1:
        yield fail("It does not carry the staged sources of every Kit it lists beside its own.")


def index_annotations(subject: Subject) -> Iterator[Found]:
    """What stands on the index stands on the manifest."""
    index, manifest = subject.view.index or {}, subject.view.annotations
    for key in (keys.DESCRIPTOR, keys.SCHEMA_VERSION, keys.CAPABILITIES, keys.BUILT_BY):
        if key in index and key not in manifest:
            yield fail(f"{key} is on the index and not on the manifest.")
        elif key not in index and key in manifest:
            yield Found(Verdict.WARN, f"{key} is on the manifest and not on the index.")
        elif index.get(key) != manifest.get(key):
            yield fail(f"{key} differs between index and manifest.")


_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-](\d\d):(\d\d))", re.ASCII)


def is_timestamp(text: str) -> bool:
    """True for an RFC 3339 timestamp of a day that exists; a second may be 60."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return False
    year, month, day, hour, minute, second, *offset = (int(part or 0) for part in match.groups())
    if not (year and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        return False
    return hour <= 23 and minute <= 59 and second <= 60 and offset[0] <= 23 and offset[1] <= 59
