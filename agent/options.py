"""What one run is asked to do: the request as it was given, and the options worked out from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.discovery.admission import Consent
from supervisor.home.config import Config
from wire.manifest import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from agent.model.request import Reasoning


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What a user asked for. Times in seconds; None where a default is wanted, for a limit none."""

    provider: str | None = None
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    reasoning: Reasoning | None = None
    record: str | None = None
    replay: str | None = None
    tools: frozenset[str] = frozenset({"read", "write", "edit", "bash"})
    """The built-in tools that are on."""
    extensions: tuple[str, ...] = ()
    """Folders named explicitly."""
    discover: bool = True
    """Whether the project's and the user's extensions are started."""
    extension_wait: float | None = None
    """How long the first request may wait for extensions that are still starting. None: as long as the model takes
    to get ready anyway, or `SETTLE_S` where it is ready at once."""
    trust_project: bool = False
    """Whether the project's extensions are started although they are not on record as trusted."""
    watch: bool = False
    """Whether extensions are reloaded when their files change."""
    strict_guards: bool = False
    stream_before_guards: bool = False
    cwd: str | None = None
    max_steps: int | None = None
    timeout: float | None = None
    session: bool = True
    stats: str | None = None
    metrics: str | None = None
    home: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Options(RunRequest):
    """A request that has been checked, with what was worked out from it."""

    cwd: str
    """Absolute."""
    home: Path
    model: str
    max_tokens: int
    system: str
    limits: Limits = field(default_factory=Limits)
    """For extensions whose manifests do not say."""
    config: Config = field(default_factory=Config)
    """What else the user's configuration says about extensions."""
    consent: Consent = field(default_factory=Consent)
    """To start extensions of the project that are not on record as trusted."""
    stats_file: Path | None = None
    metrics_file: Path | None = None


SETTLE_S = 3.0
