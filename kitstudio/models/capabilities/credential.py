"""``credential@1``: one service to authenticate to, per phase; the secret stays with the host (§7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from kitstudio.models import words
from kitstudio.models.capabilities.contract import (
    CapabilityType,
    Claim,
    Config,
    Fact,
    FieldKeywords,
    Grant,
    MergeConflict,
)
from kitstudio.models.capabilities.shape import Reader, ShapeError, holds_reference
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.issue import Issue
from kitstudio.models.weights import Group, Phase, Weight

PHASES = ("install", "runtime")
_SERVICE = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Inject:
    """Where a key is presented, and how."""

    domain: str
    header: str = ""
    format: str = ""
    scheme: str = ""
    username: str = ""


@dataclass(frozen=True, slots=True)
class ApiKey:
    name: str
    proxy_managed: bool
    inject: tuple[Inject, ...]


@dataclass(frozen=True, slots=True)
class OAuth:
    """``token_endpoint`` is (host, path). ``raw`` keeps the whole object for writing it back."""

    token_endpoint: tuple[str, str] | None
    resource_hosts: tuple[str, ...]
    passthrough: bool
    file_path: str
    file_format: str | None
    structure: JsonValue
    raw: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Credential:
    service: str
    phases: tuple[str, ...]
    api_key: ApiKey | None
    oauth: OAuth | None


class CredentialType(CapabilityType[Credential]):
    name = "com.docker.sandbox/credential@1"
    title = "credential"
    family = Group.CREDENTIALS
    heaviest = Weight.SERIOUS
    rewritten = True
    keywords: ClassVar[FieldKeywords] = {
        "": {"required": ["service", "phase"]},
        "service": {"pattern": f"^(?:{_SERVICE.pattern})$"},
        "phase": {"enum": list(PHASES)},
        "phase[]": {"enum": list(PHASES)},
        "apiKey.name": {"pattern": f"^(?:{_VARIABLE.pattern})?$"},
        "apiKey.inject[]": {"required": ["domain"]},
        "oauth.credentialFile.format": {"enum": ["json", "toml"]},
    }

    def read(self, fields: Reader) -> Credential:
        stated = fields.text_or_texts("phase")
        phases = (stated,) if isinstance(stated, str) else stated or ()
        return Credential(
            fields.text("service"), phases, _api_key(fields.object("apiKey")), _oauth(fields.object("oauth"))
        )

    def presence(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        return tuple(_phase_issues(_raw_phases(config), f"{where}.config.phase"))

    def check(self, config: Config, where: str, kind: str) -> tuple[Issue, ...]:
        at = f"{where}.config"
        try:
            typed = self.decode(config)
        except ShapeError as error:
            return (Issue(at, str(error)), *_nulls(config, at))
        return (*_identity_issues(typed, at), *_nulls(config, at), *_presentation_issues(typed, at))

    def literal_claims(self, config: Config) -> tuple[Claim, ...]:
        service = (config or {}).get("service")
        if not isinstance(service, str) or holds_reference(service):
            return ()
        return tuple(
            Claim(f"credential {service} {phase}", ".config.service", f"the credential {service!r} for {phase}")
            for phase in dict.fromkeys(_raw_phases(config))
            if not holds_reference(phase)
        )

    def project(self, config: Credential) -> Iterable[Fact]:
        return (_fact(config, phase) for phase in config.phases)

    def describe(self, config: Credential) -> Iterable[Grant]:
        return (_grant(config, phase) for phase in dict.fromkeys(config.phases))

    def split(self, config: Credential) -> tuple[Credential, ...]:
        if not config.phases:
            raise ShapeError("config.phase is missing")
        return tuple(replace(config, phases=(phase,)) for phase in config.phases)

    def merge_key(self, config: Credential) -> str:
        return f"{config.service} {config.phases[0]}"

    def merge(self, first: Credential, second: Credential) -> Credential:
        raise MergeConflict(f"the credential {first.service!r} at {first.phases[0]}; it has one owner")

    def encode(self, config: Credential) -> Config:
        phases: JsonValue = config.phases[0] if len(config.phases) == 1 else list(config.phases)
        written: dict[str, JsonValue] = {"service": config.service, "phase": phases}
        if config.api_key is not None:
            written["apiKey"] = _encoded_key(config.api_key)
        if config.oauth is not None:
            written["oauth"] = config.oauth.raw
        return written


def _identity_issues(config: Credential, at: str) -> Iterator[Issue]:
    if not _SERVICE.fullmatch(config.service):
        yield Issue(
            f"{at}.service",
            "a service is 1 to 64 lower-case letters, digits and hyphens, not beginning or ending with a hyphen",
        )
    yield from _phase_issues(config.phases, f"{at}.phase")
    if config.api_key is None and config.oauth is None:
        yield Issue(at, "a credential states apiKey, oauth or both")


def _presentation_issues(config: Credential, at: str) -> Iterator[Issue]:
    if config.api_key is not None:
        yield from _api_key_issues(config.api_key, f"{at}.apiKey")
    if config.oauth is not None:
        yield from _oauth_issues(config.oauth, f"{at}.oauth")


def _raw_phases(config: Config) -> tuple[str, ...]:
    """The phases a raw config states, those that are text; a missing phase states none."""
    stated = (config or {}).get("phase")
    items = stated if isinstance(stated, list) else [stated]
    return tuple(item for item in items if isinstance(item, str))


def _phase_issues(phases: tuple[str, ...], at: str) -> Iterator[Issue]:
    if not phases:
        yield Issue(at, "phase is install, runtime, or a list of both")
    seen: set[str] = set()
    for phase in phases:
        if phase in seen:
            yield Issue(at, f"the phase {phase!r} is stated twice")
            return
        if phase not in PHASES and not holds_reference(phase):
            yield Issue(at, f"the phase {phase!r} is neither install nor runtime")
            return
        seen.add(phase)


def _api_key(fields: Reader | None) -> ApiKey | None:
    if fields is None:
        return None
    rules = tuple(_inject(item) for item in fields.objects("inject") or ())
    key = ApiKey(fields.text("name"), fields.boolean("proxyManaged"), rules)
    fields.close()
    return key


def _inject(fields: Reader) -> Inject:
    rule = Inject(*(fields.text(name) for name in ("domain", "header", "format", "scheme", "username")))
    fields.close()
    return rule


def _oauth(fields: Reader | None) -> OAuth | None:
    if fields is None:
        return None
    raw = fields.copy()
    endpoint = _endpoint(fields.object("tokenEndpoint"))
    path, form, structure = _credential_file(fields.object("credentialFile"))
    _texts_only(fields.object("sentinels"), ("accessToken", "refreshToken"))
    _texts_only(fields.object("responseFields"), ("accessToken", "refreshToken", "expiresIn"))
    hosts = fields.texts("resourceHosts") or ()
    oauth = OAuth(endpoint, hosts, fields.boolean("passthrough"), path, form, structure, raw)
    fields.close()
    return oauth


def _endpoint(fields: Reader | None) -> tuple[str, str] | None:
    if fields is None:
        return None
    endpoint = fields.text("host"), fields.text("path")
    fields.close()
    return endpoint


def _credential_file(fields: Reader | None) -> tuple[str, str | None, JsonValue]:
    if fields is None:
        return "", None, None
    stated = fields.has("format")
    form = fields.text("format")
    found = fields.text("path"), form if stated else None, fields.mapping("structure")
    fields.close()
    return found


def _texts_only(fields: Reader | None, names: tuple[str, ...]) -> None:
    if fields is not None:
        for name in names:
            fields.text(name)
        fields.close()


def _api_key_issues(key: ApiKey, at: str) -> Iterator[Issue]:
    if not key.name and not key.inject:
        yield Issue(at, "an API key states name, inject rules or both; otherwise it reaches nothing")
    if key.name and not _VARIABLE.fullmatch(key.name):
        yield Issue(f"{at}.name", f"{key.name!r} is not the name of an environment variable")
    for index, rule in enumerate(key.inject):
        if not rule.domain:
            yield Issue(f"{at}.inject[{index}]", "an inject rule names a domain")


def _oauth_issues(oauth: OAuth, at: str) -> Iterator[Issue]:
    if oauth.token_endpoint is not None and not oauth.token_endpoint[0]:
        yield Issue(f"{at}.tokenEndpoint", "a token endpoint names a host")
    if oauth.file_format is not None and oauth.file_format not in ("json", "toml"):
        yield Issue(f"{at}.credentialFile.format", f"{oauth.file_format!r} is neither json nor toml")


def _nulls(config: Config, at: str) -> Iterator[Issue]:
    """Every null is refused, except inside a JSON credential file's structure."""
    yield from _nulls_in(config, at, ())


