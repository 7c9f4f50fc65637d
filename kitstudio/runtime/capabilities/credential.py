"""credential@1: which secret of the host is presented where, and what the sandbox gets in its place. Pure.

A plan holds no secret. Values come by service from the host's store when a sandbox starts, stay in the memory of the
process that owns it, and are presented by its proxy.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kitstudio.models.capabilities import credential as credential_type
from kitstudio.models.capabilities.credential import Credential, Inject
from kitstudio.models.descriptor import JsonValue
from kitstudio.models.lock import ApprovedLock
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import CREDENTIAL
from kitstudio.runtime.hosts import read_host, read_pattern
from kitstudio.runtime.policy import Phase, contributions

MAX_SECRET = 65536
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Presentation:
    """One place a secret is presented: requests to ``host`` (a pattern), in ``header``.

    ``template`` holds ``%s`` for the secret; with ``basic`` the header is HTTP's own, for ``username``.
    """

    host: str
    header: str
    template: str = "%s"
    basic: bool = False
    username: str = ""

    def value(self, secret: str) -> str:
        """The header's value."""
        if self.basic:
            return "Basic " + base64.b64encode(f"{self.username}:{secret}".encode()).decode()
        return self.template.replace("%s", secret)


@dataclass(frozen=True, slots=True)
class OAuth:
    """Bearer tokens. ``endpoint``: (host, path) the boundary answers for, empty for none. ``names``: the provider's
    field names for access token, refresh token and seconds of validity. ``file``: path, format and structure of what
    is rendered in the sandbox, the structure as JSON."""

    endpoint: tuple[str, str] = ("", "")
    hosts: tuple[str, ...] = ()
    access_sentinel: str = ""
    refresh_sentinel: str = ""
    key_sentinel: str = ""
    names: tuple[str, str, str] = ("access_token", "refresh_token", "expires_in")
    file: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class CredentialPlan:
    """One service in its phases. ``variable``: set to ``sentinel`` where ``managed``, else to the secret itself."""

    service: str
    phases: tuple[Phase, ...]
    kit: str = ""
    required: bool = True
    variable: str = ""
    managed: bool = True
    sentinel: str = ""
    presentations: tuple[Presentation, ...] = ()
    oauth: OAuth | None = None

    def looks_into(self, phase: Phase, host: str, port: int) -> bool:
        """Whether requests to that host in that phase may carry this secret."""
        return phase in self.phases and any(names(pattern, host, port) for pattern in self.patterns())

    def patterns(self) -> Iterable[str]:
        """Every host pattern this secret goes to."""
        yield from (place.host for place in self.presentations)
        if self.oauth is not None:
            yield from self.oauth.hosts
            if self.oauth.endpoint[0]:
                yield self.oauth.endpoint[0]

    def is_endpoint(self, phase: Phase, host: str, port: int, target: str = "") -> bool:
        """Whether that host (and path, where ``target`` is stated) is the token endpoint answered here."""
        if self.oauth is None or not self.oauth.endpoint[0] or phase not in self.phases:
            return False
        pattern, path = self.oauth.endpoint
        if not names(pattern if ":" in pattern else f"{pattern}:443", host, port):
            return False
        return not target or not path or target.partition("?")[0] == path


@dataclass(frozen=True, slots=True)
class Tokens:
    """OAuth tokens as they are kept: a JSON object, or a plain text for an access token without an end."""

    access: str
    refresh: str = ""
    expires_at: int = 0
    scopes: tuple[str, ...] = ()
    primary_key: str = ""

    @classmethod
    def read(cls, text: str) -> Tokens:
        """From the store's text; ``ValueError`` where it is neither."""
        if not text.lstrip().startswith(("{", "[")):
            return cls(text.strip())
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError("the stored tokens cannot be read")
        access, refresh = found.get("accessToken", ""), found.get("refreshToken", "")
        scopes, expires = found.get("scopes", []), found.get("expiresAt", 0)
        key = found.get("primaryApiKey", "")
        if not all(isinstance(value, str) for value in (access, refresh, key)) or not isinstance(expires, int | float):
            raise ValueError("the stored tokens cannot be read")
        return cls(access, refresh, int(expires), tuple(str(s) for s in scopes if isinstance(s, str)), key)

    def written(self) -> str:
        """The reverse of ``read``."""
        document: dict[str, JsonValue] = {
            "accessToken": self.access,
            "refreshToken": self.refresh,
            "expiresAt": self.expires_at,
            "scopes": list(self.scopes),
            "primaryApiKey": self.primary_key,
        }
        return json.dumps({key: value for key, value in document.items() if value})


def wanted_services(approved: ApprovedLock) -> tuple[str, ...]:
    """The services this set signs in to, each once."""
    return tuple(dict.fromkeys(item.service for _, item in _entries(approved)))


def plan_credentials(
    approved: ApprovedLock, bound: Iterable[str], name: str
) -> tuple[tuple[CredentialPlan, ...], tuple[str, ...]]:
    """What is wired, and what optional entries go without (duties 1 to 8).

    ``bound``: services with a secret. ``SandboxError`` where a required one has none, or asks for what is not done.
    """
    owners = {
        (credential_type.TYPE.decode(entry.config).service): kit
        for kit, descriptor in contributions(approved)
        for entry in descriptor.entries()
        if entry.type == CREDENTIAL
    }
    have = frozenset(bound)
    found: list[CredentialPlan] = []
    skipped: list[str] = []
    for required, item in _entries(approved):
        kit = owners.get(item.service, "")
        why, remedy = _why_not(item, have)
        if why and required:
            raise SandboxError(f"The service {item.service} cannot be signed in to: {why}.", where=kit, remedy=remedy)
        if why:
            skipped.append(f"{CREDENTIAL} {item.service}: {why}; its Kit runs without signing in")
            continue
        found.append(_plan(item, kit, required, name))
    return tuple(found), tuple(skipped)


