"""``login`` and ``logout``: a sign-in is tried at the registry, then kept in the store that is named."""

from __future__ import annotations

import asyncio
import getpass
import sys
from typing import TYPE_CHECKING

from kitstudio.cli.output import DONE, UsageError, ask, interactive
from kitstudio.models.errors import KitStudioError

if TYPE_CHECKING:
    from kitstudio.cli.main import Run
    from kitstudio.registry.credentials import Account

MAX_PASSWORD = 65_536
FILE = "file"


async def login(run: Run) -> int:
    """Try a sign-in and keep it; says which store has it."""
    from kitstudio.registry.secret_store import SecretStoreError

    args = run.args
    username = args.username
    if not username:
        if not interactive():
            raise UsageError("A user name is needed.", where="login", remedy="Use --username and --password-stdin.")
        username = await asyncio.to_thread(ask, f"User name at {args.place}: ")
    password = await asyncio.to_thread(_password, args.password_stdin)
    studio = await run.studio()
    try:
        account = await studio.sign_in.login(args.place, username, password, args.store)
    except SecretStoreError as error:
        if args.store == FILE:
            raise
        remedy = f"Keep it in a private file, not encrypted: kitstudio login {args.place} --store {FILE}."
        raise SecretStoreError(error.what, where=error.where, remedy=remedy) from error
    run.output.document(_account(account))
    kept = "a private file" if account.store == FILE else f"the {account.store}"
    run.output.say(f"Signed in to {account.place} as {account.username}; kept in {kept}.")
    run.output.note(studio.sign_in.describe(account.store))
    return DONE


async def logout(run: Run) -> int:
    """Forget a sign-in kept here; Docker's own configuration is never changed."""
    studio = await run.studio()
    gone = await studio.sign_in.logout(run.args.place)
    if not gone:
        raise KitStudioError(
            "There is no sign-in kept here for that place.",
            where=run.args.place,
            remedy="A sign-in of Docker's own is ended with “docker logout”.",
        )
    run.output.document(_account(gone[0]))
    run.output.say(f"Signed out of {gone[0].place}.")
    return DONE


def _password(piped: bool) -> str:
    if piped:
        raw = sys.stdin.buffer.read(MAX_PASSWORD + 1)
        if len(raw) > MAX_PASSWORD:
            raise UsageError("A password has at most 64 KiB.", where="--password-stdin")
        try:
            return raw.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise UsageError("A password is UTF-8 text.", where="--password-stdin") from error
    if not interactive():
        raise UsageError("A password is needed.", where="login", remedy="Pipe it in with --password-stdin.")
    return getpass.getpass("Password or token: ")


def _account(account: Account) -> dict[str, str]:
    return {"host": account.place, "username": account.username, "store": account.store}
