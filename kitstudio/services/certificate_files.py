"""Looking into a file of certificate authorities before it is trusted."""

from __future__ import annotations

import ssl
from pathlib import Path

from kitstudio.models.errors import KitStudioError
from kitstudio.registry.threads import Stop, in_thread

MAX_FILE = 8 * 1024 * 1024


class CertificateFileError(KitStudioError):
    """A file that holds no certificate authority that could be used."""


async def authorities_in(path: Path) -> int:
    """How many certificate authorities the PEM file holds; raises ``CertificateFileError`` where it holds none."""
    return await in_thread(_authorities_in, path)


def _authorities_in(stop: Stop, path: Path) -> int:
    where = str(path)
    try:
        if path.stat().st_size > MAX_FILE:
            raise CertificateFileError("This file is larger than 8 MiB.", where=where)
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CertificateFileError(
            f"The file cannot be read: {error.strerror}.", where=where, remedy="Name a PEM file that you may read."
        ) from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise CertificateFileError(
            "The file holds no certificate that can be read.",
            where=where,
            remedy="It must be PEM text (“-----BEGIN CERTIFICATE-----”).",
        ) from error
    found = context.cert_store_stats()["x509_ca"]
    if not found:
        raise CertificateFileError(
            "The certificates in the file are no certificate authorities.",
            where=where,
            remedy="Use the certificate of the authority that signed the registry's own.",
        )
    return found
