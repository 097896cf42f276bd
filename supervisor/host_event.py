"""Something that a host tells its user."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.extension.notices import EventLevel


@dataclass(frozen=True)
class HostEvent:
    """Something that a host tells its user."""

    event: str
    """One word: serving, stopping, stopped, reloading, skipped, withheld, newer_source, config, watch, cleanup, stats,
    on_event, otel, service, shared, note, or the kind of a notice about an extension."""
    message: str
    """One line for a person."""
    level: EventLevel = "info"
    extension: str = ""
    """The extension that it is about; empty for the host itself."""
    fields: Mapping[str, object] = field(default_factory=dict)
