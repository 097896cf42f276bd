"""A whole run, in this process, with one healthy extension and some bad ones; the model is a script.

stderr goes to a file, and the deadlines are short, so every fault shows within seconds.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.configure import prepare
from agent.headless import Headless
from agent.model.provider import Stream
from agent.options import RunRequest
from tests.support.extension_folder import extension, folder
from tests.support.host import source
from tests.support.patience import PATIENCE_S
from wire import events

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


class ScriptedProvider:
    """Each turn calls the next batch of tools; when there are no more, it answers. Before that come `failures`: the
    last lines of requests that fail, each after the text "half"."""

    name = "scripted"
    is_ready = True
    error = None

    def __init__(self, batches: Sequence[Sequence[Call]], failures: Sequence[dict[str, Any]] = ()) -> None:
        self._batches = list(batches)
        self._failures = list(failures)
        self._failed = 0
        self.requests: list[dict[str, Any]] = []
        self.may_answer: Callable[[int], bool] = lambda _turn: True
        """Whether the model may end this turn; it is asked again after every pass of the loop."""

    def start(self) -> None:
        pass

    def request(self, params: dict[str, Any]) -> Stream:
        self.requests.append(json.loads(json.dumps(params)))
        if self._failures:
            self._failed += 1
            return Stream([{"type": "text_delta", "delta": "half"}, self._failures.pop(0)])
        turn = len(self.requests) - self._failed
        usage = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}
        calls = self._batches[turn - 1] if turn <= len(self._batches) else ()
        content: list[dict[str, Any]] = [
            {"type": "tool_call", "id": f"t{turn}.{number}", "name": name, "args": json.dumps(args)}
            for number, (name, args) in enumerate(calls)
        ] or [{"type": "text", "text": "all done"}]
        reason = "tool_use" if calls else "end_turn"
        return _Held(
            lambda: self.may_answer(turn),
            [{"type": "final", "content": content, "stop_reason": reason, "usage": usage}],
        )

    def cancel(self) -> None:
        pass

    def warm_up(self) -> None:
        pass

    def stoppables(self) -> Sequence[Any]:
        return ()


class _Held(Stream):
    def __init__(self, may_answer: Callable[[], bool], lines: Sequence[dict[str, Any]]) -> None:
        super().__init__(lines)
        self._may_answer = may_answer

    def has_line(self) -> bool:
        return super().has_line() and self._may_answer()


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
    healthy_first: bool = True,
    hold: Mapping[int, Callable[[Supervisor], bool]] | None = None,
    home: Path | None = None,
    failures: Sequence[dict[str, Any]] = (),
    end_within_s: float | None = None,
    **asked: Any,
) -> Observed:
    """Runs a prompt with the bad extensions beside the healthy one. `hold` gives conditions by turn: the model says
    nothing in that turn before its condition holds."""
    healthy = extension(place, "echo", name=HEALTHY)
    folders = [healthy, *bad] if healthy_first else [*bad, healthy]
    project = place / "project"
    project.mkdir()
    prepared = prepare(
        RunRequest(
            base_url="http://127.0.0.1:9",
            cwd=str(project),
            home=home or place / "home",
            extensions=tuple(map(str, folders)),
            discover=False,
            **{"timeout": PATIENCE_S, **asked},
        )
    )
    provider = ScriptedProvider(batches, failures)
    records: list[events.Record] = []
    with open(place / "stderr", "w+b") as stderr:
        started = time.monotonic()
        run = Headless(
            prepared.options,
            version="test",
            make_provider=lambda _loop: provider,
            readers=(records.append,),
            stderr=stderr.fileno(),
            end_within_s=end_within_s,
        )
        if hold:
            provider.may_answer = lambda turn: turn not in hold or hold[turn](run._host.engine.supervisor)
        result = run.run("go")
        seconds = time.monotonic() - started
        stderr.seek(0)
        lines = stderr.read().decode().splitlines()
    return Observed(records, result, lines, provider.requests, seconds)


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
