"""Every faulty MCP server beside each other under one host: what is said of each, and what its calls answer."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest

from supervisor.extension.lifecycle import WorkerState
from tests.support.extension_folder import child_argv
from tests.support.host import Host
from tests.support.mcp_servers import SERVERS, add_server

if TYPE_CHECKING:
    from supervisor.calls.tool_call import ToolAnswer

pytestmark = pytest.mark.slow
FAULTS = [
    name for file in sorted(SERVERS.glob("faulty_*.py")) for name in re.findall(r'FAULTS, "([\w-]+)"', file.read_text())
]
PROMPT = {"hello": 30.0, "ready": 30.0, "tool_call": 30.0}
SHORT = {"hello": 4.0, "ready": 1.0, "tool_call": 1.0}
"""The deadline that a fault lets pass. Within that of the hello some must have said what is wrong with them."""


class Seen(NamedTuple):
    """A server: the number of its tools, words in the notices about it, words in the answer of `echo` to "here" (None:
    not called), and its state once all have started."""

    tools: int | None = 1
    said: str = ""
    answer: str | None = "here"
    state: WorkerState = WorkerState.READY


def gone(said: str, state: WorkerState = WorkerState.BACKOFF) -> Seen:
    """A server that cannot be used, and why."""
    return Seen(0, said, None, state)


SKIPPED = "writes lines that are not messages to its stdout"
EXPECTED = {
    "prints-between": Seen(said=SKIPPED),
    "prints-within": Seen(),
    "prints-within-id-last": Seen(),
    "prints-after": gone("bad answer to initialize: JSON is malformed"),
    "pretty": gone("said no hello within 4 s; its stdout has lines that are no messages of MCP, the first one '{'"),
    "content-length": gone("it writes Content-Length headers"),
    "content-length-waits": gone("said no hello within 4 s"),
    "odd-lines": Seen(),
    "batches": Seen(),
    "not-utf8": Seen(2),
    "huge-line": Seen(3),
    "endless-line": gone("said no hello within 4 s"),
    "closes-stdout": gone("closed its stdout; it can send nothing more"),
    "dies-at-import": gone("No module named 'mcp_of_last_year'"),
    "usage": gone('(exit 2): "usage: missing argument: directory"'),
    "old-version": gone("it speaks version '1999-01-01' of MCP; zot speaks 2024-11-05", WorkerState.FAILED),
    "other-future": gone("it speaks version 2031-01-01 of MCP; zot speaks 2024-11-05", WorkerState.FAILED),
    "refuses-initialize": gone("it refuses initialize: MCP error -32603: EXAMPLE_TOKEN is not set"),
    "strange-initialize": gone("its answer to initialize is a list, not an object", WorkerState.FAILED),
    "bare-initialize": Seen(),
    "exits-in-call": Seen(2),
    "outlives-eof": Seen(),
    "same-cursor": Seen(said="its cursor comes again and again"),
    "endless-cursors": Seen(100, "it has more than 100 pages"),
    "endless-empty-pages": Seen(said="it has more than 100 pages"),
    "fails-on-second-page": Seen(said="tools/list: MCP error -32603: no second page; continuing with 1 tool"),
    "many-tools": Seen(500, "it has more than 500 tools; the first 500 are used"),
    "wordy-tools": Seen(41, "the definitions of its 41 tools take about"),
    "list-is-no-list": Seen(0, "tools is null, not a list; continuing without tools", None),
    "list-fails": Seen(0, "tools/list: MCP error -32603: cannot list; continuing without tools", None),
    "never-lists": Seen(0, "has not listed all that it offers within 1 s of its hello", None),
    "changes-for-ever": Seen(),
    "changes-at-start": Seen(),
    "renames-for-ever": Seen(2),
    "floods": Seen(),
    "floods-deaf": Seen(said="no answer within 1 s", answer="no answer within 1 s"),
    "strange-tools": Seen(10, "is skipped", "echo"),
    "string-ids": Seen(),
    "float-ids": Seen(),
    "null-id-error": Seen(answer="MCP error -32700: Parse error"),
    "progress-for-ever": Seen(answer="no progress for 0.2 s, or more than 2 s in all"),
    "strange-results": Seen(2),
    "endless-rounds": Seen(answer="the server asked for another round"),
    "asks-all": Seen(answer='"elicitation/create": {"result": {"action": "cancel"}}'),
    "odd-messages": Seen(said=SKIPPED),
}
LET_PASS = {
    "hello": {"pretty", "content-length", "content-length-waits", "endless-line"},
    "ready": {"never-lists"},
    "tool_call": {"floods-deaf"},
}
"""The deadline that a server lets pass."""
TIMEOUTS = {
    fault: PROMPT | {deadline: SHORT[deadline] for deadline, passed in LET_PASS.items() if fault in passed}
    for fault in FAULTS
} | {"progress-for-ever": {**PROMPT, "tool_call": 0.2}}


def answered(answer: ToolAnswer) -> str:
    if answer.frame is None:
        return answer.reason
    return "".join(block.text or "" for block in answer.frame.content or ())


def add(host: Host, fault: str, **manifest: object) -> None:
    later = {"policy": "permanent", "backoff_s": [3600, 3600]}
    add_server(host, fault, f"faulty.py {fault}", **{"timeouts": TIMEOUTS[fault], "restart": later} | manifest)


def test_what_is_seen_of_each_beside_all_others(tmp_path):
    with Host(tmp_path) as host:
        for fault in FAULTS:
            add(host, fault)
        host.add("echo", name="sound", timeouts=PROMPT)
        host.start()
        host.until(lambda: host.state("closes-stdout") is WorkerState.BACKOFF)
        deviations = {fault: seen for fault in FAULTS if (seen := deviation(host, fault)) is not None}
        assert deviations == {}
        assert host.text("echo", text="unharmed") == "unharmed"
        assert host.said_of("sound") == []
        costs = host.supervisor.costs()
    assert costs["prints-between"].junk_lines > 0


def deviation(host: Host, fault: str) -> object:
    """The state, tools, notices and answer of a server if they are not as expected, else None."""
    expected = EXPECTED[fault]
    names = [name for name, tool in host.supervisor.registrations.tools().items() if tool.owner.name == fault]
    state = host.state(fault)
    answer = None
    if expected.answer is not None:
        answer = answered(host.call_of(fault, f"mcp__{fault}__echo", text="here"))
    said = "; ".join(message for _, message in host.said_of(fault))
    is_expected = (
        state is expected.state
        and len(names) == expected.tools
        and (expected.said in said if expected.said else fault in MAY_SAY or not said)
        and (expected.answer is None or expected.answer in (answer or ""))
    )
    return None if is_expected else (state, len(names), said, answer)


MAY_SAY = {"progress-for-ever"}
"""Faults whose notices depend on how far they have come."""


def test_a_server_that_ends_in_a_call_is_there_again(tmp_path):
    with Host(tmp_path) as host:
        add(host, "exits-in-call", restart={"policy": "permanent", "backoff_s": [0.01, 0.05]})
        host.start()
        assert "it ended (exit 0)" in answered(host.call("mcp__exits-in-call__leave"))
        host.until(lambda: host.is_restarted("exits-in-call"))
        assert answered(host.call("mcp__exits-in-call__echo", text="again")) == "again"


def test_a_server_that_ends_while_idle_is_there_again_by_default(tmp_path):
    with Host(tmp_path) as host:
        argv = child_argv("exits_after_answer", wire="mcp")
        host._add("idle", argv, {"dialect": "mcp", "timeouts": PROMPT, "restart": {"backoff_s": [0.01, 0.05]}})
        host.start()
        for times in (1, 2):
            assert answered(host.call("mcp__idle__echo", text="once")) == "once"
            host.until(partial(host.is_restarted, "idle", times))


def test_results_over_the_limit_fail_their_call_wherever_the_id_is(tmp_path):
    with Host(tmp_path) as host:
        add(host, "huge-line")
        host.start()
        for tool in ("first", "last"):
            assert "is over the limit" in answered(host.call(f"mcp__huge-line__{tool}"))
        assert answered(host.call("mcp__huge-line__echo", text="here")) == "here"
        assert host.cost("huge-line").timeouts == 0


STRANGE = {
    "string": "the result of tools/call is a string, not an object",
    "null": "the result of tools/call is null, not an object",
    "list": "the result of tools/call is a list, not an object",
    "empty": "",
    "content-string": "done",
    "content-object": "done",
    "part-string": "done",
    "part-unknown": "after",
    "part-untyped": "[a content block without a type]\nuntyped",
    "text-number": "[a text block whose text is a number]\n7",
    "image-empty": "[an image whose data is null, not a string]",
    "is-error-string": "?[isError is a string, not true or false; the result counts as no error]",
    "neither": "neither a method nor a result nor an error",
    "both": "MCP error 1: ill",
    "error-string": "MCP error: broken",
    "error-null": "the answer to tools/call has no result",
    "error-odd": 'MCP error E42: {"deep":1}',
    "result-type-unknown": "the result of tools/call has the type 'deferred', which zot does not know",
    "result-type-number": "the result of tools/call has the type '7', which zot does not know",
    "bare-input-required": "the result of tools/call asks for input, but does not say for which",
}


def test_strange_results_fail_at_once_or_are_text(tmp_path):
    with Host(tmp_path) as host:
        add(host, "strange-results")
        host.start()
        told = {kind: answered(host.call("mcp__strange-results__strange", kind=kind)) for kind in STRANGE}
        assert told == STRANGE
        assert host.cost("strange-results").timeouts == 0
        assert answered(host.call("mcp__strange-results__echo", text="here")) == "here"
