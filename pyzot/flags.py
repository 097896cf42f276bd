"""The flags that are options of a runtime or a batch. Written by docs/generate.py from `wire.flags`; do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any, Literal, TypedDict

    Place = str | Path

    class RunOptions(TypedDict, total=False):
        """The flags of a run. Times are seconds."""

        output_schema: Place | Mapping[str, Any]
        """JSON Schema of the answer to each prompt: a file, or the schema itself."""
        provider: str
        """Use anthropic, ollama, litellm, openrouter … or one of models.json. Default: that of the settings."""
        model: str
        """Use the model with this id; an unknown id is passed on, its cost is then unknown."""
        api_key_file: Place
        """Read the key from this file, - is stdin; unlike --api-key it does not show in ps."""
        base_url: str
        """Use this server of the Messages API. Default: $ANTHROPIC_BASE_URL, else the provider's."""
        system_prompt: str
        """Use this system prompt, not $ZOT_HOME/SYSTEM.md or the built-in one."""
        append_system_prompt: str | Sequence[str]
        """Add this to the system prompt; repeatable."""
        reasoning: Literal["off", "minimum", "low", "medium", "high", "xhigh", "max"]
        """Let the model think this much; a level that it has not becomes the nearest. Default: its own."""
        cache_ttl: Literal["5m", "1h"]
        """Let the provider keep cached prompts for 5 minutes or 1 hour, which costs more to write."""
        record: Place
        """Write the exchanges with the model to a cassette."""
        replay: Place
        """Answer from a cassette; a request that differs is an error."""
        tools: str | Sequence[str]
        """Offer only these of the tools read,write,edit,bash. Default: all."""
        no_tools: bool
        """Offer no built-in tools; those of extensions stay."""
        ext: Place | Sequence[Place]
        """Start the extension in this folder; repeatable."""
        mcp_config: Place | Sequence[Place]
        """Start the MCP servers of this file too; it has the form of .mcp.json; repeatable."""
        no_ext: bool
        """Start only those named with --ext and --mcp-config."""
        host: str
        """Use the shared extensions of a running zot host: its pid, or its folder (. is this one)."""
        host_version: bool
        """With --host: use the host's version of an extension whose files differ here."""
        ext_wait: float
        """Let the first request wait for extensions that are still starting, at most DURATION. Default: as long as
        the model takes to get ready, at least 1s and at most 3s; for MCP servers up to 5s, for Copilot extensions up
        to 10s."""
        trust_project: bool
        """Start the project's extensions and MCP servers in this run although they are not trusted."""
        copilot: bool
        """Offer the model tools to write and reload Copilot extensions; none runs before you trust it."""
        watch: bool
        """Reload an extension when its files change."""
        strict_guards: bool
        """Deny if a guard gives no verdict (crash, timeout)."""
        allow_asked: bool
        """Allow if a guard wants a person to decide. Default: refuse, since no person is asked."""
        profile_on_stall: bool
        """Profile each extension that hangs for two seconds before it is ended."""
        stream_before_guards: bool
        """Print text before guards of messages have seen it, as zot does."""
        with_skills: bool
        """Offer the user's and the project's skills too."""
        no_skill: bool
        """Offer no skills."""
        no_context_files: bool
        """Leave AGENTS.md and CLAUDE.md out of the system prompt."""
        continue_: bool
        """Go on with the newest session of this folder."""
        resume: str
        """The id of a session, or its first digits."""
        session: Place
        """Go on with the session in this file."""
        fork: bool
        """With -c, -r or --session: resume a copy of it."""
        save_session: bool
        """With --rpc: keep the transcript."""
        auto_compact: bool
        """Compact a conversation that has filled 85 % of the context window. Default: on, but not with --replay."""
        no_auto_compact: bool
        """Never compact by itself."""
        cwd: Place
        """Default: the working directory of this process when the runtime starts."""
        max_steps: int
        """Allow at most N turns. Default: no limit."""
        max_cost_usd: float
        """US dollars of all prompts together; `max_tokens` counts in the same way."""
        max_tokens: int
        """Make no more requests after N tokens, input plus output. Default: no limit."""
        timeout: float
        """Seconds for each prompt."""
        drain_timeout: float
        """Default here: 0. When this process ends, so does its engine."""
        stats: Place
        """Write the use of each extension, and a timeline, for zot report."""
        no_trace: bool
        """Keep no trace of the run, see zot runs."""
        metrics: Place
        """Keep a file of metrics up to date, for node_exporter's textfile collector."""
        openmetrics: bool
        """Write --metrics as OpenMetrics text."""
        otel: bool
        """Send traces and metrics by OpenTelemetry, to where the OTEL_* variables say."""
        otel_content: bool
        """With --otel: send prompts, answers, and arguments and results of tools, too."""

    class BatchFlags(TypedDict, total=False):
        """The flags of `zot batch`. Times are seconds."""

        repeat: int
        """Run each task N times, as ID#1 to ID#N; ZOT_SEED differs in each."""
        redo: str | Sequence[str]
        """Tasks of an earlier batch in this folder to run again: `failed`, `changed`, `all`, or ids."""
        provider: str
        """Use anthropic, ollama, litellm, openrouter … or one of models.json. Default: that of the settings."""
        model: str
        """Use the model with this id; an unknown id is passed on, its cost is then unknown."""
        api_key_file: Place
        """Read the key from this file, - is stdin; unlike --api-key it does not show in ps."""
        base_url: str
        """Use this server of the Messages API. Default: $ANTHROPIC_BASE_URL, else the provider's."""
        system_prompt: str
        """Use this system prompt, not $ZOT_HOME/SYSTEM.md or the built-in one."""
        append_system_prompt: str | Sequence[str]
        """Add this to the system prompt; repeatable."""
        reasoning: Literal["off", "minimum", "low", "medium", "high", "xhigh", "max"]
        """Let the model think this much; a level that it has not becomes the nearest. Default: its own."""
        cache_ttl: Literal["5m", "1h"]
        """Let the provider keep cached prompts for 5 minutes or 1 hour, which costs more to write."""
        replay: Place
        """Answer from a cassette; a request that differs is an error."""
        tools: str | Sequence[str]
        """Offer only these of the tools read,write,edit,bash. Default: all."""
        no_tools: bool
        """Offer no built-in tools; those of extensions stay."""
        ext: Place | Sequence[Place]
        """Start the extension in this folder; repeatable."""
        mcp_config: Place | Sequence[Place]
        """Start the MCP servers of this file too; it has the form of .mcp.json; repeatable."""
        no_ext: bool
        """Start only those named with --ext and --mcp-config."""
        host: str
        """Use the shared extensions of a running zot host: its pid, or its folder (. is this one)."""
        host_version: bool
        """With --host: use the host's version of an extension whose files differ here."""
        ext_wait: float
        """Let the first request wait for extensions that are still starting, at most DURATION. Default: as long as
        the model takes to get ready, at least 1s and at most 3s; for MCP servers up to 5s, for Copilot extensions up
        to 10s."""
        trust_project: bool
        """Start the project's extensions and MCP servers in this run although they are not trusted."""
        copilot: bool
        """Offer the model tools to write and reload Copilot extensions; none runs before you trust it."""
        strict_guards: bool
        """Deny if a guard gives no verdict (crash, timeout)."""
        allow_asked: bool
        """Allow if a guard wants a person to decide. Default: refuse, since no person is asked."""
        profile_on_stall: bool
        """Profile each extension that hangs for two seconds before it is ended."""
        with_skills: bool
        """Offer the user's and the project's skills too."""
        no_skill: bool
        """Offer no skills."""
        no_context_files: bool
        """Leave AGENTS.md and CLAUDE.md out of the system prompt."""
        max_steps: int
        """Allow each run at most N turns. Default: no limit."""
        output_schema: Place | Mapping[str, Any]
        """JSON Schema of the answer to each prompt: a file, or the schema itself."""
        no_trace: bool
        """Keep no trace of the batch, see zot runs."""
        otel: bool
        """Send the traces of all runs by OpenTelemetry, to where the OTEL_* variables say."""
        otel_content: bool
        """With --otel: send prompts, answers, and arguments and results of tools, too."""
        task_timeout: float
        """End a run after DURATION: 90, 5m, 1h30m. Its waits for a rate limit do not count."""
        task_max_cost: float
        """Let a run make no more requests once it has cost USD dollars."""
        run_memory: int
        """End a run whose processes use more than this many bytes of their own memory."""
        jobs: int
        """Carry out N runs at the same time. Default: as many as cores and memory allow."""
        retries: int
        """Try a task up to N times more after a crash or an error that may pass."""
        workspace: Literal["shared", "copy", "worktree"]
        """shared: each task works in its folder. copy: it works in a copy, and its changes are kept as a diff.
        worktree: in a git worktree of HEAD, likewise."""
        in_: str
        """Put PREFIX before each command of a task, its check and score included; {workspace} is its folder."""
        score: str
        """Score each run with this command in its folder; a task's own score replaces it."""
        no_warm_cache: bool
        """Send all requests at once. Default: the first of a prefix goes alone, and fills the cache."""
        batch_api: bool
        """Send tasks of one turn through the Message Batches API, at half the price."""
        share: str | Sequence[str]
        """Let all runs share one process of the extension NAME, whatever its manifest says; repeatable."""
        engine: Literal["local", "ray"]
        """local: run the tasks on this machine. ray: on the nodes of a cluster (pip install pyzot[ray])."""
        address: str
        """With --engine ray: the cluster, as ray://HOST:10001 or HOST:6379. Default: RAY_ADDRESS, or the cluster of
        this machine."""
        upload: Place
        """With --engine ray: copy this folder to each node, without what .gitignore names; tasks in it run in the
        copies."""
        max_cost_usd: float
        """Stop starting tasks once the batch has cost USD dollars, earlier starts included."""
        reserve: Literal["none", "seen", "worst"]
        """How requests of unknown cost count towards `max_cost_usd`: `none`, `seen` (default) or `worst`."""
        max_tokens: int
        """Stop starting tasks after N tokens, cached ones and those of earlier starts included."""
        max_failures: int
        """Stop starting tasks after N failures. Default: no limit."""
        deadline: float
        """Stop starting tasks after DURATION: 2h, 90m. Default: no limit."""


