"""The fields of a run's request that are flags. Written by docs/generate.py from `wire.flags`; do not edit."""

from __future__ import annotations

from typing import Literal

import msgspec


class RunFlags(msgspec.Struct, frozen=True, kw_only=True):
    """The values of flags, each described as in the help."""

    output_schema: str | None = None
    """Require a final answer that is JSON and fits this JSON Schema: a file, or {…} itself."""
    provider: str | None = None
    """Use anthropic, ollama, litellm, openrouter … or one of models.json. Default: that of the settings."""
    model: str | None = None
    """Use the model with this id; an unknown id is passed on, its cost is then unknown."""
    api_key: str | None = None
    """Use this key. Default: the provider's variable, such as $ANTHROPIC_API_KEY, else zot login's."""
    api_key_file: str | None = None
    """Read the key from this file, - is stdin; unlike --api-key it does not show in ps."""
    base_url: str | None = None
    """Use this server of the Messages API. Default: $ANTHROPIC_BASE_URL, else the provider's."""
    system_prompt: str | None = None
    """Use this system prompt, not $ZOT_HOME/SYSTEM.md or the built-in one."""
    append_system_prompt: tuple[str, ...] = ()
    """Add this to the system prompt; repeatable."""
    reasoning: Literal["off", "minimum", "low", "medium", "high", "xhigh", "max"] | None = None
    """Let the model think this much; a level that it has not becomes the nearest. Default: its own."""
    cache_ttl: Literal["5m", "1h"] | None = None
    """Let the provider keep cached prompts for 5 minutes or 1 hour, which costs more to write."""
    record: str | None = None
    """Write the exchanges with the model to a cassette."""
    replay: str | None = None
    """Answer from a cassette; a request that differs is an error."""
    extensions: tuple[str, ...] = ()
    """Start the extension in this folder; repeatable."""
    mcp_configs: tuple[str, ...] = ()
    """Start the MCP servers of this file too; it has the form of .mcp.json; repeatable."""
    discover: bool = True
    """False with `--no-ext`: Start only those named with --ext and --mcp-config."""
    host: str | None = None
    """Use the shared extensions of a running zot host: its pid, or its folder (. is this one)."""
    host_version: bool = False
    """With --host: use the host's version of an extension whose files differ here."""
    extension_wait: float | None = None
    """Let the first request wait for extensions that are still starting, at most DURATION. Default: as long as the
    model takes to get ready, at least 1s and at most 3s; for MCP servers up to 5s, for Copilot extensions up to 10s."""
    trust_project: bool = False
    """Start the project's extensions and MCP servers in this run although they are not trusted."""
    copilot: bool = False
    """Offer the model tools to write and reload Copilot extensions; none runs before you trust it."""
    watch: bool = False
    """Reload an extension when its files change."""
    strict_guards: bool = False
    """Deny if a guard gives no verdict (crash, timeout)."""
    allow_asked: bool = False
    """Allow if a guard wants a person to decide. Default: refuse, since no person is asked."""
    profile_on_stall: bool = False
    """Profile each extension that hangs for two seconds before it is ended."""
    stream_before_guards: bool = False
    """Print text before guards of messages have seen it, as zot does."""
    user_skills: bool = False
    """Offer the user's and the project's skills too."""
    skills: bool = True
    """False with `--no-skill`: Offer no skills."""
    context_files: bool = True
    """False with `--no-context-files`: Leave AGENTS.md and CLAUDE.md out of the system prompt."""
    continue_last: bool = False
    """Go on with the newest session of this folder."""
    resume: str | None = None
    """Go on with this session; without ID choose one."""
    session: str | None = None
    """Go on with the session in this file."""
    fork: bool = False
    """With -c, -r or --session: resume a copy of it."""
    images: tuple[str, ...] = ()
    """Send this image with the prompt; repeatable."""
    cwd: str | None = None
    """Use DIR as the project's folder. Default: the current one."""
    max_steps: int | None = None
    """Allow at most N turns. Default: no limit."""
    max_cost_usd: float | None = None
    """Make no more requests once the model has cost USD dollars. Default: no limit."""
    max_tokens: int | None = None
    """Make no more requests after N tokens, input plus output. Default: no limit."""
    timeout: float | None = None
    """End the run after DURATION: 90, 500ms, 5m, 1h30m. With --rpc: each prompt."""
    stats: str | None = None
    """Write the use of each extension, and a timeline, for zot report."""
    trace: bool = True
    """False with `--no-trace`: Keep no trace of the run, see zot runs."""
    metrics: str | None = None
    """Keep a file of metrics up to date, for node_exporter's textfile collector."""
    openmetrics: bool = False
    """Write --metrics as OpenMetrics text."""
    otel: bool = False
    """Send traces and metrics by OpenTelemetry, to where the OTEL_* variables say."""
    otel_content: bool = False
    """With --otel: send prompts, answers, and arguments and results of tools, too."""


FIELDS = {
    "output_schema": "output_schema",
    "provider": "provider",
    "model": "model",
    "api_key": "api_key",
    "api_key_file": "api_key_file",
    "base_url": "base_url",
    "system_prompt": "system_prompt",
    "append_system_prompt": "append_system_prompt",
    "reasoning": "reasoning",
    "cache_ttl": "cache_ttl",
    "record": "record",
    "replay": "replay",
    "ext": "extensions",
    "mcp_config": "mcp_configs",
    "no_ext": "discover",
    "host": "host",
    "host_version": "host_version",
    "ext_wait": "extension_wait",
    "trust_project": "trust_project",
    "copilot": "copilot",
    "watch": "watch",
    "strict_guards": "strict_guards",
    "allow_asked": "allow_asked",
    "profile_on_stall": "profile_on_stall",
    "stream_before_guards": "stream_before_guards",
    "with_skills": "user_skills",
    "no_skill": "skills",
    "no_context_files": "context_files",
    "continue_": "continue_last",
    "resume": "resume",
    "session": "session",
    "fork": "fork",
    "image": "images",
    "cwd": "cwd",
    "max_steps": "max_steps",
    "max_cost_usd": "max_cost_usd",
    "max_tokens": "max_tokens",
    "timeout": "timeout",
    "stats": "stats",
    "no_trace": "trace",
    "metrics": "metrics",
    "openmetrics": "openmetrics",
    "otel": "otel",
    "otel_content": "otel_content",
}
"""Parameter of the flag → field. A flag `--no-…` sets its field to false."""
