"""What an extension is told at the start of a rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire import frames

if TYPE_CHECKING:
    from supervisor.harness.matching import Places

HOST = "rehearsal"
"""Stands for the host's version and the provider."""
MODEL = "none"


def hello_ack(places: Places, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The whole frame; what is `given` counts more."""
    return {
        "type": "hello_ack",
        "protocol_version": frames.PROTOCOL_VERSION,
        "zot_version": HOST,
        "provider": HOST,
        "model": MODEL,
        "cwd": places.cwd,
        "extension_dir": places.extension_dir,
        "data_dir": places.data_dir,
        "features": list(frames.FEATURES),
        **(given or {}),
    }
