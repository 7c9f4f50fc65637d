"""Package databases and the annotations of a Kit."""

from __future__ import annotations

import pytest

from kitstudio.models.annotations import BUILT_BY, CAPABILITIES, DESCRIPTOR, BuiltBy, kit_annotations, oci_annotations
from kitstudio.models.decode import decode
from kitstudio.models.errors import DescriptorError
from kitstudio.models.packages import (
    MAX_LINE,
    Package,
    derived_provides,
    package_version,
    parse_apk,
    parse_dpkg,
)


def test_only_what_every_platform_agrees_on_is_stated() -> None:
    arm = {"deb": (Package("a", "1.0-1"), Package("b", "2.0"), Package("c", "1"))}
    intel = {"deb": (Package("a", "1.0-2"), Package("b", "2.1")), "apk": (Package("z", "1"),)}

    assert derived_provides([arm, intel]) == ("deb/a@1.0",)
    assert derived_provides([]) == ()


def test_a_tilde_upstream_states_no_version() -> None:
    assert package_version("5.0~beta2-1") == ""
    assert package_version("5.0-1~bpo12+1") == "5.0"


def test_packages_that_are_no_names_are_dropped() -> None:
    assert derived_provides([{"apk": parse_apk("P:.hidden\nV:1-r0\n\nP:ok\nV:2-r0\n")}]) == ("apk/ok@2",)


def test_a_removed_package_is_not_installed() -> None:
    gone = "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n"
    here = "Package: here\nstatus: install ok installed\nVersion: 2\n"

    assert parse_dpkg(f"{gone}\n{here}") == (Package("here", "2"),)


@pytest.mark.parametrize("parse", [parse_dpkg, parse_apk])
def test_an_endless_line_is_refused(parse: object) -> None:
    with pytest.raises(DescriptorError, match="over"):
        parse("P:" + "x" * MAX_LINE)  # type: ignore[operator]


def test_annotations_are_derived_and_the_descriptor_reads_back() -> None:
    text = 'schemaVersion: "3"\nkind: mixin\ndescription: "a\\x7fb"\nprovides: [a@1.0, b@1.0, deb/c@9]\n'
    descriptor = decode(text).descriptor

    found = kit_annotations(descriptor, BuiltBy("kitstudio", "1.0"))

    assert oci_annotations(descriptor)["org.opencontainers.image.version"] == "1.0"
    assert found[BUILT_BY] == '{"name":"kitstudio","version":"1.0"}'
    assert CAPABILITIES not in found
    assert decode(found[DESCRIPTOR]).descriptor == descriptor
