"""The SSL context of the model worker's connections, loaded once for a process and all its forks: the certificates take
20 ms.

The model worker imports this file and must start fast, so it imports the standard library only; it finds the SDK's HTTP
library in memory.
"""

from __future__ import annotations

import os
from typing import Any

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The variables with the place of the user's own certificates."""

_loaded: dict[tuple[str | None, ...], Any] = {}
"""The contexts by the values of `VARIABLES`."""


def context() -> Any:
    """The context that the SDK would make: the certificates of `SSL_CERT_FILE`, else of `SSL_CERT_DIR`, else of the
    system. One for each pair of values of these variables, so a fork with other values loads its own. A process forked
    after the first call has the certificates of that time. Raises OSError or `ssl.SSLError` if the variables
    name no certificates."""
    named = tuple(os.environ.get(variable) for variable in VARIABLES)
    if named not in _loaded:
        import httpx2

        _loaded[named] = httpx2.create_ssl_context()
    return _loaded[named]


def no_tls() -> Any:
    """A context without certificates, for a client that never uses TLS."""
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
