"""One booted machine: commands, terminals, files, ports."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.qemu.guest_session import GuestSession, Identity
from kitstudio.runtime.qemu.machine import Machine
from tests.runtime.machines import PATH, machine_spec, running, sh

pytestmark = [pytest.mark.vm, pytest.mark.asyncio(loop_scope="module")]
AGENT = Identity(1000, 1000, (1000, 2000))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def booted(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Machine, GuestSession]]:
    spec = await machine_spec(tmp_path_factory.mktemp("vm"))
    async with running(spec) as pair:
        yield pair


@pytest.fixture
def session(booted: tuple[Machine, GuestSession]) -> GuestSession:
    return booted[1]


async def test_stdout_stderr_and_status_are_kept_apart(session: GuestSession) -> None:
    result = await session.run(["sh", "-c", "echo out; echo err >&2; exit 7"], env=PATH)
    assert (result.status, result.stdout, result.stderr) == (7, b"out\n", b"err\n")


async def test_stdin_arrives_whole_and_ends(session: GuestSession) -> None:
    content = bytes(range(256)) * 20_000
    result = await session.run(["cat"], env=PATH, stdin=content, timeout=60)
    assert result.stdout == content


async def test_death_by_signal_is_status_128_plus_n(session: GuestSession) -> None:
    result = await session.run(["sh", "-c", "kill -KILL $$"], env=PATH)
    assert result.status == 128 + signal.SIGKILL


async def test_environment_is_exactly_what_was_given(session: GuestSession) -> None:
    result = await session.run(["/bin/env"], env={"A": "1 2\n3", "B": "ü"})
    assert result.stdout.decode() == "A=1 2\n3\nB=ü\n"


async def test_arguments_are_never_read_by_a_shell(session: GuestSession) -> None:
    hostile = ["", " ", "$(id)", "`id`", "a'b\"c", "\\", "-n", "*", "ü\n", "; poweroff"]
    result = await session.run(["/bin/busybox", "printf", "[%s]", *hostile])
    assert result.stdout.decode() == "".join(f"[{word}]" for word in hostile)


async def test_a_request_longer_than_an_ssh_command_arrives_whole(session: GuestSession) -> None:
    words = [f"{number:06d}" for number in range(40_000)]
    result = await session.run(["sh", "-c", 'echo $# "$39999"; echo "${40000}"', "sh", *words], env=PATH, timeout=60)
    assert result.stdout.decode().split()[0] == "40000"
    assert result.stdout.decode().split()[-1] == words[-1]


async def test_identity_groups_and_folder_are_as_given(session: GuestSession) -> None:
    script = "id -u; id -g; id -G; pwd; touch /etc/x 2>/dev/null || echo refused"
    out = await sh(session, script, identity=AGENT, cwd="/home/agent")
    assert out.split("\n")[:5] == ["1000", "1000", "1000 2000", "/home/agent", "refused"]


async def test_what_cannot_be_started_is_said(session: GuestSession) -> None:
    missing = await session.run(["no-such-program"], env=PATH)
    assert missing.status == 127 and b"no-such-program" in missing.stderr
    not_a_program = await session.run(["/etc/passwd"])
    assert not_a_program.status == 126
    no_folder = await session.run(["true"], env=PATH, cwd="/nowhere")
    assert no_folder.status == 126 and b"/nowhere" in no_folder.stderr


async def test_timeout_ends_the_whole_process_group(session: GuestSession) -> None:
    with pytest.raises(SandboxError, match="did not end within"):
        await session.run(["sh", "-c", "trap '' TERM; sleep 4242 & sleep 4242"], env=PATH, timeout=1)
    assert "4242" not in await sh(session, "ps")


async def test_a_background_child_does_not_keep_a_command_open(session: GuestSession) -> None:
    result = await session.run(["sh", "-c", "sleep 300 & echo started"], env=PATH, timeout=20)
    assert result.stdout == b"started\n"


async def test_output_has_a_limit(session: GuestSession) -> None:
    with pytest.raises(SandboxError, match="more than 100000 bytes"):
        await session.run(["yes"], env=PATH, output_limit=100_000, timeout=60)
    assert "yes" not in await sh(session, "ps -o comm")


async def test_a_command_does_not_show_its_environment_in_the_process_list(session: GuestSession) -> None:
    variables = {**PATH, "SECRET": "c2VjcmV0"}
    result = await session.run(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'"], env=variables)
    assert b"enter" in result.stdout
    assert b"run " not in result.stdout


async def test_terminal_has_its_size_before_the_first_byte_and_follows_resizes_row_98(session: GuestSession) -> None:
    script = "stty size; tty; read x; stty size; echo $TERM; exit 3"
    terminal = await session.open_pty(["sh", "-c", script], columns=101, rows=33, env=PATH, identity=AGENT)
    seen = b""
    while b"/dev/pts/" not in seen:
        seen += await terminal.read()
    assert seen.startswith(b"33 101\r\n")
    await terminal.resize(132, 43)
    await terminal.write(b"\n")
    while data := await terminal.read():
        seen += data
    assert b"43 132\r\n" in seen and b"xterm-256color\r\n" in seen
    assert await terminal.wait() == 3


async def test_a_terminal_passes_interrupts_and_job_control(session: GuestSession) -> None:
    terminal = await session.open_pty(["sh"], columns=80, rows=24, env=PATH, identity=AGENT)
    await terminal.write(b"echo rea''dy; sleep 4243\n")
    seen = b""
    while b"ready\r\n" not in seen:
        seen += await terminal.read()
    # An interrupt between the shell's fork and its child's start would be lost, as on any terminal.
    while "sleep 4243" not in await sh(session, "ps"):
        pass
    await terminal.write(b"\x03")
    await terminal.write(b"echo back again; exit 5\n")
    while data := await terminal.read():
        seen += data
    assert b"back again" in seen
    assert b"job control turned off" not in seen
    assert await terminal.wait() == 5


async def test_closing_a_terminal_ends_its_program(session: GuestSession) -> None:
    terminal = await session.open_pty(["sh", "-c", "echo up; sleep 4244"], columns=80, rows=24, env=PATH)
    while b"up" not in await terminal.read():
        pass
    await terminal.close()
    for _ in range(50):
        if "4244" not in await sh(session, "ps"):
            return
    pytest.fail("the program outlived its terminal")


@pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
async def test_files_arrive_byte_for_byte_row_77(session: GuestSession, size: int) -> None:
    content = (b"\0\r\n'\"$\xff" * (size // 6 + 1))[:size]
    await session.write_file("/home/agent/new/file", content, uid=1000, gid=1000, mode=0o640)
    assert await session.read_file("/home/agent/new/file", limit=4 << 20) == content
    assert (
        await sh(session, "stat -c '%a %u %g' /home/agent/new/file /home/agent/new") == "640 1000 1000\n755 1000 1000\n"
    )


async def test_reading_files_says_what_is_wrong(session: GuestSession) -> None:
    assert await session.read_file("/no/such") is None
    with pytest.raises(SandboxError, match="larger than 10"):
        await session.read_file("/bin/busybox", limit=10)
    with pytest.raises(SandboxError, match="not a plain file"):
        await session.read_file("/etc")


async def test_a_forwarded_port_reaches_a_handler_on_the_host(session: GuestSession) -> None:
    async def handler(reader, writer, host, port):  # type: ignore[no-untyped-def]
        line = await reader.readline()
        writer.write(b"you said " + line)
        writer.close()

    listener = await session.forward(4000, handler)
    try:
        out = await sh(session, "for i in $(seq 20); do echo $i | nc 127.0.0.1 4000 & done; wait")
    finally:
        listener.close()
        await listener.wait_closed()
    assert sorted(out.split("\n")) == sorted([f"you said {i}" for i in range(1, 21)] + [""])


async def test_a_stream_reaches_a_port_in_the_guest(session: GuestSession) -> None:
    server = asyncio.create_task(session.run(["sh", "-c", "echo hi | nc -l -p 4001"], env=PATH, timeout=20))
    for _ in range(100):
        if "0FA1" in await sh(session, "cat /proc/net/tcp"):
            break
    reader, writer = await session.connect_port(4001)
    assert await reader.readline() == b"hi\n"
    writer.close()
    await server


async def test_a_stream_to_a_closed_port_is_a_clear_error(session: GuestSession) -> None:
    with pytest.raises(SandboxError, match="port 4999"):
        await session.connect_port(4999)


async def test_programs_that_know_no_proxy_are_carried_by_name(session: GuestSession) -> None:
    asked: list[bytes] = []

    async def proxy(reader, writer, host, port):  # type: ignore[no-untyped-def]
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.split(b"\r\n")[0])
        if b"denied" in head:
            writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            writer.write(b"hello " + await reader.readline())
        writer.close()

    listener = await session.forward(3128, proxy)
    try:
        calls = ("Example.ORG 5432", "denied.test 443", "192.0.2.7 99")
        out = await sh(session, "".join(f"echo me | nc {call}; " for call in calls) + "true")
    finally:
        listener.close()
        await listener.wait_closed()
    assert asked == [
        b"CONNECT example.org:5432 HTTP/1.1",
        b"CONNECT denied.test:443 HTTP/1.1",
        b"CONNECT 192.0.2.7:99 HTTP/1.1",
    ]
    assert out == "hello me\nhello me\n"


async def test_names_resolve_to_synthetic_addresses_and_ipv6_to_nothing(session: GuestSession) -> None:
    out = await sh(session, "nslookup -type=a some.name.test; nslookup -type=aaaa some.name.test; true")
    assert "198.18." in out
    assert "2001:" not in out and "has AAAA" not in out
    refused = await session.run(["nc", "-w", "5", "2001:db8::1", "80"], env=PATH, timeout=20)
    assert refused.status != 0


async def test_without_a_proxy_nothing_answers(session: GuestSession) -> None:
    # Whether the relay's refusal reaches a client as a reset or an end depends on when it reads; an answer never comes.
    result = await session.run(["nc", "-w", "5", "192.0.2.1", "80"], env=PATH, stdin=b"GET /\r\n\r\n", timeout=20)
    assert result.stdout == b""


async def test_the_root_holds_nothing_of_ours(session: GuestSession) -> None:
    assert (await sh(session, "ls -A /")).split() == ["bin", "dev", "etc", "home", "proc", "run", "sys", "tmp"]
    assert await sh(session, "ls -A /run") == "kit\n"
    assert (await sh(session, "ls -ld /run/kit; ls -A /run/kit")).split(maxsplit=4)[0:3:2] == ["drwxr-xr-x", "root"]
    assert (await sh(session, "ls -A /run/kit")) == ""
    refused = await session.run(["touch", "/run/kit/x"], env=PATH, identity=AGENT)
    assert refused.status != 0
    refused = await session.run(["ls", "/proc/1/root/", "/proc/1/cwd/"], env=PATH, identity=AGENT)
    assert refused.status != 0


async def test_the_process_limit_leaves_room_for_the_channel(session: GuestSession) -> None:
    bomb = session.run(["sh", "-c", "f() { f | f & }; f; sleep 100"], env=PATH, identity=AGENT, timeout=5)
    with pytest.raises(SandboxError):
        await bomb
    assert (await session.run(["killall", "-9", "sh"], env=PATH, timeout=60)).status in (0, 1, 137)


async def test_terminals_open_while_others_are_being_hung_up(session: GuestSession) -> None:
    closing: list[asyncio.Task[None]] = []
    for number in range(12):
        terminal = await session.open_pty(["yes"], env=PATH, columns=80, rows=24)
        assert await terminal.read()
        closing.append(asyncio.create_task(terminal.close()))
        await asyncio.sleep(0.01 * (number % 4))
    await asyncio.gather(*closing)


async def test_a_lost_connection_is_followed_by_a_new_one(booted: tuple[Machine, GuestSession]) -> None:
    machine, session = booted
    flood = asyncio.create_task(session.run(["yes"], env=PATH, output_limit=1 << 40))
    await asyncio.wait({flood}, timeout=0.3)
    session.connection.abort()
    with pytest.raises(SandboxError):
        await flood
    again = GuestSession(await machine.connect(30))
    assert await sh(again, "echo again") == "again\n"


async def test_a_guest_that_takes_no_command_is_told() -> None:
    class Silent:
        async def create_session(self, *_arguments: object, **_named: object) -> None:
            await asyncio.Event().wait()

    session = GuestSession(Silent(), answer_within=0.01)  # type: ignore[arg-type]
    with pytest.raises(SandboxError, match="did not answer") as caught:
        await session.run(["true"])
    assert "Stop the sandbox" in caught.value.remedy
