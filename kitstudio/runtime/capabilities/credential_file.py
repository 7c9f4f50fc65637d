"""credential@1: the file an agent looks for its tokens in, rendered with stand-ins. Pure."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass

import tomli_w

from kitstudio.models.descriptor import JsonValue
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.credential import CredentialPlan, Tokens

_PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}")
_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class CredentialFile:
    """A file of the agent's own, readable by it alone."""

    path: str
    content: str


def render_file(plan: CredentialPlan, secret: str, home: str) -> CredentialFile | None:
    """The file of an OAuth credential; None where none is asked for.

    Placeholders take the native type of the format; one that is not known is an error.
    """
    if plan.oauth is None or plan.oauth.file is None:
        return None
    path, form, structure = plan.oauth.file
    if path == "~" or path.startswith("~/"):
        path = posixpath.join(home, path[2:])
    if not path.startswith("/") or "\0" in path or path.endswith("/"):
        raise SandboxError(f"The credential file's path {path!r} names no file.", where=plan.kit)
    tokens = Tokens.read(secret)
    values: dict[str, JsonValue] = {
        "{{.AccessToken}}": plan.oauth.access_sentinel,
        "{{.RefreshToken}}": plan.oauth.refresh_sentinel if tokens.refresh else "",
        "{{.ExpiresAt}}": tokens.expires_at,
        "{{.Scopes}}": list(tokens.scopes),
        "{{.PrimaryApiKey}}": plan.oauth.key_sentinel if tokens.primary_key else None,
    }
    stated = json.loads(structure)
    document = _filled(stated if stated is not None else _DEFAULT, values, plan.kit)
    if not isinstance(document, dict):
        raise SandboxError("The credential file's structure is no mapping.", where=plan.kit)
    content = json.dumps(document, indent=2) + "\n" if form == "json" else tomli_w.dumps(document)
    if len(content) > _MAX:
        raise SandboxError("The credential file is larger than 1 MiB.", where=plan.kit)
    return CredentialFile(posixpath.normpath(path), content)


_DEFAULT: dict[str, JsonValue] = {
    "access_token": "{{.AccessToken}}",
    "refresh_token": "{{.RefreshToken}}",
    "expires_at": "{{.ExpiresAt}}",
}


def _filled(value: JsonValue, values: dict[str, JsonValue], where: str) -> JsonValue:
    if isinstance(value, dict):
        found = {key: _filled(item, values, where) for key, item in value.items()}
        gone = {key for key, item in value.items() if item == "{{.PrimaryApiKey}}" and found[key] is None}
        return {key: item for key, item in found.items() if key not in gone}
    if isinstance(value, list):
        return [_filled(item, values, where) for item in value]
    if not isinstance(value, str):
        return value
    if value in values:
        return values[value]

    def text(match: re.Match[str]) -> str:
        if match[0] not in values:
            raise SandboxError(f"The credential file holds {match[0]}, which stands for nothing.", where=where)
        inner = values[match[0]]
        return "" if inner is None else " ".join(map(str, inner)) if isinstance(inner, list) else str(inner)

    return _PLACEHOLDER.sub(text, value)
