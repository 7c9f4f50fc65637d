"""ssh-agent@1: what of the person's agent reaches a sandbox. Messages are real, keys are fresh."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.capabilities.ssh_agent import AgentGrant, plan_agent
from kitstudio.runtime.policy import Phase
from kitstudio.runtime.ssh_relay import AgentRelay, fingerprint, known_host_keys, login_of, namespace_of
from tests.runtime.runtime_sets import capability, descriptor
from tests.runtime.ssh_agents import LIST, Agent, bind, framed, listening, login, named, new_key, sign, text

FREE = AgentGrant(Phase.RUNTIME, free=True)
BOUNDED = AgentGrant(Phase.RUNTIME, sign=("git",), authenticate=("forge.test", "deploy@ci.test"))
USER, FORGE, CI, OTHER = new_key(), new_key(), new_key(), new_key()
SESSION = b"s" * 32


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, message: bytes) -> bytes:
        self.writer.write(framed(message))
        size = struct.unpack(">I", await asyncio.wait_for(self.reader.readexactly(4), 10))[0]
        return await self.reader.readexactly(size)

    async def signs(self, data: bytes) -> bool:
        return (await self.ask(sign(USER, data)))[0] == 14


class Stand:
    def __init__(self, agent: Agent, client: Client, notes: list[tuple[bool, str]]) -> None:
        self.agent, self.client, self.notes = agent, client, notes


@asynccontextmanager
async def relayed(grant: AgentGrant, folder: Path, keys: frozenset[str] | None = None) -> AsyncIterator[Stand]:
    agent, notes = Agent(USER, OTHER), []
    known = folder / "known_hosts"
    known.write_text(
        f"forge.test,git.forge.test {FORGE.export_public_key().decode()}"
        f"ci.test {CI.export_public_key().decode()}@revoked ci.test {OTHER.export_public_key().decode()}"
        f"ci.test {OTHER.export_public_key().decode()}"
    )
    async with listening(agent, folder / "agent") as backing:
        relay = AgentRelay(
            backing, grant, known_host_keys(known), lambda ok, words: notes.append((ok, words)), keys=keys
        )
        server = await asyncio.start_unix_server(relay.serve, folder / "relay")
        async with server:
            reader, writer = await asyncio.open_unix_connection(folder / "relay")
            yield Stand(agent, Client(reader, writer), notes)
            writer.close()


async def test_only_listing_signing_and_binding_reach_the_agent(tmp_path: Path) -> None:
    async with relayed(FREE, tmp_path) as s:
        assert (await s.client.ask(LIST))[0] == 12
        assert await s.client.signs(b"anything at all")
        asked = len(s.agent.asked)
        for message in (
            bytes([17]) + text(b"key"),
            bytes([18]) + text(USER.public_data),
            bytes([19]),
            bytes([20]) + text("reader"),
            bytes([22]) + text("lock"),
            bytes([25]),
            bytes([27]) + text("query"),
            bytes([27]),
            bytes([11]) + b"more",
            bytes([13]),
            bytes([200]) + b"x" * 5000,
        ):
            assert await s.client.ask(message) == bytes([5])
        assert len(s.agent.asked) == asked
        assert s.notes == [(True, f"signature of unknown purpose with {fingerprint(USER.public_data)}")]


async def test_bounded_named_signatures(tmp_path: Path) -> None:
    async with relayed(BOUNDED, tmp_path) as s:
        assert await s.client.signs(named("git"))
        for data in (named("file"), named("gi"), b"SSHSIG", b"SSHSIG\0\0\0\x09git", b"anything", b""):
            assert not await s.client.signs(data)
        assert len([m for m in s.agent.asked if m[0] == 13]) == 1
        assert [ok for ok, _ in s.notes] == [True] + [False] * 6


async def test_bounded_logins_need_a_verified_binding_to_a_granted_server(tmp_path: Path) -> None:
    async with relayed(BOUNDED, tmp_path) as s:
        assert not await s.client.signs(login(SESSION, "me", USER))
        # A binding whose proof is another key's does not count.
        assert await s.client.ask(bind(FORGE, SESSION, signer=OTHER)) == bytes([5])
        assert not await s.client.signs(login(SESSION, "me", USER))
        assert await s.client.ask(bind(FORGE, SESSION)) == bytes([6])
        assert await s.client.signs(login(SESSION, "me", USER))
        assert await s.client.signs(login(SESSION, "me", USER, FORGE.public_data))
        assert not await s.client.signs(login(SESSION, "me", USER, CI.public_data))
        assert not await s.client.signs(login(b"t" * 32, "me", USER))


async def test_a_server_s_user_a_forwarded_session_and_a_revoked_key_are_told_apart(tmp_path: Path) -> None:
    async with relayed(BOUNDED, tmp_path) as s:
        await s.client.ask(bind(CI, SESSION))
        assert not await s.client.signs(login(SESSION, "me", USER))
        assert await s.client.signs(login(SESSION, "deploy", USER))
        await s.client.ask(bind(FORGE, b"f" * 32, forwarding=True))
        assert not await s.client.signs(login(b"f" * 32, "me", USER))
        await s.client.ask(bind(OTHER, b"o" * 32))
        assert not await s.client.signs(login(b"o" * 32, "deploy", USER))
        assert any("forwarded" in words for _, words in s.notes)


async def test_a_binding_counts_on_its_own_connection_only(tmp_path: Path) -> None:
    async with relayed(BOUNDED, tmp_path) as s:
        await s.client.ask(bind(FORGE, SESSION))
        reader, writer = await asyncio.open_unix_connection(tmp_path / "relay")
        assert not await Client(reader, writer).signs(login(SESSION, "me", USER))
        writer.close()


async def test_keys_that_were_not_chosen_are_neither_shown_nor_used(tmp_path: Path) -> None:
    async with relayed(FREE, tmp_path, frozenset({fingerprint(OTHER.public_data)})) as s:
        answer = await s.client.ask(LIST)
        assert answer[:5] == bytes([12, 0, 0, 0, 1]) and OTHER.public_data in answer and USER.public_data not in answer
        assert not await s.client.signs(b"x")


async def test_a_message_without_end_or_of_impossible_size_ends_the_connection(tmp_path: Path) -> None:
    async with relayed(FREE, tmp_path) as s:
        s.client.writer.write(struct.pack(">I", 1 << 30))
        assert await asyncio.wait_for(s.client.reader.read(), 10) == b""
        assert s.agent.asked == []


async def test_an_agent_that_went_away_makes_signing_fail(tmp_path: Path) -> None:
    relay = AgentRelay(tmp_path / "gone", FREE, lambda host: (), lambda ok, words: None)
    server = await asyncio.start_unix_server(relay.serve, tmp_path / "relay")
    async with server:
        reader, writer = await asyncio.open_unix_connection(tmp_path / "relay")
        writer.write(framed(LIST))
        assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()


@given(st.binary(max_size=200))
def test_no_bytes_confuse_what_a_signature_is_for(data: bytes) -> None:
    namespace, found = namespace_of(data), login_of(data)
    assert namespace is None or data.startswith(b"SSHSIG")
    assert found is None or namespace is None or not data.startswith(b"SSHSIG")
    assert login_of(login(SESSION, "me", USER) + data) is None or not data


def test_grants_are_united_by_phase_and_a_required_one_needs_an_agent() -> None:
    def entry(phase: object, optional: bool = False, **bounds: object) -> object:
        return capability("ssh-agent@1", {"phase": phase, **bounds}, optional=optional)  # type: ignore[dict-item]

    both = descriptor(
        entry(["install", "runtime"], unrestricted=False, sign=["git"]),  # type: ignore[arg-type]
        entry("runtime", unrestricted=False, sign=["git", "file"], authenticate=["a.test"]),  # type: ignore[arg-type]
    )
    grants, _ = plan_agent(both, True)
    assert grants == (
        AgentGrant(Phase.INSTALL, False, ("git",)),
        AgentGrant(Phase.RUNTIME, False, ("git", "file"), ("a.test",)),
    )
    assert plan_agent(descriptor(entry("runtime")), True)[0][0].free  # type: ignore[arg-type]
    with pytest.raises(SandboxError, match="requires your SSH agent"):
        plan_agent(both, False)
    grants, skipped = plan_agent(descriptor(entry("runtime", optional=True)), False)  # type: ignore[arg-type]
    assert grants == () and len(skipped) == 1
