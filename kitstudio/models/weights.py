"""The closed vocabularies of what a person reads: how heavy, which family, when."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Weight(IntEnum):
    """How heavy an entry is; larger is heavier."""

    INFO = 0
    NOTICE = 1
    SERIOUS = 2
    CRITICAL = 3


class Group(StrEnum):
    """The families entries are shown under, in this order."""

    NETWORK = "network"
    CREDENTIALS = "credentials"
    SSH_AGENT = "SSH agent"
    STORAGE = "storage"
    HOST_FILES = "host files"
    SKILLS = "skills"
    PORTS = "ports"
    USB = "USB"
    PRIVILEGED = "privileged"
    SERVICES = "services"


class Phase(StrEnum):
    """When a grant is open."""

    INSTALL = "install"
    RUNTIME = "runtime"
    ALWAYS = "always"
