"""Settings (``settings.toml`` in the home's config folder): typed keys, defaults, atomic writes.

A line this program does not know is kept and named in ``faults``; so is a value it cannot use, and the default
stands in for it: a damaged settings file never keeps the window shut, never passes unseen and is never written over.
Windows and commands share the file: one setting is changed in what the file holds then, and nothing else.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.models.policy import RuleKind
from kitstudio.services import setting_checks as checks
from kitstudio.services.home import alone_in, write_atomic
from kitstudio.services.settings_toml import dump
from kitstudio.services.topic import Topic

STATE_PREFIX = "ui.state."
"""Keys below it are free text the window keeps for itself (geometry, splitters)."""

MAX_FILE = 4 * 1024 * 1024
_DEEPEST = 32
"""Tables in tables that are read; no setting lies deeper than three."""


class SettingsError(KitStudioError):
    """A key or value the settings do not take."""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: what it is for, its default, and ``check``, which returns the value as kept or says what is
    wrong by raising ``ValueError``."""

    name: str
    default: object
    about: str
    check: Callable[[object], object]


class Settings:
    """``get``/``set`` by dotted key (``ui.theme``, ``sandbox.memory``, ``catalog.sources`` …)."""

    def __init__(self, path: Path | None = None) -> None:
        self.changed: Topic[str] = Topic()
        self._path = path
        self._values: dict[str, object] = {}
        self._kept: dict[str, object] = {}
        self._unreadable = False
        self._read: tuple[int, int, int] | None = None
        self.faults: tuple[str, ...] = ()
        self._reread()

    def refresh(self) -> None:
        """Take over what another window or command wrote meanwhile; who listens hears of each key that changed."""
        for key in self._taken_over():
            self.changed.publish(key)

    def get(self, key: str) -> object:
        """The value or its default; ``KitStudioError`` for an unknown key."""
        return self._values.get(key, _known(key).default)

    def text(self, key: str) -> str:
        """``get`` for keys that hold text."""
        return str(self.get(key))

    def number(self, key: str) -> int:
        """``get`` for keys that hold a whole number."""
        value = self.get(key)
        return value if isinstance(value, int) else 0

    def texts(self, key: str) -> tuple[str, ...]:
        """``get`` for keys that hold a list of text."""
        value = self.get(key)
        return tuple(str(item) for item in value) if isinstance(value, tuple) else ()

    def set(self, key: str, value: object) -> None:
        """Check, keep and write atomically. Text is read as the key's own type, so a command line can set any."""
        known = _known(key)
        checked = _checked(known, value)
        with self._alone():
            changed = self._taken_over()
            if self._values.get(key, known.default) != checked or self.fault(f"{key}:"):
                self._put(known, checked)
                changed = tuple(dict.fromkeys((*changed, key)))
        for each in changed:
            self.changed.publish(each)

    def fault(self, prefix: str) -> str:
        """Why a value below ``prefix`` cannot be known: the file is damaged. Empty: it is known."""
        if self._unreadable:
            return self.faults[0]
        return next((text for text in self.faults if text.startswith(prefix)), "")

    def check(self, key: str, value: object) -> object:
        """The value as it would be kept; ``SettingsError`` says what is wrong with it. Nothing changes."""
        return _checked(_known(key), value)

    def keys(self) -> tuple[str, ...]:
        """Every key, sorted; of the window's own state only what is kept."""
        return tuple(sorted({*KEYS, *self._values}))

    def names(self) -> tuple[str, ...]:
        """``keys`` under a name that no reader takes for a dictionary's."""
        return self.keys()

    def describe(self, key: str) -> str:
        """One line on what the key is for."""
        return _known(key).about

    def _taken_over(self) -> tuple[str, ...]:
        """Read the file again where it changed; the keys that have another value since."""
        before = dict(self._values)
        self._reread()
        return tuple(key for key in sorted({*before, *self._values}) if before.get(key) != self._values.get(key))

    def _put(self, known: Key, value: object) -> None:
        values = {**self._values, known.name: value}
        if value == known.default:
            del values[known.name]
        kept = {name: other for name, other in self._kept.items() if name != known.name}
        if not self._unreadable:
            self._write({**kept, **values})
        elif not known.name.startswith(STATE_PREFIX):
            raise SettingsError(
                f"Nothing can be set: {self.faults[0]}",
                where=str(self._path),
                remedy="Correct the file in an editor, or move it away. Rules of yours may be in it.",
            )
        self._values, self._kept = values, kept
        self.faults = tuple(text for text in self.faults if not text.startswith(f"{known.name}:"))

    def _reread(self) -> None:
        """Read the file if it is another one than was read last; what cannot be read leaves the values as they are."""
        stamp = _stamp(self._path) if self._path is not None else None
        if self._path is None or stamp == self._read:
            return
        self._read = stamp
        try:
            found = [] if stamp is None else _flatten(_document(self._path))
        except (OSError, ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else error
            self._unreadable = True
            self.faults = (f"{self._path.name} cannot be read ({why}); the defaults apply until it is corrected.",)
            return
        self._unreadable = False
        self._values, self._kept, faults = {}, {}, []
        for key, value in found:
            if key not in KEYS and not key.startswith(STATE_PREFIX):
                self._kept[key] = value
                faults.append(f"{key} is not a setting this version knows; it is left alone.")
                continue
            try:
                self._values[key] = _known(key).check(value)
            except (ValueError, KitStudioError) as error:
                self._kept[key] = value
                faults.append(f"{key}: {error}. The default is used.")
        self.faults = tuple(faults)

    def _write(self, values: dict[str, object]) -> None:
        if self._path is not None:
            write_atomic(self._path, dump(values).encode())
            self._read = _stamp(self._path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other window or command writes between the look at the file and the new one."""
        if self._path is None:
            yield
            return
        with ExitStack() as held:
            try:
                held.enter_context(alone_in(self._path.parent))
            except OSError as error:
                raise SettingsError(f"The settings cannot be used: {error.strerror}.", where=str(self._path)) from error
            yield


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What tells one state of a file from another; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _document(path: Path) -> dict[str, object]:
    with path.open("rb") as stream:
        raw = stream.read(MAX_FILE + 1)
    if len(raw) > MAX_FILE:
        raise ValueError("it is larger than 4 MiB")
    return tomllib.loads(raw.decode())


def _known(key: str) -> Key:
    if key in KEYS:
        return KEYS[key]
    if re.fullmatch(r"ui\.state\.[a-z0-9_]{1,40}", key):
        return Key(key, "", "Kept by the window.", _text(262_144))
    raise SettingsError(
        f"There is no setting “{key}”.",
        where=key,
        remedy="The settings are: " + ", ".join(KEYS) + ".",
    )


def _checked(key: Key, value: object) -> object:
    try:
        return key.check(_from_text(key, value) if isinstance(value, str) else value)
    except ValueError as error:
        raise SettingsError(f"{key.name}: {error}.", where=key.name, remedy=key.about) from error


def _from_text(key: Key, value: str) -> object:
    """A command line's text in the key's own type."""
    default = key.default
    if isinstance(default, bool):
        return {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}.get(
            value.strip().lower(), value
        )
    if isinstance(default, int | float):
        try:
            return int(value) if isinstance(default, int) else float(value)
        except ValueError:
            return value
    if isinstance(default, tuple):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _flatten(table: dict[str, object], prefix: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            if key.count(".") >= _DEEPEST:
                raise ValueError("it is nested too deeply")
            found += _flatten(value, f"{key}.")
        elif any(known.startswith(f"{key}.") for known in (*KEYS, STATE_PREFIX)):
            raise ValueError(f"“{key}” must be a table")
        else:
            found.append((key, value))
    return found


def _choice(*allowed: str) -> Callable[[object], object]:
    def check(value: object) -> object:
        if value not in allowed:
            raise ValueError("must be one of " + ", ".join(word or "“”" for word in allowed))
        return value

    return check


def _whole(low: int, high: int) -> Callable[[object], object]:
    def check(value: object) -> object:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    return check


def _decimal(low: float, high: float) -> Callable[[object], object]:
    def check(value: object) -> object:
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"must be a number from {low:g} to {high:g}")
        return float(value)

    return check


def _switch(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _text(limit: int) -> Callable[[object], object]:
    def check(value: object) -> object:
        if not isinstance(value, str) or len(value) > limit:
            raise ValueError(f"must be text of at most {limit} characters")
        if not value.isprintable() and any(ch.isspace() is False and not ch.isprintable() for ch in value):
            raise ValueError("must not hold control characters")
        return value

    return check


KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key("cache.blobs_limit", 20_480, "MiB of downloaded Kits kept at most; 0 keeps all.", _whole(0, 16_777_216)),
        Key("cache.layers_limit", 20_480, "MiB of converted layers kept at most; 0 keeps all.", _whole(0, 16_777_216)),
        Key("catalog.sources", (), "Sources beside those that come with Kit Studio, in order.", checks.texts),
        Key("catalog.trusted", (), "Sources whose Kits' icons may be fetched.", checks.texts),
        Key("hub.api_base", "", "Address of Docker Hub's lists; empty: its own.", checks.optional(checks.address)),
        Key("hub.search_base", "", "Address of Docker Hub's search; empty: its own.", checks.optional(checks.address)),
        Key("registry.ca_files", (), "Certificate authorities trusted beside the system's (PEM files).", checks.files),
        Key("registry.mirrors", (), "Hosts asked before a registry: HOST=MIRROR.", checks.mirrors),
        Key("registry.no_proxy", (), "Hosts, domains and networks no proxy is used for.", checks.exceptions),
        Key(
            "git.email",
            "",
            "E-mail address of commits, for Kits that ask for your Git identity.",
            checks.author_address,
        ),
        Key("git.name", "", "Name of commits, for Kits that ask for your Git identity.", checks.author),
        Key("policy.auto_apply", True, "Updates within what was approved are put in force by themselves.", _switch),
        Key("policy.expected", (), "Hosts expected of a publisher: PUBLISHER=DOMAIN.", checks.rules(RuleKind.EXPECTED)),
        Key("policy.host", (), "Never granted on this machine: host=… or type=….", checks.rules(RuleKind.HOST)),
        Key("policy.never", (), "Refused always: host=…, type=… or category=….", checks.rules(RuleKind.NEVER)),
        Key("policy.tick", (), "Needs a tick of its own: host=…, type=… or category=….", checks.rules(RuleKind.TICK)),
        Key("registry.plain_http", (), "Hosts (with port) that may be spoken to without TLS.", checks.hosts),
        Key("registry.proxies", (), "Proxies by scheme: https=ADDRESS; empty: the environment's.", checks.proxies),
        Key("sandbox.accel", "", "Acceleration: kvm or tcg; empty finds out by booting.", _choice("", "kvm", "tcg")),
        Key("sandbox.cpus", 0, "Processors of a new sandbox; 0 leaves it to the set.", _whole(0, 256)),
        Key(
            "sandbox.idle_minutes",
            30,
            "Minutes without a session after which a new sandbox is stopped; 0 never.",
            _whole(0, 525_600),
        ),
        Key("sandbox.memory", 0, "Memory of a new sandbox in MiB; 0 leaves it to the set.", _whole(0, 1_048_576)),
        Key("sandbox.workspace", "", "Folder offered as workspace at launch.", _text(4096)),
        Key("skills.folder", "", "Folder of your own skills, shown to agents that look for skills.", checks.folder),
        Key(
            "skills.mode",
            "off",
            "Whether sandboxes see your skills: off, readonly, or readwrite where a Kit may change them.",
            _choice("off", "readonly", "readwrite"),
        ),
        Key("updates.daily", False, "Look for newer versions of approved Kits once a day.", _switch),
        Key("updates.on_start", False, "Look for newer versions of approved Kits at every start.", _switch),
        Key(
            "ssh.agent",
            "system",
            "SSH agent for Kits that ask for it: system, a socket’s path, or empty for none.",
            checks.agent,
        ),
        Key("ssh.keys", ("all",), "Keys of your SSH agent that Kits may use: all, or fingerprints.", checks.agent_keys),
        Key("ui.text_scale", 1.0, "Text size, 1 is the system's.", _decimal(0.8, 3.0)),
        Key("ui.theme", "system", "Colours of the window.", _choice("system", "light", "dark")),
    )
}
"""Every setting, by name."""
