"""The command line of a batch: the options of `Batch` as the flags of `zot batch`. Does no I/O."""

from __future__ import annotations

from ..connection.command_line import (
    COUNT,
    CSV,
    DOLLARS,
    PARAMETERS,
    PLACE,
    PLACES,
    SCHEMA,
    SECONDS,
    SWITCH,
    TEXT,
    TEXTS,
    checked,
    no_such_option,
    written,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, TypedDict

    from ..connection.command_line import Place, Reasoning

    class BatchOptions(TypedDict, total=False):
        """The flags of `zot batch`, by their names; `zot batch --help` describes them. Times are seconds."""

        cwd: Place
        """Where relative paths start. Default: the working directory of this process."""
        redo: str | Sequence[str]
        """Of what an earlier batch in this folder has done: `failed`, `changed`, `all`, or ids."""
        provider: str
        model: str
        api_key: str
        """Goes to the batch in its environment: `ps` does not show it."""
        api_key_file: Place
        base_url: str
        system_prompt: str
        append_system_prompt: str | Sequence[str]
        reasoning: Reasoning
        replay: Place
        tools: str | Sequence[str]
        no_tools: bool
        ext: Place | Sequence[Place]
        mcp_config: Place | Sequence[Place]
        no_ext: bool
        ext_wait: float
        trust_project: bool
        copilot: bool
        strict_guards: bool
        allow_asked: bool
        with_skills: bool
        no_skill: bool
        no_context_files: bool
        output_schema: Place | Mapping[str, Any]
        """Of each final answer: a file, or the JSON Schema itself."""
        max_steps: int
        jobs: int
        retries: int
        workspace: Literal["shared", "copy"]
        task_timeout: float
        task_max_cost: float
        run_memory: int
        """Bytes."""
        max_cost_usd: float
        reserve: Literal["none", "seen", "worst"]
        """How much requests of unknown cost count for `max_cost_usd`."""
        max_tokens: int
        max_failures: int
        deadline: float


FLAGS = {
    "redo": TEXTS,
    "provider": TEXT,
    "model": TEXT,
    "api_key_file": PLACE,
    "base_url": TEXT,
    "system_prompt": TEXT,
    "append_system_prompt": TEXTS,
    "reasoning": TEXT,
    "replay": PLACE,
    "tools": CSV,
    "no_tools": SWITCH,
    "ext": PLACES,
    "mcp_config": PLACES,
    "no_ext": SWITCH,
    "ext_wait": SECONDS,
    "trust_project": SWITCH,
    "copilot": SWITCH,
    "strict_guards": SWITCH,
    "allow_asked": SWITCH,
    "with_skills": SWITCH,
    "no_skill": SWITCH,
    "no_context_files": SWITCH,
    "output_schema": SCHEMA,
    "max_steps": COUNT,
    "jobs": COUNT,
    "retries": COUNT,
    "workspace": TEXT,
    "task_timeout": SECONDS,
    "task_max_cost": DOLLARS,
    "run_memory": COUNT,
    "max_cost_usd": DOLLARS,
    "reserve": TEXT,
    "max_tokens": COUNT,
    "max_failures": COUNT,
    "deadline": SECONDS,
}
"""How the value of each option is written."""
UNWRITTEN = {"api_key": TEXT, "cwd": PLACE}
"""Options that are no flags: the key is in the environment, and the process starts in the folder."""


def command(
    options: Mapping[str, Any], folder: Place, program: Sequence[str], *, with_events: bool, is_quiet: bool
) -> list[str]:
    """The command of a batch whose tasks come on stdin: `program` with `batch` and the flags. An option that is None is
    not given. Raises `TypeError` for an option that does not exist, and for a value of another type."""
    given = dict(options)
    for name, kind in UNWRITTEN.items():
        if (value := given.pop(name, None)) is not None:
            checked(name, kind, value)
    found = [*program, "batch", "-", "--json", f"--output={checked('folder', PLACE, folder)}"]
    if not with_events:
        found.append("--no-events")
    if is_quiet:
        found.append("--quiet")
    for name, value in given.items():
        if name not in FLAGS:
            raise no_such_option(name, {*FLAGS, *UNWRITTEN, *PARAMETERS})
        if value is not None:
            found += written(name, FLAGS[name], value)
    return found
