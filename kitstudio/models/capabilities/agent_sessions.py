"""``agent-sessions@1``: driving the agent without a terminal."""

from kitstudio.models.capabilities.sessions import HEADLESS as TYPE

__all__ = ["TYPE"]
