"""Kit Studio: review, approve and run Docker Sandbox Kits."""

__version__ = "0.1.0"
