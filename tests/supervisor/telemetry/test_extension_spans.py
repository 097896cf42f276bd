"""Spans about real extensions, compared as whole trees."""

from __future__ import annotations

import json
import os

import msgspec
import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.telemetry.extension_spans import ExtensionSpans, watch_extensions
from supervisor.telemetry.span_recorder import SpanRecorder
from tests.support.host import LATER, SOON, Host
from tests.support.lazy_place import EVERYTHING, LazyPlace
from wire import frames
from wire.trace_context import read_context
from wire.traces.span import Span, Spans

SAID = """
hello("env", intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block="secret" in json.dumps(frame), reason="no secrets")
    elif "die" in frame["args"]:
        os._exit(3)
    else:
        result(frame, json.dumps({name: os.environ.get(name) for name in ("TRACEPARENT", "TRACESTATE")} | frame))
"""


class Recorded:
    """The spans of a host, below a span `run`."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.spans: list[Span] = []
        self.recorder = SpanRecorder(lambda line: self.spans.extend(msgspec.json.decode(line, type=Spans).spans))
        self.run = self.recorder.begin("run")
        self.watching: ExtensionSpans | None = None

    def watch(self, *, has_content: bool = False) -> Recorded:
        self.watching = watch_extensions(
            self.host.supervisor, self.recorder, lambda _call: self.run.context, has_content=has_content
        )
        return self

    def named(self, start: str) -> list[Span]:
        return [span for span in self.spans if span.name.startswith(start)]

    def one(self, name: str) -> Span:
        (span,) = self.named(name)
        return span


@pytest.fixture
def recorded(host):
    return Recorded(host)


def call(host: Host, tool: str = "env", **args: object) -> dict[str, object]:
    answers: list[object] = []
    host.begin_call(tool, json.dumps(args).encode(), answers.append)
    host.until(lambda: bool(answers))
    (answer,) = answers
    frame = answer.frame  # type: ignore[attr-defined]
    return {} if frame is None else json.loads(frame.content[0].text)  # type: ignore[no-any-return]


def test_a_start_a_verdict_and_a_call(host, recorded):
    host.write("said", SAID, version="1.2", env_policy="minimal")
    recorded.watch()
    host.start()
    host.supervisor.intercept(frames.Event("tool_call", tool_name="env", tool_id="t1", tool_args=msgspec.Raw(b"{}")))
    said = call(host)
    run = recorded.run.context
    assert [span.name for span in recorded.spans] == [
        "start extension said", "verdict tool_call said", "execute_tool env",
    ]  # fmt: skip
    assert {(span.trace_id, span.parent_id) for span in recorded.spans} == {(run.trace_id, run.span_id)}
    start, verdict, execute = recorded.spans
    assert start.attributes == {
        "zot.extension.name": "said", "zot.extension.version": "1.2", "zot.extension.dialect": "zot",
        "zot.extension.is_restart": False, "zot.extension.tools": 1, "zot.extension.protocol": "zot 1",
        "process.pid": host.extension("said").pid,
    }  # fmt: skip
    assert verdict.attributes == {
        "zot.extension.name": "said", "zot.verdict.event": "tool_call", "zot.verdict.outcome": "allow",
        "zot.verdict.blocked": False, "gen_ai.tool.name": "env", "gen_ai.tool.call.id": "t1",
    }  # fmt: skip
    assert execute.attributes == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "env", "gen_ai.tool.type": "extension",
        "zot.extension.name": "said",
    }  # fmt: skip
    assert not any(span.is_error for span in recorded.spans)
    assert all(0 < span.start_ns <= span.end_ns for span in recorded.spans)
    assert start.end_ns <= verdict.start_ns + 1_000_000
    of_start = read_context(str(said["TRACEPARENT"]))
    assert of_start is not None
    assert (of_start.trace_id, of_start.span_id) == (run.trace_id, start.span_id)
    of_call = read_context(str(said["traceparent"]))
    assert of_call is not None
    assert (of_call.trace_id, of_call.span_id) == (run.trace_id, execute.span_id)


def test_texts_are_left_out_without_content(host, recorded):
    host.write("said", SAID)
    recorded.watch()
    host.start()
    event = frames.Event("tool_call", tool_name="env", tool_args=msgspec.Raw(b'{"a": "secret"}'))
    assert host.supervisor.intercept(event).is_blocked
    call(host, a="hidden")
    assert recorded.one("verdict").attributes["zot.verdict.outcome"] == "deny"
    assert recorded.one("verdict").attributes["zot.verdict.blocked"] is True
    written = msgspec.json.encode(recorded.spans).decode()
    assert "secret" not in written
    assert "hidden" not in written


def test_with_content_they_are_there(host, recorded):
    host.write("said", SAID)
    recorded.watch(has_content=True)
    host.start()
    event = frames.Event("tool_call", tool_name="env", tool_args=msgspec.Raw(b'{"a": "secret"}'))
    host.supervisor.intercept(event)
    call(host, a="hidden")
    assert recorded.one("verdict").attributes["zot.verdict.reason"] == "no secrets"
    assert recorded.one("execute_tool").attributes["gen_ai.tool.call.arguments"] == '{"a": "hidden"}'
    assert "hidden" in str(recorded.one("execute_tool").attributes["gen_ai.tool.call.result"])


def test_a_crash_its_wait_and_the_next_start(host, recorded):
    host.write("said", SAID, restart=SOON)
    recorded.watch()
    host.start()
    pid = host.extension("said").pid
    call(host, die=True)
    host.until(lambda: len(recorded.named("start extension said")) == 2)
    assert [span.name for span in recorded.spans] == [
        "start extension said", "exit extension said", "execute_tool env", "wait extension said",
        "start extension said",
    ]  # fmt: skip
    first, ended, execute, wait, second = recorded.spans
    assert ended.attributes == {
        "zot.extension.name": "said", "process.pid": pid, "zot.extension.requests_lost": 1, "error.type": "crashed",
    }  # fmt: skip
    assert (ended.is_error, ended.message) == (True, "exit 3")
    assert [link.span_id for link in ended.links] == [first.span_id]
    assert execute.attributes["error.type"] == "crashed"
    assert wait.attributes == {"zot.extension.name": "said", "zot.wait.for": "restart"}
    assert ended.end_ns <= wait.end_ns
    assert second.attributes["zot.extension.is_restart"] is True


def test_an_extension_that_cannot_be_started(host, recorded, tmp_path):
    host._add("lost", [str(tmp_path / "nothing")], {})
    recorded.watch()
    host.start()
    (start,) = recorded.spans
    assert (start.name, start.attributes["error.type"]) == ("start extension lost", "refused")
    assert "process.pid" not in start.attributes


def test_an_exit_before_the_hello_ends_the_start(host, recorded):
    host.write("early", "os._exit(7)", restart=LATER)
    recorded.watch()
    host.start()
    assert [(span.name, span.attributes["error.type"]) for span in recorded.spans] == [
        ("start extension early", "crashed"), ("exit extension early", "crashed"),
    ]  # fmt: skip
    assert recorded.spans[0].message == "exit 7, before it was ready"


def test_an_end_that_was_asked_for_is_no_exit(host, recorded):
    host.write("said", SAID)
    host.write("slow", "sys.stdin.read()")
    recorded.watch()
    host.launch()
    host.until(lambda: bool(recorded.spans))
    host.stop()
    assert recorded.watching is not None
    recorded.watching.close()
    found = [(span.name, span.attributes.get("error.type")) for span in recorded.spans]
    assert found == [("start extension said", None), ("start extension slow", "stopped")]


def test_a_guard_that_gives_no_verdict(host, recorded):
    host.write(
        "mute", 'hello(intercept=["tool_call"]); send(type="ready"); time.sleep(1000)', timeouts={"intercept": 0.05}
    )
    recorded.watch()
    host.start()
    host.supervisor.intercept(frames.Event("tool_call", tool_name="x", tool_args=msgspec.Raw(b"{}")))
    verdict = recorded.one("verdict")
    assert (verdict.attributes["zot.verdict.outcome"], verdict.attributes["error.type"]) == ("none", "timeout")
    assert len(recorded.spans) == 2, "the fall of the guard has no second span"


def test_verdicts_that_nobody_waits_for_have_spans_too(host, recorded):
    host.write("said", SAID)
    recorded.watch()
    host.start()
    judged: list[object] = []
    host.supervisor.begin_intercept(
        frames.Event("tool_call", tool_name="x", tool_args=msgspec.Raw(b"{}")), judged.append
    )
    host.until(lambda: bool(judged))
    assert recorded.one("verdict").attributes["zot.verdict.outcome"] == "allow"


def test_a_call_of_a_caller_with_a_span_gets_no_second_one(host, recorded):
    host.write("said", SAID)
    recorded.watch()
    host.start()
    owned = host.supervisor.registrations.tool("env")
    answers: list[object] = []
    host.supervisor.begin_call(owned, b"{}", answers.append, context=recorded.run.context)
    host.until(lambda: bool(answers))
    assert recorded.named("execute_tool") == []
    assert recorded.run.context.traceparent in str(answers)


def test_without_spans_an_extension_inherits_the_context_of_the_user(host):
    host.write("said", SAID)
    host.start()
    assert call(host)["TRACEPARENT"] == os.environ.get("TRACEPARENT")


def test_a_wait_for_an_extension_that_slept(tmp_path):
    place = LazyPlace(tmp_path)
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        recorded = Recorded(host).watch()
        assert host.text("echo", text="a") == "a"
        host.until(lambda: len(recorded.spans) == 3)
    wait, start, execute = recorded.spans
    assert [span.name for span in recorded.spans] == ["wait extension one", "start extension one", "execute_tool echo"]
    assert wait.attributes == {"zot.extension.name": "one", "zot.wait.for": "start", "zot.wait.requests": 1}
    assert execute.start_ns <= wait.end_ns <= execute.end_ns
    assert start.attributes["zot.extension.is_restart"] is False


def test_the_context_of_the_user_keeps_no_extension_from_its_sleep(tmp_path, monkeypatch):
    place = LazyPlace(tmp_path)
    place.write("one", EVERYTHING)
    place.learn()
    monkeypatch.setenv("TRACEPARENT", f"00-{'a' * 32}-{'b' * 16}-01")
    with place.host() as host:
        assert host.state("one") is WorkerState.ASLEEP


def test_each_worker_of_a_pool_has_a_start(host, recorded):
    host.write("said", SAID, workers=2)
    recorded.watch()
    host.start()
    host.until(lambda: len(recorded.spans) == 2)
    assert sorted(span.attributes["zot.extension.worker"] for span in recorded.spans) == [1, 2]
    assert len({span.attributes["process.pid"] for span in recorded.spans}) == 2


def test_a_restart_by_hand_is_no_wait(host, recorded):
    host.write("said", SAID, restart={"policy": "temporary"})
    recorded.watch()
    host.start()
    call(host, die=True)
    host.supervisor.restart("said")
    host.until(lambda: len(recorded.named("start extension said")) == 2)
    assert recorded.named("wait") == []
    assert [span.attributes["zot.extension.is_restart"] for span in recorded.named("start")] == [False, False]
