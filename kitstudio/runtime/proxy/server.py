"""The only way out of a sandbox: an HTTP/1.1 proxy on the host, spoken to over streams the guest cannot bypass.

``CONNECT host:port`` tunnels bytes; absolute-form requests are re-framed one by one, and so is what goes through a
tunnel that the policy or a credential makes us look into. Every request is judged by name, port and phase (and there
by method and path) before anything is resolved; every judgement is recorded with the line that decided.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

import h11

from kitstudio.runtime.backend import Decision
from kitstudio.runtime.policy import EgressPolicy, Phase, Ruling
from kitstudio.runtime.proxy.authority import Authority
from kitstudio.runtime.proxy.client import ByteReader, ByteWriter, Client, Limits
from kitstudio.runtime.proxy.dial import CHUNK, Connector, Forbidden, Resolver, Unreachable, connect, dial, resolve
from kitstudio.runtime.proxy.exchange import carry, exchange, post_once
from kitstudio.runtime.proxy.kit_registry import HOST as REGISTRY
from kitstudio.runtime.proxy.kit_registry import PORT as REGISTRY_PORT
from kitstudio.runtime.proxy.kit_registry import KitRegistry
from kitstudio.runtime.proxy.log import DecisionLog
from kitstudio.runtime.proxy.names import WildcardNames
from kitstudio.runtime.proxy.oauth import MAX_BODY
from kitstudio.runtime.proxy.presenter import NoPresenter, Presenter, TokenEndpoint
from kitstudio.runtime.proxy.request import (
    Unacceptable,
    authority_of,
    destination,
    end_to_end,
    inner_target,
    path_only,
    wants_websocket,
)
from kitstudio.runtime.proxy.tls import Prefixed, TlsStream

__all__ = ["Limits", "Proxy"]

_HANDSHAKE = b"\x16"
"""How every TLS connection begins."""


class Proxy:
    """One sandbox's proxy. ``phase`` starts closed; ``switch`` changes it and cuts what is open.

    ``presenter`` puts credentials in place; ``authority`` issues the certificates shown to the guest where a connection
    is looked into; ``upstream`` verifies the real servers; ``names`` bounds what wildcards let it look up.
    ``kits``: the registry of local Kits, where it is granted; it is answered here.
    """

    def __init__(
        self,
        policy: EgressPolicy,
        log: DecisionLog,
        *,
        resolver: Resolver = resolve,
        connector: Connector = connect,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
        presenter: Presenter | None = None,
        authority: Authority | None = None,
        upstream: ssl.SSLContext | None = None,
        names: WildcardNames | None = None,
        kits: KitRegistry | None = None,
    ) -> None:
        self.phase = Phase.CLOSED
        self._policy = policy
        self._log = log
        self._resolver = resolver
        self._connector = connector
        self._limits = limits or Limits()
        self._clock = clock
        self._presenter: Presenter = presenter or NoPresenter()
        self._issuer = authority
        self._upstream = upstream
        self.kits = kits
        self._names = names or WildcardNames()
        self._open: set[asyncio.Task[None]] = set()

    @property
    def connections(self) -> int:
        """Streams being served now."""
        return len(self._open)

    async def switch(self, phase: Phase) -> None:
        """Enter a phase: every open stream was granted under the old one, so it ends."""
        self.phase = phase
        open_now = [task for task in self._open if task is not asyncio.current_task()]
        for task in open_now:
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)

    async def serve(self, reader: ByteReader, writer: ByteWriter) -> None:
        """Serve one stream from the guest until it ends."""
        task = asyncio.ensure_future(self._guarded(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        try:
            # Shielded so that a switch, which cancels the inner task, does not look like our caller's cancellation.
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                task.cancel()
                raise
        finally:
            writer.close()

    async def _guarded(self, reader: ByteReader, writer: ByteWriter) -> None:
        client = Client(reader, writer, self._limits)
        try:
            if len(self._open) > self._limits.connections:
                await client.refuse(503, "Too many connections from this sandbox.")
                return
            while await self._one(client):
                pass
        except h11.RemoteProtocolError as error:
            await client.refuse(error.error_status_hint, f"Not an acceptable request: {error}.")
        except TimeoutError:
            await client.refuse(408, "Too slow.")
        except (OSError, EOFError, h11.LocalProtocolError):
            return

    async def _one(self, client: Client) -> bool:
        """One request; True when another may follow on the same stream."""
        async with asyncio.timeout(self._limits.head_seconds):
            request = await client.head()
        if request is None:
            return False
        try:
            host, port, target = destination(request)
        except Unacceptable as bad:
            return await self._reject(client, request, bad)
        if self.phase is not Phase.CLOSED and self.kits is not None and self.kits.answers(host, port):
            return await self._serve_kits(client, request, target, self.kits)
        if request.method == b"CONNECT":
            ruling = self._policy.decide(self.phase, host, port)
            inside = ruling.allowed and (ruling.inspect or self._presenter.covers(self.phase, ruling.host, port))
            if inside or self._presenter.endpoint(self.phase, ruling.host, port):
                await self._look_inside(client, request, ruling)
                return False
        else:
            method = request.method.decode("ascii")
            ruling = self._policy.decide_request(self.phase, host, port, method, target.decode("ascii"))
        upstream = await self._reach(client, request, ruling)
        if upstream is None:
            return False
        try:
            if request.method == b"CONNECT":
                early = await client.accept_tunnel()
                await carry(client, upstream, self._limits, to_server=early)
                return False
            return await self._forward(client, request, target, ruling, upstream, secure=False)
        finally:
            upstream[1].close()

    async def _serve_kits(self, client: Client, request: h11.Request, target: bytes, kits: KitRegistry) -> bool:
        """Answer for the registry of local Kits: nothing is dialled, and no entry of the policy is needed."""
        if request.method != b"CONNECT":
            return await self._serve_kit(client, request, target, kits)
        early = await client.accept_tunnel()
        inner = Client(Prefixed(early, client.reader), client.writer, self._limits)
        while True:
            async with asyncio.timeout(self._limits.idle_seconds if inner.begun else self._limits.head_seconds):
                asked = await inner.head()
            if asked is None:
                return False
            try:
                path = inner_target(asked, REGISTRY, REGISTRY_PORT, secure=False)
            except Unacceptable as bad:
                return await self._reject(inner, asked, bad)
            if not await self._serve_kit(inner, asked, path, kits):
                return False

    async def _serve_kit(self, client: Client, request: h11.Request, target: bytes, kits: KitRegistry) -> bool:
        method = request.method.decode("ascii")
        reply = await kits.reply(method, target.decode("ascii"))
        refused = reply.status == 405
        reason = reply.reason or "answered by the registry of local Kits"
        self._record(Ruling(not refused, self.phase, REGISTRY, REGISTRY_PORT, reason=reason), request)
        async with aclosing(reply.pieces()) as pieces:
            await client.stream(reply.status, reply.headers, pieces, head=method == "HEAD")
        if refused:
            return False
        await client.whole_body(MAX_BODY)
        return client.again()

    async def _look_inside(self, client: Client, connect: h11.Request, ruling: Ruling) -> None:
        """Serve the requests within a tunnel one by one; what is not HTTP is refused (network-policy@2, duty 4)."""
        first = await client.accept_tunnel()
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                first = first or await client.reader.read(CHUNK)
        except TimeoutError:
            first = b""
        reader: ByteReader = Prefixed(first, client.reader)
        writer: ByteWriter = client.writer
        secure = first[:1] == _HANDSHAKE
        why = "" if secure or first[:1].isalpha() else "nothing that can be looked into was sent"
        if secure:
            reader = writer = stream = TlsStream(reader, writer, self._authority().context(ruling.host))
            try:
                async with asyncio.timeout(self._limits.head_seconds):
                    await stream.handshake()
            except (ssl.SSLError, TimeoutError, OSError) as error:
                reason = getattr(error, "reason", "") or type(error).__name__
                why = f"its encryption cannot be looked into ({reason})"
        if why:
            self._record(
                replace(ruling, allowed=False, reason=f"{ruling.host} is open to HTTP only, and {why}"), connect
            )
            return
        inner = Client(reader, writer, self._limits)
        try:
            while await self._inner(inner, ruling.host, ruling.port, secure=secure):
                pass
        except h11.RemoteProtocolError as error:
            self._record(replace(ruling, allowed=False, reason=f"not an acceptable request: {error}"), connect)
            await inner.refuse(error.error_status_hint, f"Not an acceptable request: {error}.")
        except TimeoutError:
            await inner.refuse(408, "Too slow.")

    async def _inner(self, client: Client, host: str, port: int, *, secure: bool) -> bool:
        """One request inside a tunnel to ``host``; True when another may follow."""
        async with asyncio.timeout(self._limits.idle_seconds if client.begun else self._limits.head_seconds):
            request = await client.head()
        if request is None:
            return False
        try:
            target = inner_target(request, host, port, secure=secure)
        except Unacceptable as bad:
            return await self._reject(client, request, bad)
        method = request.method.decode("ascii")
        endpoint = self._presenter.endpoint(self.phase, host, port, target.decode("ascii"))
        if endpoint is not None and secure:
            return await self._renew(client, request, endpoint, Ruling(True, self.phase, host, port), target)
        ruling = self._policy.decide_request(self.phase, host, port, method, target.decode("ascii"))
        upstream = await self._reach(client, request, ruling, secure=secure)
        if upstream is None:
            return False
        try:
            return await self._forward(client, request, target, ruling, upstream, secure=secure)
        finally:
            upstream[1].close()

    async def _renew(
        self, client: Client, request: h11.Request, endpoint: TokenEndpoint, ruling: Ruling, target: bytes
    ) -> bool:
        """Answer for a token endpoint; what must be asked of the real one is asked from here."""
        body = await client.whole_body(MAX_BODY)
        given = next((value for name, value in request.headers if name == b"content-type"), b"")

        async def post(content_type: str, sent: bytes) -> tuple[int, bytes]:
            async with asyncio.timeout(self._limits.connect_seconds):
                reader, writer = await dial(self._policy, ruling, self._resolver, self._connector)
                try:
                    await writer.start_tls(self._trust(), server_hostname=ruling.host)
                    return await post_once(reader, writer, ruling.host, target, content_type, sent)
                finally:
                    writer.close()

        try:
            status, answer = await endpoint.reply(request.method.decode("ascii"), given.decode("latin-1"), body, post)
        except (Forbidden, Unreachable, TimeoutError, OSError, EOFError, h11.RemoteProtocolError) as error:
            why = f"the token endpoint does not answer: {error or 'no answer in time'}"
            self._record(ruling, request, why)
            await client.refuse(502, f"Unreachable: {why}.")
            return False
        self._record(ruling, request, "answered by the host with stand-ins")
        await client.reply(status, answer)
        return client.again()

    async def _reach(
        self, client: Client, request: h11.Request, ruling: Ruling, *, secure: bool = False
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Record the ruling and connect; None where it was refused or nobody answers, the client told."""
        ruling = self._names.admit(ruling)
        if not ruling.allowed:
            self._record(ruling, request)
            await client.refuse(403, _refusal(ruling))
            return None
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                reader, writer = await dial(self._policy, ruling, self._resolver, self._connector)
                if secure:
                    await writer.start_tls(self._trust(), server_hostname=ruling.host)
        except Forbidden as forbidden:
            refused = replace(ruling, allowed=False, reason=str(forbidden))
            self._record(refused, request)
            await client.refuse(403, _refusal(refused))
            return None
        except (Unreachable, TimeoutError, OSError) as error:
            if writer is not None:
                writer.close()
            why = str(error) or "no answer in time"
            if isinstance(error, ssl.SSLCertVerificationError):
                why = f"its certificate is not trusted: {error.verify_message}"
            self._record(ruling, request, why)
            await client.refuse(502, f"Allowed, but unreachable: {why}.")
            return None
        self._record(ruling, request)
        return reader, writer

    async def _forward(
        self,
        client: Client,
        request: h11.Request,
        target: bytes,
        ruling: Ruling,
        upstream: tuple[ByteReader, ByteWriter],
        *,
        secure: bool,
    ) -> bool:
        headers = end_to_end(request.headers)
        if not any(name.lower() == b"host" for name, _ in headers):
            headers.append((b"Host", authority_of(request.target.decode("ascii")).encode()))
        try:
            headers = self._presenter.present(self.phase, ruling.host, ruling.port, headers, secure=secure)
        except Unacceptable as bad:
            refused = replace(ruling, allowed=False, reason=bad.reason)
            self._record(refused, request)
            await client.refuse(403, _refusal(refused))
            return False
        return await exchange(
            client, request, target, headers, upstream, self._limits, upgrade=wants_websocket(request)
        )

    async def _reject(self, client: Client, request: h11.Request, bad: Unacceptable) -> bool:
        """What cannot be read in one way only is no request."""
        self._record(Ruling(False, self.phase, bad.host, 0, reason=bad.reason), request)
        await client.refuse(400, f"Refused: {bad.reason}.")
        return False

    def _authority(self) -> Authority:
        if self._issuer is None:
            self._issuer = Authority.create("")
        return self._issuer

    def _trust(self) -> ssl.SSLContext:
        """How the real servers are verified: by what this computer trusts."""
        if self._upstream is None:
            self._upstream = ssl.create_default_context()
            self._upstream.set_alpn_protocols(["http/1.1"])
        return self._upstream

    def _record(self, ruling: Ruling, request: h11.Request, reason: str = "") -> None:
        rule = ruling.rule
        inspected = request.method != b"CONNECT"
        self._log.add(
            Decision(
                time=self._clock(),
                phase=ruling.phase.value,
                host=ruling.host[:253],
                port=ruling.port,
                verdict="allowed" if ruling.allowed else "refused",
                kit=rule.kit if rule else "",
                path=rule.path if rule else "",
                line=rule.line if rule else 0,
                method=request.method.decode("ascii")[:32] if inspected else None,
                url_path=path_only(request.target) if inspected else None,
                reason=reason or ruling.reason,
            )
        )


def _refusal(ruling: Ruling) -> str:
    if ruling.rule is None:
        return f"Refused: {ruling.reason}."
    rule = ruling.rule
    line = f", line {rule.line}" if rule.line else ""
    return f"Refused: {ruling.reason} ({rule.kit or 'the set'}, {rule.path}{line})."