TEXT, PLACE, SWITCH, SECONDS, COUNT, TEXTS, PLACES, CSV, DOLLARS, SCHEMA = range(10)
RUN = {
    "output_schema": SCHEMA,
    "provider": TEXT,
    "model": TEXT,
    "api_key_file": PLACE,
    "base_url": TEXT,
    "system_prompt": TEXT,
    "append_system_prompt": TEXTS,
    "reasoning": TEXT,
    "cache_ttl": TEXT,
    "record": PLACE,
    "replay": PLACE,
    "tools": CSV,
    "no_tools": SWITCH,
    "ext": PLACES,
    "mcp_config": PLACES,
    "no_ext": SWITCH,
    "host": TEXT,
    "host_version": SWITCH,
    "ext_wait": SECONDS,
    "trust_project": SWITCH,
    "copilot": SWITCH,
    "watch": SWITCH,
    "strict_guards": SWITCH,
    "allow_asked": SWITCH,
    "profile_on_stall": SWITCH,
    "stream_before_guards": SWITCH,
    "with_skills": SWITCH,
    "no_skill": SWITCH,
    "no_context_files": SWITCH,
    "continue_": SWITCH,
    "resume": TEXT,
    "session": PLACE,
    "fork": SWITCH,
    "save_session": SWITCH,
    "auto_compact": SWITCH,
    "no_auto_compact": SWITCH,
    "cwd": PLACE,
    "max_steps": COUNT,
    "max_cost_usd": DOLLARS,
    "max_tokens": COUNT,
    "timeout": SECONDS,
    "drain_timeout": SECONDS,
    "stats": PLACE,
    "no_trace": SWITCH,
    "metrics": PLACE,
    "openmetrics": SWITCH,
    "otel": SWITCH,
    "otel_content": SWITCH,
}
BATCH = {
    "repeat": COUNT,
    "redo": TEXTS,
    "provider": TEXT,
    "model": TEXT,
    "api_key_file": PLACE,
    "base_url": TEXT,
    "system_prompt": TEXT,
    "append_system_prompt": TEXTS,
    "reasoning": TEXT,
    "cache_ttl": TEXT,
    "replay": PLACE,
    "tools": CSV,
    "no_tools": SWITCH,
    "ext": PLACES,
    "mcp_config": PLACES,
    "no_ext": SWITCH,
    "host": TEXT,
    "host_version": SWITCH,
    "ext_wait": SECONDS,
    "trust_project": SWITCH,
    "copilot": SWITCH,
    "strict_guards": SWITCH,
    "allow_asked": SWITCH,
    "profile_on_stall": SWITCH,
    "with_skills": SWITCH,
    "no_skill": SWITCH,
    "no_context_files": SWITCH,
    "max_steps": COUNT,
    "output_schema": SCHEMA,
    "no_trace": SWITCH,
    "otel": SWITCH,
    "otel_content": SWITCH,
    "task_timeout": SECONDS,
    "task_max_cost": DOLLARS,
    "run_memory": COUNT,
    "jobs": COUNT,
    "retries": COUNT,
    "workspace": TEXT,
    "in_": TEXT,
    "score": TEXT,
    "no_warm_cache": SWITCH,
    "batch_api": SWITCH,
    "share": TEXTS,
    "engine": TEXT,
    "address": TEXT,
    "upload": PLACE,
    "max_cost_usd": DOLLARS,
    "reserve": TEXT,
    "max_tokens": COUNT,
    "max_failures": COUNT,
    "deadline": SECONDS,
}
"""How the value of each option is written."""
