"""A whole run, in this process, with one healthy extension and some bad ones; the model is a script.

stderr goes to a file, and the deadlines are short, so every fault shows within seconds.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.configure import prepare
from agent.headless import Headless
from agent.options import RunRequest
from tests.support.extension_folder import extension, folder
from tests.support.host import source
from tests.support.patience import PATIENCE_S
from tests.support.scripted_model import ScriptedModel, says
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from supervisor.supervisor import Supervisor

PROMPT = {"hello": 60.0, "ready": 60.0, "tool_call": 60.0, "intercept": 60.0}
SHORT = {"hello": 1.0, "ready": 0.6, "tool_call": 0.8, "intercept": 0.4}


def short(*deadlines: str) -> dict[str, float]:
    """The deadlines of an extension: these, which it lets pass, are short."""
    return PROMPT | {name: SHORT[name] for name in deadlines}


SOON = {"backoff_s": [0.1, 0.1]}
"""A restart policy whose restarts come at once."""
HEALTHY = "echo"
Call = tuple[str, dict[str, Any]]
ECHO: Call = ("echo", {"text": "still here"})


@dataclass
class Observed:
    """The outcome of a run."""

    records: list[events.Record]
    result: events.Result
    stderr: list[str]
    requests: list[dict[str, Any]]
    seconds: float

    def lines_about(self, name: str) -> list[str]:
        return [line for line in self.stderr if line.startswith(f"zot: extension {name}: ")]

    def answer_of(self, call_id: str) -> tuple[str, bool]:
        for record in self.records:
            if isinstance(record, events.ToolResult) and record.id == call_id:
                return "".join(
                    part.text for part in record.content if isinstance(part, events.TextContent)
                ), record.is_error
        raise AssertionError(f"no result for {call_id}")

    def offered(self, turn: int) -> set[str]:
        return {tool["name"] for tool in self.requests[turn - 1].get("tools", [])}

    def events_of(self, name: str) -> list[str]:
        """The events of an extension in the stream of the run."""
        return [
            record.event for record in self.records if isinstance(record, events.Extension) and record.extension == name
        ]


def program(place: Path, name: str, code: str, *args: str | Path, **manifest: Any) -> Path:
    """An extension for one test, from its source; what `PRELUDE` defines is there."""
    script = place / f"{name}.py"
    script.write_text(source(code))
    return folder(place, name, [sys.executable, "-I", "-S", str(script), *map(str, args)], **manifest)


def is_back(name: str, restarts: int = 1) -> Callable[[Supervisor], bool]:
    """The extension was restarted so often."""
    return lambda supervisor: supervisor.find(name).account.restarts >= restarts


def is_given_up(name: str) -> Callable[[Supervisor], bool]:
    return lambda supervisor: supervisor.find(name).is_given_up


def observe(
    place: Path,
    *bad: Path,
    batches: Sequence[Sequence[Call]] = (),
    hold: Mapping[int, Callable[[Supervisor], bool]] | None = None,
    home: Path | None = None,
    failures: Sequence[dict[str, Any]] = (),
    end_within_s: float | None = None,
    interrupt_at: type[events.Record] | None = None,
    **asked: Any,
) -> Observed:
    """Runs a prompt with the bad extensions beside the healthy one. Each turn calls the next batch of tools; when there
    are no more, the model answers. Before that come `failures`: the last lines of requests that fail, each after the
    text "half". `hold` gives conditions by turn: the model says nothing in that turn before its condition holds. The
    run is interrupted at the first record of the kind `interrupt_at`."""
    healthy = extension(place, "echo", name=HEALTHY)
    project = place / "project"
    project.mkdir()
    prepared = prepare(
        RunRequest(
            base_url="http://127.0.0.1:9",
            cwd=str(project),
            home=home or place / "home",
            extensions=tuple(map(str, (healthy, *bad))),
            discover=False,
            **{"timeout": PATIENCE_S, **asked},
        )
    )
    calls = [[(f"t{turn}.{number}", *call) for number, call in enumerate(made)] for turn, made in enumerate(batches, 1)]
    failed = [[{"type": "text_delta", "delta": "half"}, failure] for failure in failures]
    model = ScriptedModel(*failed, *(says("", *made) for made in calls), otherwise=says("all done"))
    records: list[events.Record] = []

    def interrupt(record: events.Record) -> None:
        if interrupt_at is not None and isinstance(record, interrupt_at):
            run.end(Status.INTERRUPTED, "enough")

    with open(place / "stderr", "w+b") as stderr:
        started = time.monotonic()
        run = Headless(
            prepared.options,
            version="test",
            make_provider=lambda _loop: model,
            readers=(records.append, interrupt),
            stderr=stderr.fileno(),
            end_within_s=end_within_s,
        )
        if hold:
            is_held = {turn + len(failed): condition for turn, condition in hold.items()}
            model.may_reply = lambda asked: asked not in is_held or is_held[asked](run._host.engine.supervisor)
        result = run.run("go")
        seconds = time.monotonic() - started
        stderr.seek(0)
        lines = stderr.read().decode().splitlines()
    return Observed(records, result, lines, model.asked, seconds)


GUARD = """
hello(intercept=["user_prompt", "tool_result"])
send(type="ready")
for frame in frames():
    said = {}
    if frame["event"] == "user_prompt":
        said = %r
    elif frame["event"] == "tool_result":
        said = %r
        if said == "redact":
            text = frame["content"][0]["text"].replace("here", "[redacted]")
            said = {"modified_result": {"content": [{"type": "text", "text": text}]}}
    send(type="event_intercept_response", id=frame["id"], **said)
"""


def guarded(place: Path, *, prompt: Any = None, result: Any = None, **asked: Any) -> Observed:
    """A run with a guard that answers questions about prompts and results with these verdicts."""
    guard = program(place, "guard", GUARD % (prompt or {}, result or {}), **asked.pop("manifest", {}))
    return observe(place, guard, batches=[[ECHO]], **asked)
