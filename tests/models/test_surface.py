"""§7.4: the projection, its JSON, and what counts as asking for more."""

from __future__ import annotations

import pytest
from hypothesis import given

from kitstudio.models import surface as surfaces
from kitstudio.models.capabilities import known_types, lookup
from kitstudio.models.descriptor import Capability
from kitstudio.models.errors import DescriptorError
from kitstudio.models.review import grants
from kitstudio.models.surface import CATEGORIES, SURFACE_FIELDS, Surface, Widening, diff_widenings, project_entries
from tests.models.configs import REQUESTS, request


@given(REQUESTS)
def test_a_surface_does_not_widen_itself(entries: list[Capability]) -> None:
    surface = project_entries(entries)
    assert diff_widenings(surface, surface) == ()


@given(REQUESTS)
def test_anything_asked_of_nothing_widens(entries: list[Capability]) -> None:
    surface = project_entries(entries)
    allows = [fact for fact in surfaces.facts(surface) if fact[0] not in surfaces.DENIES]
    assert bool(diff_widenings(Surface(), surface)) == bool(allows)


@given(REQUESTS, REQUESTS)
def test_asking_for_less_than_was_granted_never_widens_but_for_lost_refusals(
    kept: list[Capability], dropped: list[Capability]
) -> None:
    widenings = diff_widenings(project_entries([*kept, *dropped]), project_entries(kept))
    assert all(widening.category.endswith("deny-removed") for widening in widenings)


@given(REQUESTS, REQUESTS)
def test_no_widening_means_every_string_was_granted_or_covered(old: list[Capability], new: list[Capability]) -> None:
    granted, candidate = project_entries(old), project_entries(new)
    if diff_widenings(granted, candidate):
        return
    uncovered = {"ssh_agent"} | {name for name in SURFACE_FIELDS if "_http_" in name}
    for name in SURFACE_FIELDS.keys() - uncovered - surfaces.DENIES - {"privileged"}:
        assert set(getattr(candidate, name)) <= set(getattr(granted, name))


@given(REQUESTS)
def test_the_rows_of_a_request_stand_for_exactly_its_surface_strings(entries: list[Capability]) -> None:
    for entry in entries:
        told = {fact for grant in grants(entry) for fact in grant.facts}
        assert told == set(surfaces.entry_facts(entry))


@given(REQUESTS)
def test_json_reads_back(entries: list[Capability]) -> None:
    surface = project_entries(entries)
    assert surfaces.from_json(surfaces.to_json(surface)) == surface
    assert surfaces.from_facts(surfaces.facts(surface)) == surface


@pytest.mark.parametrize(
    "value", [None, [], {"ports": "80/tcp"}, {"ports": [80]}, {"privileged": 1}, {"privileged": "yes"}]
)
def test_json_of_another_shape_is_refused(value: object) -> None:
    with pytest.raises(DescriptorError):
        surfaces.from_json(value)


def test_every_field_has_a_category_and_a_place_in_json() -> None:
    fields = set(Surface.__dataclass_fields__)
    assert fields == set(SURFACE_FIELDS) == set(CATEGORIES)


def test_a_malformed_privileged_request_still_asks_for_privilege() -> None:
    assert project_entries([request("privileged@1", {"level": "full"})]).privileged


def test_a_malformed_request_cannot_hide() -> None:
    surface = project_entries([request("host-mount@1", {"path": "/m", "hostPath": "/"})])
    assert surface.host_mount_paths == ()
    assert surface.services[0].startswith("com.docker.sandbox/host-mount@1+")


def test_what_json_cannot_spell_counts_as_a_service() -> None:
    surface = project_entries([request("foreign@1", {"a": float("inf")})])
    assert surface.services == ("com.docker.sandbox/foreign@1+unencodable-config",)


def test_older_records_without_request_lists_are_completed() -> None:
    granted = Surface(network_runtime_allow=("a.example",))
    assert (
        diff_widenings(granted, project_entries([request("network-policy@1", {"runtime": {"allow": ["a.example"]}})]))
        == ()
    )


def test_unbounding_a_host_is_one_widening() -> None:
    before = project_entries(
        [request("network-policy@2", {"runtime": {"allow": [{"hosts": ["h"], "methods": ["GET"]}]}})]
    )
    after = project_entries([request("network-policy@2", {"runtime": {"allow": ["h"]}})])
    assert diff_widenings(before, after) == (Widening("network.runtime.allow", "h"),)


def test_every_known_type_is_well_formed() -> None:
    for name in known_types():
        type_ = lookup(name)
        assert type_ is not None and type_.name == name and type_.title
