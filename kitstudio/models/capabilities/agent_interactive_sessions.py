"""``agent-interactive-sessions@1``: driving the agent's terminal interface."""

from kitstudio.models.capabilities.sessions import INTERACTIVE as TYPE

__all__ = ["TYPE"]
