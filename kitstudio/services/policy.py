"""The person's rules as the settings hold them: checks for the settings, and the policy of now."""

from __future__ import annotations

from kitstudio.models.policy import Policy, RuleKind, parse
from kitstudio.services.settings import Settings, SettingsError

KEYS = {
    RuleKind.NEVER: "policy.never",
    RuleKind.TICK: "policy.tick",
    RuleKind.EXPECTED: "policy.expected",
    RuleKind.HOST: "policy.host",
}
"""Which setting holds the rules of which kind."""

AUTO_APPLY = "policy.auto_apply"


def policy_of(settings: Settings) -> Policy:
    """The rules that hold now, those another window or command wrote included. Raises ``SettingsError`` where they
    cannot be read: a rule is never dropped unseen."""
    settings.refresh()
    if fault := settings.fault("policy."):
        raise SettingsError(
            f"Your rules cannot be read, so nothing can be approved: {fault}",
            where="policy",
            remedy="Correct the settings file, or set that rule again under Settings.",
        )
    rules = tuple(parse(kind, text) for kind, key in KEYS.items() for text in settings.texts(key))
    return Policy(rules, bool(settings.get(AUTO_APPLY)))
