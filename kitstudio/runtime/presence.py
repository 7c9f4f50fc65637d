"""git-identity@1, agent-skill@1 and trust in the sandbox's own authority, carried out in a running guest at every
boot, before any hook."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities import AGENT_SKILL
from kitstudio.runtime.capabilities.credential_file import render_file
from kitstudio.runtime.capabilities.git_identity import config_path, with_identity
from kitstudio.runtime.launch import LaunchPlan
from kitstudio.runtime.lifecycle import Guest

AUTHORITY_FILE = "/run/kit/authority.pem"
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)
"""Where images keep the certificates they trust; the first is made where there is none."""

_CONFIG_LIMIT = 1 << 20
_BUNDLE_LIMIT = 8 << 20
_BEGIN, _END = "# kit-studio:begin\n", "# kit-studio:end\n"
_OURS = re.compile(re.escape(_BEGIN) + ".*?" + re.escape(_END), re.DOTALL)


async def set_identity(guest: Guest, plan: LaunchPlan) -> None:
    """Make the sandbox's pair Git's global default for the workload's user; all its other settings stay."""
    if plan.identity is None:
        return
    owner = plan.contract.account
    path = config_path(owner.home, plan.contract.env)
    existing = (await guest.read_file(path, _CONFIG_LIMIT) or b"").decode("utf-8", "surrogateescape")
    text = with_identity(existing, plan.identity)
    await guest.write_file(path, text.encode("utf-8", "surrogateescape"), uid=owner.uid, gid=owner.gid, mode=0o644)


async def expose_skills(guest: Guest, plan: LaunchPlan, mounted: Collection[str] = ()) -> tuple[str, ...]:
    """Link every shipped skill to its destinations; the optional ones that something else is in the way of, in words.

    ``mounted``: destinations where the person's own skills are mounted, which show shipped ones already.
    What lies there already is never replaced (agent-skill@1, duty 8): ``SandboxError`` where the skill is required.
    """
    owner = plan.contract.account
    left_out: list[str] = []
    for skill in plan.skills:
        if posixpath.dirname(skill.path) in mounted:
            continue
        if await guest.link(skill.path, skill.source, uid=owner.uid, gid=owner.gid):
            continue
        if skill.required:
            raise SandboxError(
                f"The skill cannot be shown at {skill.path}: something else is there, and is left alone.",
                where=AGENT_SKILL,
                remedy="Move it away, or remove the Kit that ships the skill.",
            )
        left_out.append(f"{AGENT_SKILL}: something else is at {skill.path}")
    return tuple(left_out)


async def write_credential_files(guest: Guest, plan: LaunchPlan, secrets: Mapping[str, str]) -> None:
    """Render the files agents look for their tokens in, with stand-ins; the agent's own, readable by it alone."""
    owner = plan.contract.account
    for credential in plan.credentials:
        if credential.service not in secrets:
            continue
        file = render_file(credential, secrets[credential.service], owner.home)
        if file is not None:
            await guest.write_file(file.path, file.content.encode(), uid=owner.uid, gid=owner.gid, mode=0o600)


async def trust_authority(guest: Guest, plan: LaunchPlan, pem: str) -> dict[str, str]:
    """Add the sandbox's authority to the certificates its image trusts, where connections are looked into; the
    variables for programs that read no bundle of the system's."""
    if not plan.inspects:
        return {}
    await guest.write_file(AUTHORITY_FILE, pem.encode(), mode=0o644)
    bundles = {path: text for path in BUNDLES if (text := await guest.read_file(path, _BUNDLE_LIMIT)) is not None}
    for path, text in (bundles or {BUNDLES[0]: b""}).items():
        kept = _OURS.sub("", text.decode("utf-8", "surrogateescape"))
        if kept and not kept.endswith("\n"):
            kept += "\n"
        ours = f"{kept}{_BEGIN}{pem}{_END}"
        await guest.write_file(path, ours.encode("utf-8", "surrogateescape"), mode=0o644)
    bundle = next(iter(bundles), BUNDLES[0])
    stated = {
        "NODE_EXTRA_CA_CERTS": AUTHORITY_FILE,
        "DENO_CERT": AUTHORITY_FILE,
        "SSL_CERT_FILE": bundle,
        "REQUESTS_CA_BUNDLE": bundle,
        "CURL_CA_BUNDLE": bundle,
    }
    return {name: value for name, value in stated.items() if name not in plan.contract.env}