def _nulls_in(value: JsonValue, at: str, place: tuple[str, ...]) -> Iterator[Issue]:
    if value is None:
        if place:
            yield Issue(at, "null is no value here; leave the field out")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _nulls_in(item, f"{at}[{index}]", (*place, "[]"))
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            inner = (*place, key)
            free = inner == ("oauth", "credentialFile", "structure") and value.get("format") != "toml"
            if free and value[key] is not None:
                continue
            yield from _nulls_in(value[key], f"{at}.{key}", inner)


def _fact(config: Credential, phase: str) -> Fact:
    return ("credentials_install" if phase == "install" else "credentials_runtime", config.service)


def _grant(config: Credential, phase: str) -> Grant:
    """The Kit's own words for a service are its claim; what the boundary does is the sentence."""
    named = config.api_key.name if config.api_key else ""
    passthrough = config.oauth is not None and config.oauth.passthrough
    in_sandbox = config.api_key is not None and bool(named) and not config.api_key.proxy_managed
    service = words.term(config.service)
    if passthrough or in_sandbox:
        secret, weight = "the real secret is handed into the sandbox", Weight.SERIOUS
    else:
        secret, weight = "the secret itself stays outside the sandbox", Weight.NOTICE
    when = Phase.INSTALL if phase == "install" else Phase.RUNTIME
    return Grant(
        Group.CREDENTIALS,
        (_fact(config, phase),),
        words.exact(f"service {config.service}" + (f" → {named}" if named else "")),
        f"Signs in to {service} as you{words.while_phase(when)}; {secret}.",
        weight,
        when,
        at=".config",
    )


def _encoded_key(key: ApiKey) -> dict[str, JsonValue]:
    written: dict[str, JsonValue] = {"name": key.name}
    if key.proxy_managed:
        written["proxyManaged"] = True
    if key.inject:
        written["inject"] = [_encoded_rule(rule) for rule in key.inject]
    return written


def _encoded_rule(rule: Inject) -> JsonValue:
    stated: dict[str, JsonValue] = {"domain": rule.domain}
    for name in ("header", "format", "scheme", "username"):
        if value := getattr(rule, name):
            stated[name] = value
    return stated


TYPE = CredentialType()
