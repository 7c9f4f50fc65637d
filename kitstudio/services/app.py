"""``Studio``: one home folder, one object per job family. Windows and commands get everything from here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kitstudio.services.approvals import Approvals
from kitstudio.services.catalog import Catalog
from kitstudio.services.composer import Composer
from kitstudio.services.jobs import Jobs
from kitstudio.services.sandboxes import Sandboxes
from kitstudio.services.settings import Settings


@dataclass(frozen=True, slots=True)
class Options:
    """How the program was started (``cli.md``, global flags). ``home`` None = platformdirs."""

    home: Path | None = None
    offline: bool = False
    plain_http: tuple[str, ...] = ()


class Studio:
    """Open with ``await Studio.open(options)``, end with ``await close()``."""

    jobs: Jobs
    settings: Settings
    catalog: Catalog
    composer: Composer
    approvals: Approvals
    sandboxes: Sandboxes

    @classmethod
    async def open(cls, options: Options) -> Studio:
        raise NotImplementedError

    async def close(self) -> None:
        """Cancel jobs, wait at most three seconds, leave running sandboxes to their supervisors."""
        raise NotImplementedError
