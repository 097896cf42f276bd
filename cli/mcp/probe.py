"""Starts one MCP server under a supervisor of its own, looks at it, calls a tool if asked to, and stops it."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from cli.version import VERSION
from supervisor.discovery import data_dir
from supervisor.discovery.environment import extension_environment
from supervisor.extension.lifecycle import WorkerState
from supervisor.home.runtime_dir import runtime_dir
from supervisor.loop.loop import Loop
from supervisor.monitoring.definition_sizes import sizes_keeper
from supervisor.monitoring.stats import of_extension
from supervisor.registry.definition_size import size_warning
from supervisor.supervisor import Supervisor
from wire import frames
from wire.dialects.base import HostInfo
from wire.dialects.mcp.tools import public_name
from wire.manifest import Restart

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind
    from supervisor.home.config import Config
    from supervisor.registry.registration import Command, Tool

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STDERR_LINES = 5


class ProbeCall(msgspec.Struct):
    """A call of a tool."""

    tool: str
    args: bytes
    result: frames.ToolResult | None = None
    failure: str = ""
    """Why there is no result."""
    seconds: float = 0.0


class ServerProbe(msgspec.Struct):
    """The observations of a server. Times are seconds since its start."""

    failure: str = ""
    """Why it is not ready; empty if it is."""
    is_interrupted: bool = False
    spoken: str = ""
    server: str = ""
    version: str | None = None
    instructions: str = ""
    hello_s: float | None = None
    ready_s: float | None = None
    stop_s: float | None = None
    """Seconds that its stop took."""
    tools: tuple[Tool, ...] = ()
    tokens: int = 0
    commands: tuple[Command, ...] = ()
    warnings: list[str] = []
    stderr: list[str] = []
    """The last lines."""
    rss_bytes: int = 0
    processes: int = 0
    cpu_s: float = 0.0
    call: ProbeCall | None = None


def probe(
    found: FoundExtension, config: Config, home: Path, cwd: str, *, wait_s: float | None, call: ProbeCall | None
) -> ServerProbe:
    """Tries the server, which is started once. `wait_s` is the longest wait until it is ready; None: as its entry says.
    `config` has the limits and the secrets."""
    once = replace(found, manifest=replace(found.manifest, restart=Restart(policy="temporary")))
    seen = ServerProbe(call=call)
    with closing(Loop()) as loop:
        supervisor = _supervisor(loop, config, home, cwd, seen)

        def interrupt(_number: signal.Signals) -> None:
            seen.is_interrupted = True

        with loop.signals(ENDING, interrupt):
            supervisor.on_sample.append(sizes_keeper(home, supervisor.extensions))
            environment: Callable[[FoundExtension], dict[str, str]] = lambda each: extension_environment(  # noqa: E731
                each, config, os.environ
            )
            supervisor.start([once], environment, home / data_dir.FOLDER)
            (extension,) = supervisor.extensions
            try:
                _watch_start(loop, extension, seen, wait_s)
                if not seen.failure and not seen.is_interrupted:
                    _look(supervisor, extension, seen)
                    if call is not None:
                        _make(loop, supervisor, extension, call, seen)
            finally:
                began = loop.clock()
                supervisor.stop()
                seen.stop_s = loop.clock() - began
                seen.stderr = extension.lead.last_words.tail.shown(STDERR_LINES)
    return seen


def _supervisor(loop: Loop, config: Config, home: Path, cwd: str, seen: ServerProbe) -> Supervisor:
    def on_notice(_extension: Extension, kind: NoticeKind, message: str) -> None:
        if kind == "failed":
            seen.failure = seen.failure or message
        elif kind not in ("started", "remark"):
            seen.warnings.append(message)

    return Supervisor(
        loop,
        host=HostInfo(VERSION, "none", "", cwd),
        logs=home / "logs",
        owns_process=True,
        limits=config.limit_rules,
        runtime_folder=runtime_dir(home),
        on_notice=on_notice,
    )


def _watch_start(loop: Loop, extension: Extension, seen: ServerProbe, wait_s: float | None) -> None:
    began = loop.clock()

    def is_over() -> bool:
        state = extension.lead.state
        if seen.hello_s is None and state in (WorkerState.GREETED, WorkerState.READY):
            seen.hello_s = loop.clock() - began
        return seen.is_interrupted or state is WorkerState.READY or extension.is_given_up

    patience = wait_s or extension.start_s + 1.0
    is_in_time = loop.run_until(is_over, began + patience)
    worker = extension.lead
    seen.spoken = worker.spoken
    if worker.said_hello is not None:
        seen.server, seen.version = worker.said_hello.name, worker.said_hello.version
    if worker.state is WorkerState.READY:
        seen.ready_s = loop.clock() - began
    elif not seen.is_interrupted:
        late = f"not ready within {patience:g} s"
        if worker.said_hello is None and worker.trouble:
            late += f"; {worker.trouble}"
        seen.failure = seen.failure or extension.failure or (late if not is_in_time else "it ended")


def _look(supervisor: Supervisor, extension: Extension, seen: ServerProbe) -> None:
    supervisor.sample()
    figures = of_extension(extension, supervisor.loop.clock())
    seen.rss_bytes, seen.processes, seen.cpu_s = figures.rss_bytes, figures.processes, figures.cpu_s
    seen.tools = tuple(extension.tools.values())
    seen.tokens = figures.definition_tokens or 0
    seen.commands = tuple(extension.commands.values())
    seen.instructions = extension.instructions
    if warning := size_warning(len(seen.tools), seen.tokens):
        seen.warnings.append(warning)


def _make(loop: Loop, supervisor: Supervisor, extension: Extension, call: ProbeCall, seen: ServerProbe) -> None:
    tools = supervisor.registrations.tools()
    owned = tools.get(call.tool) or tools.get(public_name(extension.name, call.tool))
    if owned is None:
        offered = ", ".join(tool.name for tool in seen.tools[:20]) or "none"
        call.failure = f"it has no tool {call.tool!r}; there are {offered}"
        return
    ended: list[bool] = []

    def done(answer: object) -> None:
        call.result = getattr(answer, "frame", None)
        call.failure = "" if call.result is not None else str(getattr(answer, "reason", ""))
        ended.append(True)

    began = loop.clock()
    supervisor.begin_call(owned, call.args, done)
    loop.run_until(lambda: bool(ended) or seen.is_interrupted)
    call.seconds = loop.clock() - began
