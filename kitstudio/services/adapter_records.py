"""What the conformance adapter keeps of each sandbox between two calls: one private file beside the sandboxes.

What only a create is told (§2.2: overrides, the file with a Git identity, answers to selection) is needed again by
start and recreate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.services.home import write_atomic

FOLDER = "adapter"
OFF = "off"


@dataclass(frozen=True, slots=True)
class Created:
    """One sandbox as ``create`` was asked for it.

    ``document``: the set, its Kits by digest. ``rejected``: capability types whose selection is answered with no.
    ``git``: the file with the identity, ``off``, or empty where nothing was said. ``skills``: the folder that stands
    for the person's own skills. ``idle``: seconds without a session after which the sandbox is stopped, 0 for never.
    """

    document: str
    rejected: tuple[str, ...] = ()
    set_args: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    git: str = ""
    agent: str = ""
    known_hosts: str = ""
    skills: str = ""
    skills_mode: str = ""
    idle: float = 0.0


class AdapterRecords:
    """The folder of these files. Blocking; they are small."""

    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER

    @property
    def folder(self) -> Path:
        return self._folder

    def begin(self) -> None:
        """Make this home the adapter's own. Refused where a person has decided something in it: the adapter says yes
        to everything a suite asks, and must not do so among what a person uses."""
        if self._folder.is_dir():
            return
        if any((self._folder.parent / "locks").glob("*.json")) or (self._folder.parent / "bindings.json").exists():
            raise KitStudioError(
                "This home is in use by a person; the adapter approves whatever a suite asks for.",
                where=str(self._folder.parent.parent),
                remedy="Give the adapter a home of its own: --home DIR or KITSTUDIO_HOME.",
            )
        self._folder.mkdir(mode=0o700)

    def keep(self, name: str, created: Created) -> None:
        """Write one."""
        write_atomic(self._path(name), (json.dumps(asdict(created), indent=1) + "\n").encode())

    def read(self, name: str) -> Created:
        """Raises ``KitStudioError`` where the adapter made no sandbox of that name."""
        try:
            stated = json.loads(self._path(name).read_bytes())
            return replace(Created(**stated), rejected=tuple(stated["rejected"]))
        except FileNotFoundError:
            raise KitStudioError("The adapter created no such sandbox.", where=name[:80]) from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise KitStudioError(f"The adapter's record cannot be read: {error}.", where=name[:80]) from error

    def forget(self, name: str) -> None:
        """Take one away."""
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        if "/" in name or name.startswith("."):
            raise KitStudioError("This is not the id of a sandbox.", where=name[:80])
        return self._folder / f"{name}.json"
