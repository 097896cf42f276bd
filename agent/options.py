"""The request for one run as the user gave it, and the options worked out from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.run_flags import RunFlags
from supervisor.cleanup.keeper import Keeper  # noqa: TC001  (msgspec reads the annotations)
from supervisor.discovery.admission import Consent
from supervisor.home.config import Config
from wire.trace_context import TraceContext  # noqa: TC001  (msgspec reads the annotations)

if TYPE_CHECKING:
    from pathlib import Path

    from agent.answers.schema import AnswerSchema
    from agent.confinement import Confinement
    from agent.skills.skill import Skill
    from agent.trial.trial import Trial
    from supervisor.discovery.discover import Discovery


class RunRequest(RunFlags, frozen=True, kw_only=True):
    """A user's request for a run. Times are in seconds. None means the default, or for a limit that there is none."""

    tools: frozenset[str] = frozenset({"read", "write", "edit", "bash"})
    """The built-in tools that are on."""
    auto_compact: bool | None = None
    """Whether a long conversation is compacted before its next request. None: yes, but not with `replay`."""
    batch_trace: str | None = None
    """The trace of the batch of which this is a run."""
    batch_alerts: str | None = None
    """The pipe for the events of a run of a batch."""
    is_host_of_batch: bool = False
    """Whether `host` is the one that a batch has started for its runs."""
    trusted_content: tuple[str, ...] = ()
    """As in `Consent.content`: on a node of a batch, what runs at its driver. No flag, task or file sets it."""
    keep_session: bool = True
    """Whether the transcript is kept under `HOME/sessions`."""
    home: Path | None = None

    def __repr__(self) -> str:
        """All fields but the key, which must not be seen in a log or a traceback."""
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name != "api_key")
        return f"{type(self).__name__}({', '.join(shown)})"


class Options(RunRequest, frozen=True, kw_only=True):
    """A checked request, and the values worked out from it."""

    cwd: str
    """The absolute path of the working folder."""
    home: Path
    model: str
    reply_tokens: int
    """The most tokens of one reply."""
    system: str
    system_end: str = ""
    """The block of the system prompt that changes from day to day and from folder to folder."""
    compact_at: int = 85
    """With `auto_compact`: the percent of the model's window at which the conversation is compacted. 0: only after a
    request that was too long."""
    offered_skills: tuple[Skill, ...] = ()
    """The skills that the model may load. Without any there is no tool `skill`."""
    config: Config = msgspec.field(default_factory=Config)
    """The user's configuration of extensions."""
    answer_schema: AnswerSchema | None = None
    """The JSON Schema in `output_schema`."""
    remarks: tuple[str, ...] = ()
    """Lines for the user about settings that have no effect, or a file that others may read."""
    discovery: Discovery | None = None
    """The extensions of the run. None: they are looked for when it starts."""
    consent: Consent = msgspec.field(default_factory=Consent)
    """The user's consent to start extensions of the project that are not on record as trusted."""
    stats_file: Path | None = None
    metrics_file: Path | None = None
    keeper: Keeper | None = None
    """With a run of a batch: the batch, which ends what the run may leave."""
    trace_context: TraceContext | None = None
    """In a run of a batch with `otel`: the span of its task. The spans of the run go to the batch."""
    trial: Trial | None = None
    """The trial of `zot ext bisect` that this run is; None for all other runs."""
    confinement: Confinement | None = None
    """With a run of a batch with `--in`."""


LEAST_S = 1.0
"""Seconds that the first request waits for extensions that are still starting, however soon the model is ready. The
model's process used to take about so long by itself; a Node program or twenty extensions on two cores need it."""
SETTLE_S = 3.0
"""Seconds."""
