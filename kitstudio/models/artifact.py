"""The checks on a published artifact: every one that applies, in order, each with its verdict.

A check counts once, by its worst finding. What cannot be judged from what is at hand is skipped and says so; it is
never passed.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitstudio.models import annotations as keys
from kitstudio.models import artifact_layers as layers
from kitstudio.models import artifact_manifest as manifest
from kitstudio.models import artifact_set as sets
from kitstudio.models.artifact_view import Check, Rule, Subject, Verdict, View, fail, outcome
from kitstudio.models.decode import decode
from kitstudio.models.descriptor import Kind
from kitstudio.models.errors import DescriptorError

SBX = "com.docker.sandbox/sbx@1"


def check_artifact(view: View) -> tuple[Check, ...]:
    """Judge one platform of an artifact. Without a readable descriptor there is only the finding that says so."""
    text = view.annotations.get(keys.DESCRIPTOR, "")
    try:
        if not text:
            raise DescriptorError("The manifest has no descriptor annotation.")
        descriptor = decode(text).descriptor
    except DescriptorError as error:
        return (outcome("descriptor-annotation", "SPEC-v3 §9.3", [fail(str(error))]),)
    subject = Subject(view, descriptor, text, frozenset(entry.type for entry in descriptor.entries()))
    return tuple(rule.check(subject) for rule in RULES if rule.applies(subject))


def conforms(checks: Iterable[Check]) -> bool:
    """True when no MUST is broken."""
    return all(check.verdict is not Verdict.FAIL for check in checks)


def _is_mixin(subject: Subject) -> bool:
    return subject.descriptor.kind == Kind.MIXIN


def _declares_sbx(subject: Subject) -> bool:
    return SBX in subject.types


def _has_derived(subject: Subject) -> bool:
    return any(text.strip().startswith(("deb/", "apk/")) for text in subject.descriptor.provides)


RULES: tuple[Rule, ...] = (
    Rule("agent-skill-content", "agent-skill@1/content-present", layers.skill_content),
    Rule("descriptor-valid", "SPEC-v3 §9.3", manifest.descriptor_valid),
    Rule("schema-version-annotation", "SPEC-v3 §9.3", manifest.schema_version),
    Rule("capabilities-annotation", "SPEC-v3 §9.3", manifest.capabilities),
    Rule("built-by-annotation", "SPEC-v3 §9.3", manifest.built_by),
    Rule("oci-annotations", "SPEC-v3 §9.3", manifest.oci_annotations),
    Rule("at-least-one-layer", "SPEC-v3 §10", manifest.at_least_one_layer),
    Rule("staged-sources", "SPEC-v3 §10", layers.staged_sources),
    Rule("staged-recipe", "SPEC-v3 §10", layers.staged_recipe),
    Rule("agent-context-staged", "agent-context@1", layers.context_staged),
    Rule("image-config", "SPEC-v3 §10", manifest.image_config),
    Rule("overlay-home-ownership", "SPEC-v3 §10", layers.home_ownership, _is_mixin),
    Rule("overlay-links-resolve", "SPEC-v3 §10", layers.links_resolve, _is_mixin),
    Rule("sbx-platform-floor", "sbx@1", layers.platform_floor, _declares_sbx),
    Rule("sbx-persistent-env", "sbx@1", layers.persistent_env, lambda s: _declares_sbx(s) and not _is_mixin(s)),
    Rule("derived-provides", "SPEC-v3 §9.6", layers.derived_provides, _has_derived),
    Rule("merged-set", "SPEC-v3 §9.5", manifest.merged_set, lambda s: s.is_set),
    Rule("merged-set-declarations", "SPEC-v3 §9.5", sets.set_declarations, lambda s: s.is_set),
    Rule("index-annotations", "SPEC-v3 §9.3", manifest.index_annotations, lambda s: s.view.index is not None),
)
