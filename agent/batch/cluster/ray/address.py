"""The address of a Ray cluster, as `--address` and RAY_ADDRESS give it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

AUTO = "auto"
"""The cluster that runs on this machine."""
_HOST_PORT = re.compile(r"(?:ray://)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")


class AddressError(Exception):
    """The address has no form that Ray has; the text says which it may have."""


def cluster_address(given: str | None, env: Mapping[str, str]) -> str:
    """`auto`, HOST:PORT or ray://HOST:PORT. Without an address, or with `auto`, RAY_ADDRESS counts if it is set. Raises
    `AddressError`, also for `local`, with which Ray would start a cluster."""
    source, address = "--address", given or AUTO
    if address == AUTO and env.get("RAY_ADDRESS"):
        source, address = "RAY_ADDRESS", env["RAY_ADDRESS"]
    found = _HOST_PORT.fullmatch(address)
    if address != AUTO and (found is None or not 0 < int(found.group(1)) < 65536):
        raise AddressError(f"{source} {address!r}: use HOST:PORT, ray://HOST:PORT (mostly port 10001) or auto")
    return address
