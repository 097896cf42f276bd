"""The command line of the engine: the options of a runtime as the flags of a run. Does no I/O."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any, Literal, TypedDict

    Place = str | Path
    Reasoning = Literal["low", "medium", "high"]

    class Options(TypedDict, total=False):
        """The flags of a run, by their names; `zot --help` describes them. Times are seconds."""

        provider: str
        model: str
        api_key: str
        """Goes to the engine in its environment: `ps` does not show it."""
        api_key_file: Place
        base_url: str
        system_prompt: str
        append_system_prompt: str | Sequence[str]
        reasoning: Reasoning
        record: Place
        replay: Place
        tools: str | Sequence[str]
        no_tools: bool
        ext: Place | Sequence[Place]
        no_ext: bool
        ext_wait: float
        trust_project: bool
        watch: bool
        strict_guards: bool
        stream_before_guards: bool
        cwd: Place
        """Default: the working directory of this process when the runtime starts."""
        max_steps: int
        timeout: float
        """Of each prompt."""
        drain_timeout: float
        """Default here: 0. When this process ends, so does its engine."""
        stats: Place
        metrics: Place
        openmetrics: bool


TEXT, SWITCH, SECONDS, LIST, CSV = range(5)
FLAGS = {
    "provider": TEXT,
    "model": TEXT,
    "api_key_file": TEXT,
    "base_url": TEXT,
    "system_prompt": TEXT,
    "append_system_prompt": LIST,
    "reasoning": TEXT,
    "record": TEXT,
    "replay": TEXT,
    "tools": CSV,
    "no_tools": SWITCH,
    "ext": LIST,
    "no_ext": SWITCH,
    "ext_wait": SECONDS,
    "trust_project": SWITCH,
    "watch": SWITCH,
    "strict_guards": SWITCH,
    "stream_before_guards": SWITCH,
    "cwd": TEXT,
    "max_steps": TEXT,
    "timeout": SECONDS,
    "drain_timeout": SECONDS,
    "stats": TEXT,
    "metrics": TEXT,
    "openmetrics": SWITCH,
}
"""How the value of each option is written."""
API_KEY = "ANTHROPIC_API_KEY"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def command(options: Mapping[str, Any], program: Sequence[str] | None = None) -> list[str]:
    """The engine's command: `program` (default: zot of this Python) with `rpc` and the flags. Raises `TypeError` for an
    option that does not exist."""
    given = {"drain_timeout": 0.0, **options}
    given.pop("api_key", None)
    found = [*(own_program() if program is None else program), "rpc"]
    for name, value in given.items():
        if name not in FLAGS:
            known = ", ".join(sorted({*FLAGS, "api_key"}))
            raise TypeError(f"there is no option {name!r}; there are {known}")
        if value is not None:
            found += _written(f"--{name.replace('_', '-')}", FLAGS[name], value, name)
    return found


def own_program() -> list[str]:
    """Runs zot by the path of its entry module: the child finds it whatever its folder and its `PYTHONPATH` are."""
    return [sys.executable, os.path.join(PACKAGE, "__main__.py")]


def environment(options: Mapping[str, Any], env: Mapping[str, str] | None) -> dict[str, str]:
    """The engine's environment: that of this process, with `env` and the key."""
    found = {**os.environ, **(env or {})}
    if options.get("api_key") is not None:
        found[API_KEY] = str(options["api_key"])
    found.pop("ZOTCORE_RPC_TOKEN", None)  # the pipes are private
    return found


def _written(flag: str, kind: int, value: Any, name: str) -> list[str]:
    if kind == SWITCH:
        return [flag] if value else []
    if kind == LIST:
        many = [value] if isinstance(value, (str, os.PathLike)) else list(value)
        return [f"{flag}={os.fspath(item)}" for item in many]
    if kind == CSV and not isinstance(value, str):
        return [f"{flag}={','.join(value)}"]
    if kind == SECONDS:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name} is a number of seconds, not {value!r}")
        return [f"{flag}={round(value * 1000)}ms"]
    return [f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}"]
