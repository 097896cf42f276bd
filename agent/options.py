"""What one run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.discovery.admission import Consent
from supervisor.home.config import Config
from wire.manifest import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.request import Reasoning


@dataclass(frozen=True)
class Options:
    """The choices of one run. Times in seconds."""

    cwd: str
    """Absolute."""
    home: Path
    model: str
    max_tokens: int
    system: str
    reasoning: Reasoning | None = None
    tools: frozenset[str] = frozenset({"read", "write", "edit", "bash"})
    """The built-in tools that are on."""
    max_steps: int | None = None
    """None is no limit."""
    extensions: tuple[str, ...] = ()
    """Folders named explicitly."""
    discover: bool = True
    """Whether the project's and the user's extensions are started."""
    extension_wait: float | None = None
    """How long the first request may wait for extensions that are still starting. None: as long as the model takes
    to get ready anyway, or `SETTLE_S` where it is ready at once."""
    session: bool = True
    timeout: float | None = None
    strict_guards: bool = False
    stream_before_guards: bool = False
    limits: Limits = field(default_factory=Limits)
    """For extensions whose manifests do not say."""
    config: Config = field(default_factory=Config)
    """What else the user's configuration says about extensions."""
    consent: Consent = field(default_factory=Consent)
    """To start extensions of the project that are not on record as trusted."""
    watch: bool = False
    """Whether extensions are reloaded when their files change."""
    stats_file: Path | None = None
    metrics_file: Path | None = None


SETTLE_S = 3.0
