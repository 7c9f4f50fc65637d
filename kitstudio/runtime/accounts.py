"""Users of an image, from its own ``/etc/passwd`` and ``/etc/group`` (sbx@1, duty 4). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_LAST_ID = 4294967294


@dataclass(frozen=True, slots=True)
class Account:
    """Who a process in the sandbox is. ``known``: a passwd row stands behind it."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    home: str = "/"
    known: bool = True


ROOT = Account("root", 0, 0, (), "/root")


def resolve_account(user: str, passwd: bytes | None, group: bytes | None) -> Account:
    """The account an image config or a hook names as ``user[:group]``; ``LookupError`` says what is missing.

    Digits are a uid by value and never a name; a uid without a row is still an identity, unknown by name.
    """
    wanted, _, group_text = user.partition(":")
    rows = list(_passwd_rows(passwd or b""))
    if _digits(wanted):
        uid = _id(wanted)
        if uid is None:
            raise LookupError(f"{wanted} is not a user id")
        account = next((row for row in rows if row.uid == uid), None)
        account = account or (ROOT if uid == 0 else Account(str(uid), uid, 0, (), "/", False))
    else:
        found = next((row for row in rows if row.name == wanted), None)
        if found is None and wanted == "root":
            found = ROOT
        if found is None:
            raise LookupError(f"/etc/passwd of the image has no user {wanted!r}")
        account = found
    if group_text:
        return Account(account.name, account.uid, _group_id(group_text, group), (), account.home, account.known)
    groups = tuple(
        gid for name, gid, members in _group_rows(group or b"") if account.name in members and gid != account.gid
    )
    return Account(account.name, account.uid, account.gid, groups, account.home, account.known)


def default_account(passwd: bytes | None, group: bytes | None) -> Account:
    """Who runs where the image names nobody: ``agent`` with uid 1000 where it exists (§12), else root."""
    for row in _passwd_rows(passwd or b""):
        if row.name == "agent" and row.uid == 1000:
            return resolve_account("agent", passwd, group)
    return resolve_account("root", passwd, group)


def _passwd_rows(text: bytes) -> Iterator[Account]:
    for fields in _records(text, 7):
        uid, gid = _id(fields[2]), _id(fields[3])
        if fields[0] and uid is not None and gid is not None and fields[5].startswith("/"):
            yield Account(fields[0], uid, gid, (), fields[5])


def _group_rows(text: bytes) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    for fields in _records(text, 4):
        gid = _id(fields[2])
        if fields[0] and gid is not None:
            yield fields[0], gid, tuple(fields[3].split(","))


def _records(text: bytes, count: int) -> Iterator[list[str]]:
    for line in text.decode("utf-8", "surrogateescape").split("\n"):
        fields = line.removesuffix("\r").split(":")
        if not line.startswith("#") and len(fields) == count:
            yield fields


def _group_id(text: str, group: bytes | None) -> int:
    if _digits(text):
        gid = _id(text)
        if gid is None:
            raise LookupError(f"{text} is not a group id")
        return gid
    for name, gid, _ in _group_rows(group or b""):
        if name == text:
            return gid
    raise LookupError(f"/etc/group of the image has no group {text!r}")


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _id(text: str) -> int | None:
    return int(text) if _digits(text) and len(text) <= 20 and int(text) <= _LAST_ID else None
