"""The list of type modules. A new type is one module and one line here."""

from __future__ import annotations

from typing import Any

from kitstudio.models.capabilities import (
    acp,
    agent_context,
    agent_interactive_sessions,
    agent_sessions,
    agent_skill,
    agent_skills,
    credential,
    git_identity,
    host_mount,
    kit_registry,
    lifecycle,
    long_running,
    network_policy_1,
    network_policy_2,
    port,
    privileged,
    resources,
    sbx,
    ssh_agent,
    usb_device,
    volume,
)
from kitstudio.models.capabilities.contract import CapabilityType

TYPES: dict[str, CapabilityType[Any]] = {
    module.TYPE.name: module.TYPE
    for module in (
        network_policy_1,
        network_policy_2,
        credential,
        ssh_agent,
        volume,
        host_mount,
        agent_skills,
        agent_skill,
        port,
        usb_device,
        privileged,
        resources,
        lifecycle,
        agent_context,
        agent_sessions,
        agent_interactive_sessions,
        acp,
        long_running,
        git_identity,
        kit_registry,
        sbx,
    )
}
