"""The subjects that come with Kit Studio, in the order of the page; numbers leave room for others."""

from __future__ import annotations

from kitstudio.ui.approvals.policy_section import PolicySection
from kitstudio.ui.settings.appearance import AppearanceSection
from kitstudio.ui.settings.caches import CachesSection
from kitstudio.ui.settings.catalogs import CatalogsSection
from kitstudio.ui.settings.git_identity import GitIdentitySection
from kitstudio.ui.settings.machine import MachineSection
from kitstudio.ui.settings.network import NetworkSection
from kitstudio.ui.settings.sandboxes import SandboxesSection
from kitstudio.ui.settings.section import register, subjects
from kitstudio.ui.settings.services import ServicesSection
from kitstudio.ui.settings.shared_folders import SharedFoldersSection
from kitstudio.ui.settings.sign_ins import SignInsSection
from kitstudio.ui.settings.skills import SkillsSection
from kitstudio.ui.settings.ssh_agent import SshAgentSection


def register_all() -> None:
    """Add them; one that another module put in the place of one of these stays."""
    known = {subject.key for subject in subjects()}
    for key, icon, order, build in (
        ("sign-in", "user", 100, SignInsSection),
        ("services", "credentials", 200, ServicesSection),
        ("ssh-agent", "ssh-agent", 220, SshAgentSection),
        ("git-identity", "tag", 240, GitIdentitySection),
        ("approvals", "approvals", 300, PolicySection),
        ("sandboxes", "sandboxes", 400, SandboxesSection),
        ("skills", "skills", 440, SkillsSection),
        ("shared-folders", "folder", 450, SharedFoldersSection),
        ("catalogs", "catalog", 500, CatalogsSection),
        ("caches", "storage", 600, CachesSection),
        ("network", "network", 700, NetworkSection),
        ("appearance", "eye", 800, AppearanceSection),
        ("machine", "memory", 900, MachineSection),
    ):
        if key not in known:
            register(key, icon, order, build)
