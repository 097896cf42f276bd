"""The address of a Ray cluster: that of `--address`, or of RAY_ADDRESS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.batch.tasks.check_engine import AUTO, address_fault

if TYPE_CHECKING:
    from collections.abc import Mapping


class AddressError(Exception):
    """The address has no form that Ray has; the text says which it may have."""


def cluster_address(given: str | None, env: Mapping[str, str]) -> str:
    """`auto`, HOST:PORT or ray://HOST:PORT. Without an address, or with `auto`, RAY_ADDRESS counts if it is set. Raises
    `AddressError`, also for `local`, with which Ray would start a cluster."""
    source, address = "--address", given or AUTO
    if address == AUTO and env.get("RAY_ADDRESS"):
        source, address = "RAY_ADDRESS", env["RAY_ADDRESS"]
    if fault := address_fault(source, address):
        raise AddressError(fault)
    return address
