"""Who an image's ``User`` is, read out of its account files (the ``sbx@1`` floor, §12)."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 4294967295


@dataclass(frozen=True, slots=True)
class Account:
    uid: int
    gid: int
    name: str
    home: str


def resolve_user(user: str, passwd: str, group: str) -> Account | None:
    """The account of ``user[:group]``; None when it does not resolve. All digits are an id, never a name."""
    login, _, wanted = user.partition(":")
    account = next((a for a in _accounts(passwd) if _matches(a, login)), None)
    if account is None or not wanted:
        return account
    gid = _number(wanted) if wanted.isdecimal() and wanted.isascii() else _group(group, wanted)
    return None if gid is None else Account(account.uid, gid, account.name, account.home)


def needs_groups(user: str) -> bool:
    """True when the user names a group that only the group file knows."""
    wanted = user.partition(":")[2]
    return bool(wanted) and not (wanted.isascii() and wanted.isdecimal())


def _matches(account: Account, login: str) -> bool:
    if login.isascii() and login.isdecimal():
        return account.uid == _number(login)
    return account.name == login


def _accounts(passwd: str) -> list[Account]:
    found = []
    for line in passwd.split("\n"):
        fields = line.removesuffix("\r").split(":")
        if line.startswith("#") or len(fields) != 7:
            continue
        uid, gid = _number(fields[2]), _number(fields[3])
        if fields[0] and uid is not None and gid is not None and fields[5].startswith("/"):
            found.append(Account(uid, gid, fields[0], fields[5]))
    return found


def _group(group: str, wanted: str) -> int | None:
    for line in group.split("\n"):
        fields = line.removesuffix("\r").split(":")
        if not line.startswith("#") and len(fields) == 4 and fields[0] == wanted:
            gid = _number(fields[2])
            if gid is not None:
                return gid
    return None


def _number(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal()) or len(text) > 32:
        return None
    value = int(text)
    return value if value < MOST else None
