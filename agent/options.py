"""The request for one run as the user gave it, and the options worked out from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor.cleanup.keeper import Keeper  # noqa: TC001  (msgspec reads the annotations)
from supervisor.discovery.admission import Consent
from supervisor.home.config import Config
from wire.manifest import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from agent.answers.schema import AnswerSchema
    from agent.model.request import Reasoning
    from agent.skills.skill import Skill


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A user's request for a run. Times are in seconds. None means the default, or for a limit that there is none."""

    provider: str | None = None
    model: str | None = None
    api_key: str | None = None
    api_key_file: str | None = None
    """A file with the key; `-` is stdin."""
    base_url: str | None = None
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    reasoning: Reasoning | None = None
    record: str | None = None
    replay: str | None = None
    tools: frozenset[str] = frozenset({"read", "write", "edit", "bash"})
    """The built-in tools that are on."""
    extensions: tuple[str, ...] = ()
    """The folders of extensions that the user named."""
    mcp_configs: tuple[str, ...] = ()
    """Files with MCP servers that the user named."""
    discover: bool = True
    """Whether the project's and the user's extensions and MCP servers are started."""
    extension_wait: float | None = None
    """The most seconds that the first request waits for extensions that are still starting. None: until the model is
    ready, at most `SETTLE_S`; `SETTLE_S` if the model is ready at once."""
    copilot: bool = False
    """Whether the agent is offered the tools that make and reload Copilot extensions."""
    trust_project: bool = False
    """Whether the project's extensions are started although they are not on record as trusted."""
    watch: bool = False
    """Whether extensions are reloaded when their files change."""
    strict_guards: bool = False
    allow_asked: bool = False
    """Whether what a guard wants a person to decide is allowed, since there is nobody to ask."""
    stream_before_guards: bool = False
    cwd: str | None = None
    max_steps: int | None = None
    max_cost_usd: float | None = None
    """US dollars of all requests to the model together. None: no limit."""
    max_tokens: int | None = None
    """Input and output tokens of all requests to the model together. None: no limit."""
    timeout: float | None = None
    output_schema: str | None = None
    """A file with the JSON Schema of the final text."""
    images: tuple[str, ...] = ()
    """Files that go with the prompt."""
    skills: bool = True
    """Whether the model is offered skills at all."""
    user_skills: bool = False
    """Whether these include the skills of the user and of the project."""
    context_files: bool = True
    """Whether AGENTS.md and CLAUDE.md go into the system prompt."""
    auto_compact: bool | None = None
    """Whether a long conversation is compacted before its next request. None: yes, but not with `replay`."""
    keep_session: bool = True
    """Whether the transcript is kept under `HOME/sessions`."""
    continue_last: bool = False
    """Whether the run goes on with the newest session of the working folder."""
    resume: str | None = None
    """The id of the session to go on with; "" asks on the terminal."""
    session: str | None = None
    """The file of the session to go on with."""
    fork: bool = False
    """Whether the run goes on with a copy of that session, which itself stays as it is."""
    stats: str | None = None
    metrics: str | None = None
    openmetrics: bool = False
    """Whether the metrics are OpenMetrics text, instead of Prometheus' text format."""
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
    limits: Limits = msgspec.field(default_factory=Limits)
    """The limits of an extension for values that its manifest leaves out."""
    config: Config = msgspec.field(default_factory=Config)
    """The user's configuration of extensions."""
    answer_schema: AnswerSchema | None = None
    """The JSON Schema in `output_schema`."""
    remarks: tuple[str, ...] = ()
    """Lines for the user about settings that have no effect, or a file that others may read."""
    consent: Consent = msgspec.field(default_factory=Consent)
    """The user's consent to start extensions of the project that are not on record as trusted."""
    stats_file: Path | None = None
    metrics_file: Path | None = None
    keeper: Keeper | None = None
    """With a run of a batch: the batch, which ends what the run may leave."""


LEAST_S = 1.0
"""Seconds that the first request waits for extensions that are still starting, however soon the model is ready. The
model's process used to take about so long by itself; a Node program or twenty extensions on two cores need it."""
SETTLE_S = 3.0
"""Seconds."""
