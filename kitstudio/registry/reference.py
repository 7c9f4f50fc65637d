"""Image references, parsed once: ``[domain/]path[:tag][@digest]`` (grammar: core digest §3.1) and the forms of the
command line (``oci:DIR[:TAG|@DIGEST]``, ``demo/NAME[:TAG]``, ``./dir``, ``FILE.yaml``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed registry reference. ``registry`` is a host with optional port; ``tag`` and ``digest`` may be empty.

    ``text`` is the spelling it was given as.
    """

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        """``registry/repository``, without tag or digest: the identity of a Kit across versions."""
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"
