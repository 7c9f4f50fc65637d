"""Selection records as JSON (§7.1.1): what was selected and skipped, where it was stated, and which members refused."""

from __future__ import annotations

from collections.abc import Mapping

from kitstudio.models.descriptor import JsonValue, Source
from kitstudio.models.selection import Record, Selection


def records_json(records: Mapping[str, Selection]) -> dict[str, JsonValue]:
    """``selected`` and ``skipped`` of every Kit (by reference); a Kit is its own source where none is stated."""
    return {
        "selected": [_record(kit, record) for kit, made in records.items() for record in made.selected],
        "skipped": [_record(kit, record) for kit, made in records.items() for record in made.skipped],
    }


def _record(kit: str, record: Record) -> dict[str, JsonValue]:
    made: dict[str, JsonValue] = {
        "path": record.path,
        "source": _source(kit, record.source or Source("", record.path)),
        "members": list(record.members),
        "memberSources": [_source(kit, source) for source in record.member_sources],
        "rejected": list(record.rejected),
    }
    return {"name": record.name, **made} if record.name else made


def _source(kit: str, source: Source) -> JsonValue:
    return {"kit": source.kit or kit, "path": source.path}
