"""Words for a surface string alone: what a lock granted is known by its strings, its descriptor may be gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kitstudio.models import words
from kitstudio.models.capabilities import (
    agent_skills,
    credential,
    host_mount,
    lookup,
    network,
    port,
    privileged,
    ssh_agent,
    usb_device,
    volume,
)
from kitstudio.models.capabilities.contract import Fact, Grant
from kitstudio.models.capabilities.credential import ApiKey, Credential
from kitstudio.models.capabilities.network import Entry, Policy, Rules
from kitstudio.models.review import Permission
from kitstudio.models.surface import CATEGORIES, DENIES
from kitstudio.models.weights import Group, Phase, Weight


def permission_of(fact: Fact) -> Permission:
    """The row of one surface string."""
    name, text = fact
    grant = next(iter(_described(name, text)), None) or _plain(name, text)
    return Permission(
        grant.group,
        CATEGORIES[name],
        text,
        grant.entry,
        grant.sentence,
        grant.weight,
        grant.phase,
        denies=name in DENIES,
        facts=(fact,),
        tick=grant.tick,
    )


def _described(name: str, text: str) -> Iterable[Grant]:
    phase = "install" if "install" in name else "runtime"
    if name.startswith("network_"):
        return _network(name, text, phase)
    match name:
        case "credentials_install" | "credentials_runtime":
            return map(_of_a_secret, credential.TYPE.describe(Credential(text, (phase,), ApiKey("", True, ()), None)))
        case "ssh_agent":
            return _agent(text)
        case "storage_paths":
            return volume.TYPE.describe(volume.Volume(text))
        case "host_mount_paths":
            return host_mount.TYPE.describe(host_mount.HostMount(text))
        case "skills_paths" | "skills_write_paths":
            mode = "readwrite" if name == "skills_write_paths" else ""
            return agent_skills.TYPE.describe(agent_skills.AgentSkills(text, mode))
        case "ports":
            number, _, transport = text.partition("/")
            return port.TYPE.describe(port.Port(int(number), transport)) if number.isdecimal() else ()
        case "usb":
            return usb_device.TYPE.describe(_usb(text))
        case "privileged":
            return privileged.TYPE.describe(None)
        case _:
            known: Any = lookup(text)
            return known.describe(None) if known is not None and known.configless else ()


def _network(name: str, text: str, phase: str) -> Iterable[Grant]:
    if "_http_" in name:
        method, _, rest = text.partition(" ")
        host, slash, path = rest.partition("/")
        entry = Entry((host,), (method,), (slash + path,))
    else:
        entry = Entry((text,))
    rules = Rules(deny=(entry,)) if name in DENIES else Rules(allow=(entry,))
    return network.describe(Policy(install=rules) if phase == "install" else Policy(runtime=rules))


def _agent(text: str) -> Iterable[Grant]:
    phase, _, rest = text.partition(" ")
    verb, _, what = rest.partition(" ")
    if not rest:
        return ssh_agent.TYPE.describe(ssh_agent.SshAgent((phase,), None, None, None))
    lists = ((what,), None) if verb == "sign" else (None, (what,))
    return ssh_agent.TYPE.describe(ssh_agent.SshAgent((phase,), False, *lists))


def _usb(text: str) -> usb_device.UsbDevice:
    head, _, tail = text.partition(":")
    return usb_device.UsbDevice("", "", tail) if head == "class" else usb_device.UsbDevice(head, tail, "")


def _of_a_secret(grant: Grant) -> Grant:
    """The surface tells the service alone: where its secret goes is not claimed to be safe."""
    head = grant.sentence.partition(";")[0]
    return replace(grant, sentence=f"{head}; the secret may be handed into the sandbox.", weight=Weight.SERIOUS)


def _plain(name: str, text: str) -> Grant:
    shown = words.exact(text)
    sentence = f"Asks for {words.term(text)}: what it grants cannot be told."
    tick = f"I accept that this app cannot tell what {words.term(text)} grants"
    return Grant(Group.SERVICES, ((name, text),), shown, sentence, Weight.CRITICAL, Phase.ALWAYS, tick=tick)
