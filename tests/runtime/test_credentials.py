"""credential@1 in a real machine: what the sandbox sees, what leaves it, and when. The server is the host's own."""

from pathlib import Path

import pytest

from kitstudio.models.descriptor import Capability, JsonValue
from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.presence import AUTHORITY_FILE
from tests.runtime.bench import Bench, bench, vm
from tests.runtime.busybox_kits import Entry
from tests.runtime.runtime_sets import capability

pytestmark = vm

SECRET = "s3cret-value-of-acme"
HOST = "host.docker.internal"


def network(b: Bench, phases: tuple[str, ...] = ("install", "runtime")) -> Capability:
    return capability("network-policy@2", {phase: {"allow": [f"{HOST}:{b.port}"]} for phase in phases})


def credential(
    b: Bench,
    phase: JsonValue,
    *,
    service: str = "acme-x",
    name: str = "ACME_KEY",
    optional: bool = False,
    **key: JsonValue,
) -> Capability:
    rule: dict[str, JsonValue] = {"domain": f"{HOST}:{b.port}", "header": "X-Key", "format": "key %s"}
    api: dict[str, JsonValue] = {"proxyManaged": True, "inject": [rule]} | ({"name": name} if name else {}) | key
    return capability("credential@1", {"service": service, "phase": phase, "apiKey": api}, optional=optional)


def fetch(b: Bench, path: str, header: str = "") -> str:
    extra = f"--header '{header}' " if header else ""
    return f"wget -q -O - {extra}http://{HOST}:{b.port}/{path} 2>&1"


async def test_the_secret_goes_out_and_never_comes_in_row_62_row_65_row_67_row_73(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.secrets["acme-x"] = SECRET
        b.kits(
            network(b),
            credential(b, ["install", "runtime"]),
            capability(
                "lifecycle@1",
                {"install": [{"command": "env > /var/hook-env; " + fetch(b, "hook"), "env": ["ACME_KEY"]}]},
            ),
            files={"etc/ssl/cert.pem": Entry(b"# certificates of the image\n")},
        )
        await b.create()
        assert b.headers.count(f"X-Key: key {SECRET}") == 1
        sentinel = (await b.sh("echo $ACME_KEY")).strip()
        assert sentinel.startswith("kit-studio-acme-x-") and sentinel in await b.sh("cat /var/hook-env")

        # Whatever the guest puts in that header, what leaves is the secret, once; the sentinel stays.
        b.headers.clear()
        assert await b.sh(fetch(b, "x", "x-key: $ACME_KEY")) == "hello"
        assert [line for line in b.headers if line.lower().startswith("x-key")] == [f"X-Key: key {SECRET}"]
        assert sentinel not in "".join(b.headers)

        # Variables, files, other processes: nowhere.
        look = "cat /proc/*/environ /proc/*/cmdline 2>/dev/null; env; find / -xdev -type f -size -4096k | xargs cat"
        found = await b.backend.execute("box", ["sh", "-c", look], user="root", timeout=120)
        assert SECRET.encode() not in found.stdout and sentinel.encode() in found.stdout
        assert SECRET not in "".join(p.read_text(errors="replace") for p in (tmp_path / "sandboxes").rglob("*.json*"))

        # Trust in the sandbox's own authority stands beside what the image trusts.
        bundle = await b.sh("cat $SSL_CERT_FILE")
        assert bundle.startswith("# certificates of the image\n") and "BEGIN CERTIFICATE" in bundle
        assert await b.sh("echo $NODE_EXTRA_CA_CERTS") == f"{AUTHORITY_FILE}\n"
        assert (await b.sh("cat $NODE_EXTRA_CA_CERTS")).startswith("-----BEGIN CERTIFICATE-----")


async def test_a_secret_changed_on_the_host_is_used_by_the_next_request_row_64(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.secrets["acme-x"] = SECRET
        b.kits(network(b), credential(b, "runtime", name=""))
        await b.create()
        assert "ACME" not in await b.sh("env") and "kit-studio-acme" not in await b.sh("env")
        assert await b.sh(fetch(b, "1")) == "hello"
        b.secrets["acme-x"] = "another-secret"
        assert await b.backend.rebind("acme-x") == ("box",)
        assert await b.sh(fetch(b, "2")) == "hello"
        assert [line for line in b.headers if "X-Key" in line] == [f"X-Key: key {SECRET}", "X-Key: key another-secret"]
        del b.secrets["acme-x"]
        await b.backend.rebind("acme-x")
        assert "403" in await b.sh(fetch(b, "3"))
        assert "no secret is bound to acme-x any more" in (await b.backend.decisions("box"))[-1].reason


async def test_a_credential_of_one_phase_is_not_there_in_the_other(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.secrets |= {"one": "secret-of-one", "two": "secret-of-two"}
        hook = {"command": "echo $ONE,$TWO > /var/seen; " + fetch(b, "hook"), "env": ["ONE", "TWO"]}
        b.kits(
            network(b),
            credential(b, "install", service="one", name="ONE"),
            credential(b, "runtime", service="two", name="TWO", inject=[{"domain": HOST, "header": "X-Two"}]),
            capability("lifecycle@1", {"install": [hook]}),
        )
        await b.create()
        assert (await b.sh("cat /var/seen")).strip().startswith("kit-studio-one-")
        assert (await b.sh("cat /var/seen")).strip().endswith(",")
        assert "X-Key: key secret-of-one" in b.headers and "X-Two: secret-of-two" not in b.headers
        b.headers.clear()
        assert await b.sh("echo [$ONE]") == "[]\n"
        assert await b.sh(fetch(b, "x")) == "hello"
        assert "X-Two: secret-of-two" in b.headers and not any("secret-of-one" in line for line in b.headers)


async def test_a_required_service_without_a_secret_refuses_and_an_optional_one_is_left_out(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.kits(network(b), credential(b, "runtime"))
        with pytest.raises(SandboxError, match="acme-x cannot be signed in to: no secret is bound"):
            await b.create()
        b.kits(network(b), credential(b, "runtime", optional=True))
        status = await b.create()
        assert any("acme-x" in text and "without signing in" in text for text in status.skipped)
        assert await b.sh("echo [$ACME_KEY]") == "[]\n"
        assert await b.sh(fetch(b, "x")) == "hello" and not any("X-Key" in line for line in b.headers)


async def test_a_sandbox_whose_required_secret_is_gone_does_not_start_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.secrets["acme-x"] = SECRET
        b.kits(network(b), credential(b, "runtime"))
        await b.create()
        await b.backend.stop("box")
        del b.secrets["acme-x"]
        with pytest.raises(SandboxError, match="No secret is bound to the service acme-x any more"):
            await b.backend.start("box", b.steps.append)
        b.secrets["acme-x"] = "second"
        await b.backend.start("box", b.steps.append)
        assert await b.sh(fetch(b, "x")) == "hello" and "X-Key: key second" in b.headers
