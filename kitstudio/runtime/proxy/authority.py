"""The certificate authority of one sandbox: only that sandbox trusts it, and only its proxy holds the key."""

from __future__ import annotations

import datetime
import os
import ssl
import tempfile
from collections import OrderedDict
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kitstudio.runtime.backend import SandboxError
from kitstudio.runtime.hosts import read_address

_YEARS = datetime.timedelta(days=3650)
_LEAF = datetime.timedelta(days=90)
# guests and hosts disagree about the time
_EARLIER = datetime.timedelta(days=2)
_CONTEXTS = 256


class Authority:
    """Issues a certificate for any host the proxy looks into, on demand."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self._certificate = certificate
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()

    @classmethod
    def create(cls, name: str) -> Authority:
        """A fresh one; ``name`` tells its sandbox."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Kit Studio sandbox {name}"[:64])])
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            _builder(subject, subject, key.public_key(), now - _EARLIER, now + _YEARS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate)

    @classmethod
    def load_or_create(cls, file: Path, name: str) -> Authority:
        """The one kept in ``file`` (mode 0600), made when missing."""
        try:
            text = file.read_bytes()
        except FileNotFoundError:
            made = cls.create(name)
            key = made._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            temporary = file.with_name(f".{file.name}.{os.getpid()}")
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
                stream.write(key + made.pem.encode())
            temporary.replace(file)
            return made
        try:
            loaded = load_pem_private_key(text, None)
            assert isinstance(loaded, ec.EllipticCurvePrivateKey)
            return cls(loaded, x509.load_pem_x509_certificate(text))
        except (ValueError, AssertionError) as error:
            raise SandboxError(
                "The sandbox's certificate authority cannot be read.", where=str(file), remedy="Recreate the sandbox."
            ) from error

    @property
    def pem(self) -> str:
        """The certificate the sandbox is to trust."""
        return self._certificate.public_bytes(Encoding.PEM).decode()

    def context(self, host: str) -> ssl.SSLContext:
        """A server's context for ``host`` (canonical), HTTP/1.1 only; another name in the greeting ends it."""
        if host in self._contexts:
            self._contexts.move_to_end(host)
            return self._contexts[host]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        key = self._leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        with tempfile.NamedTemporaryFile(prefix="kitstudio-") as file:  # the ssl module reads files only
            file.write(key + self._leaf(host).public_bytes(Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)

        def named(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
            if name is not None and name.lower().removesuffix(".") != host:
                return int(ssl.AlertDescription.ALERT_DESCRIPTION_UNRECOGNIZED_NAME)
            return None

        context.sni_callback = named
        self._contexts[host] = context
        if len(self._contexts) > _CONTEXTS:
            self._contexts.popitem(last=False)
        return context

    def _leaf(self, host: str) -> x509.Certificate:
        address = read_address(host)
        name: x509.GeneralName = x509.IPAddress(address) if address is not None else x509.DNSName(host)
        now = datetime.datetime.now(datetime.UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
        return (
            _builder(subject, self._certificate.subject, self._leaf_key.public_key(), now - _EARLIER, now + _LEAF)
            .add_extension(x509.SubjectAlternativeName([name]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    begins: datetime.datetime,
    ends: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