def check_secret(secret: str) -> str:
    """``secret``, if it can be carried in a header. ``ValueError`` says why not."""
    if not secret or len(secret) > MAX_SECRET:
        raise ValueError(f"a secret has 1 to {MAX_SECRET} characters")
    tokens = Tokens.read(secret)
    plain = not secret.lstrip().startswith("{")
    for value in (secret if plain else "", tokens.access, tokens.refresh, tokens.primary_key):
        if not _VISIBLE.fullmatch(value):
            raise ValueError("a secret has visible ASCII characters only: no line ends, no controls")
    if not tokens.access and not tokens.primary_key:
        raise ValueError("the stored tokens name no accessToken")
    return secret


def variables(plans: Iterable[CredentialPlan], values: Mapping[str, str], phase: Phase) -> dict[str, str]:
    """The variables of a phase: sentinels, or the secret where the Kit asked to be handed it (duties 2, 5, 7, 8)."""
    return {
        plan.variable: plan.sentinel if plan.managed else values[plan.service]
        for plan in plans
        if plan.variable and phase in plan.phases and plan.service in values
    }


def names(pattern: str, host: str, port: int) -> bool:
    """Whether a host pattern of an entry names ``host`` (canonical) at ``port``."""
    try:
        return read_pattern(pattern).matches(read_host(host), port)
    except ValueError:
        return False


def sentinel_of(sandbox: str, service: str, what: str) -> str:
    """A stand-in that is no secret: the same for a sandbox's life, different between sandboxes."""
    tail = hashlib.sha256(f"{sandbox}\0{service}\0{what}".encode()).hexdigest()[:24]
    return f"kit-studio-{service}-{tail}"


def _entries(approved: ApprovedLock) -> list[tuple[bool, Credential]]:
    return [
        (not entry.optional, credential_type.TYPE.decode(entry.config))
        for entry in approved.effective.entries()
        if entry.type == CREDENTIAL
    ]


def _why_not(item: Credential, bound: frozenset[str]) -> tuple[str, str]:
    if item.oauth is not None and item.oauth.passthrough:
        return (
            "it asks for the real token to be handed into the sandbox, which is never done here",
            "Ask the Kit's author for a version without passthrough.",
        )
    for rule in item.api_key.inject if item.api_key else ():
        if rule.scheme and rule.scheme.lower() not in ("basic", "bearer"):
            return f"it asks for the scheme {rule.scheme!r}, which is not known here", ""
        if rule.header and not _TOKEN.fullmatch(rule.header.encode()):
            return f"{rule.header!r} is no header's name", ""
        if not _VISIBLE.fullmatch(rule.format):
            return "its format holds what no header can carry", ""
    if item.service not in bound:
        return "no secret is bound to it", f"Bind one: kitstudio credentials set {item.service} --stdin"
    return "", ""


def _plan(item: Credential, kit: str, required: bool, name: str) -> CredentialPlan:
    key = item.api_key
    places = tuple(_presentation(rule) for rule in key.inject) if key else ()
    return CredentialPlan(
        service=item.service,
        phases=tuple(Phase(phase) for phase in item.phases),
        kit=kit,
        required=required,
        variable=key.name if key else "",
        managed=key.proxy_managed if key else True,
        sentinel=sentinel_of(name, item.service, "key"),
        presentations=places,
        oauth=_oauth(item, name) if item.oauth is not None else None,
    )


def _presentation(rule: Inject) -> Presentation:
    basic = rule.scheme.lower() == "basic" or (bool(rule.username) and not rule.header)
    if basic:
        return Presentation(rule.domain, rule.header or "Authorization", basic=True, username=rule.username)
    template = rule.format or ("%s" if rule.header and rule.header.lower() != "authorization" else "Bearer %s")
    return Presentation(rule.domain, rule.header or "Authorization", template if "%s" in template else template + "%s")


def _oauth(item: Credential, name: str) -> OAuth:
    assert item.oauth is not None
    raw = item.oauth.raw
    sentinels, fields = raw.get("sentinels"), raw.get("responseFields")
    stated = sentinels if isinstance(sentinels, dict) else {}
    answer = fields if isinstance(fields, dict) else {}
    file = None
    if raw.get("credentialFile") is not None:
        if not item.oauth.file_path:
            raise SandboxError(
                "A credential file is asked for and no path stated.", where=f"{CREDENTIAL} {item.service}"
            )
        file = (item.oauth.file_path, item.oauth.file_format or "json", json.dumps(item.oauth.structure))
    return OAuth(
        endpoint=item.oauth.token_endpoint or ("", ""),
        hosts=item.oauth.resource_hosts,
        access_sentinel=str(stated.get("accessToken") or sentinel_of(name, item.service, "access")),
        refresh_sentinel=str(stated.get("refreshToken") or sentinel_of(name, item.service, "refresh")),
        key_sentinel=sentinel_of(name, item.service, "primary"),
        names=(
            str(answer.get("accessToken") or "access_token"),
            str(answer.get("refreshToken") or "refresh_token"),
            str(answer.get("expiresIn") or "expires_in"),
        ),
        file=file,
    )
