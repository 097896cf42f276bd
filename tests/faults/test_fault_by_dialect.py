"""One row for each fault of a process, and what the host reports of it in each dialect: an extension of zot, an MCP
server and an extension of the Copilot CLI have the fault at the same time, and a sound extension works beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from supervisor.calls.merged_registrations import OwnedTool
from supervisor.extension.lifecycle import WorkerState
from tests.support.extension_folder import child_argv
from tests.support.host import LATER, Host
from tests.support.lives import is_gone

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.calls.tool_call import ToolAnswer

DIALECTS = ("zot", "mcp", "copilot")
SHORT = {"hello": 0.5, "ready": 0.5, "tool_call": 0.3}
ByDialect = str | tuple[str, str, str]
"""Words for all dialects, or for each in the order of `DIALECTS`."""


class Row(NamedTuple):
    """The report of a fault."""

    says: ByDialect = ""
    """In every notice about it. Empty: there is no notice."""
    answers: tuple[ByDialect, ...] = ()
    """In the answers to calls of its tool, one after another."""
    fails: tuple[bool, ...] = ()
    """Whether these calls fail."""
    state: WorkerState = WorkerState.READY
    late: tuple[str, ...] = ()
    """The deadlines that it lets pass."""
    status: ByDialect = "exit 0"
    """The exit status of its process."""
    junk: int = 0
    """The number of lines that were skipped, at least."""
    leaves: bool = False
    """Whether its argument is a file, into which it writes the pid of a process that it leaves behind."""


DOWN = WorkerState.BACKOFF
JUNK = "writes lines that are not messages to its stdout; they are skipped and counted"
MUTE = "closed its stdout; it can send nothing more"
NO_ANSWER = "no answer within 0.3 s"
TERRIBLE = 'it ended (exit 7): "dies_in_call: something terrible happened"'
OVER = (
    "a tool_result frame of 20971597 bytes is over the limit of 6291456 bytes; dropped",
    "an answer of 20971602 bytes is over the limit of 12582912 bytes; dropped",
    "a message of 20971663 bytes is over the limit of 6291456 bytes; dropped",
)
NO_HELLO = (
    "said no hello within 0.5 s; restarting it",
    "said no hello within 0.5 s; it has not answered initialize; restarting it",
    "said no hello within 0.5 s; it has not called joinSession(); restarting it",
)
ROWS = {
    "silent": Row(NO_HELLO, state=DOWN, late=("hello",), status="signal SIGTERM"),
    "exits_before_hello": Row(
        'it exited before its hello (exit 3): "exits_before_hello: cannot find my configuration"; restarting it',
        state=DOWN,
        status="exit 3",
    ),
    "exits_before_ready": Row(
        'it ended (exit 4): "exits_before_ready: had enough"; restarting it', state=DOWN, status="exit 4"
    ),
    "no_ready": Row(
        ("", "", "has not listed all that it offers within 0.5 s of its hello"), ("quiet",), (False,), late=("ready",)
    ),
    "junk_first": Row(JUNK, ("here",), (False,), junk=3),
    "stderr_flood": Row("", ("here",), (False,)),
    "dies_in_call": Row(
        'it ended (exit 7) with 1 call pending: "dies_in_call: something terrible happened"; restarting it',
        (TERRIBLE, TERRIBLE),
        (True, True),
        state=DOWN,
        status="exit 7",
    ),
    "killed_in_call": Row(
        "it ended (signal SIGKILL) with 1 call pending; restarting it",
        ("it ended (signal SIGKILL)", "it ended (signal SIGKILL); it is restarted in"),
        (True, True),
        state=DOWN,
        status="signal SIGKILL",
    ),
    "exits_after_answer": Row("it ended (exit 0)", ("here", "it ended (exit 0)"), (False, True), state=DOWN),
    "answers_late": Row(
        f"failed: {NO_ANSWER}",
        (NO_ANSWER, ("answer to 2", "answer to", "answer to")),
        (True, False),
        late=("tool_call",),
    ),
    "answers_twice": Row("", ("first", "first"), (False, False)),
    "answers_others": Row("", ("here", "here"), (False, False)),
    "huge_line": Row(OVER, (OVER, "small"), (True, False), junk=1),
    "junk_in_calls": Row(JUNK, ("here", "here"), (False, False), junk=4),
    "floods_stdout": Row(JUNK, ("here",), (False,), junk=65536),
    "unknown_messages": Row(
        ("'no_such_frame', which this host does not know; ignored", "", ""), ("here", "here"), (False, False)
    ),
    "hangs": Row(f"failed: {NO_ANSWER}", (NO_ANSWER,), (True,), late=("tool_call",)),
    "deaf": Row(f"failed: {NO_ANSWER}", (NO_ANSWER,), (True,), late=("tool_call",), status="signal SIGTERM"),
    "closes_stdin": Row("stdin", ("it closed its stdin",), (True,), status="signal SIGTERM"),
    "closes_stdout": Row(f"{MUTE}; restarting it", (MUTE,), (True,), state=DOWN, status="signal SIGTERM"),
    "grandchild": Row("", ("here",), (False,), leaves=True),
    "daemon_grandchild": Row("", ("here",), (False,), leaves=True),
    "ignores_shutdown": Row("", ("here",), (False,), status="signal SIGKILL"),
}


def for_each(words: ByDialect) -> dict[str, str]:
    return dict(zip(DIALECTS, (words,) * 3 if isinstance(words, str) else words, strict=True))


def calls(host: Host) -> dict[str, ToolAnswer]:
    """The answers to a call of the only tool of each process; all three run at once."""
    answers: dict[str, ToolAnswer] = {}
    for dialect in DIALECTS:
        owner = host.extension(dialect)
        (tool,) = owner.tools.values()
        host.supervisor.begin_call(
            OwnedTool(tool, owner), b'{"text": "here"}', lambda answer, to=dialect: answers.update({to: answer})
        )
    host.until(lambda: len(answers) == len(DIALECTS))
    return answers


def text_of(answer: ToolAnswer) -> str:
    return answer.reason if answer.frame is None else "".join(part.text or "" for part in answer.frame.content or ())


@pytest.mark.parametrize("fault", ROWS)
def test_the_host_reports_it_and_another_extension_works(fault: str, tmp_path: Path) -> None:
    row = ROWS[fault]
    with Host(tmp_path) as host:
        host.write("sound", 'hello("sound")\nsend(type="ready")\nfor frame in frames(): result(frame, "unharmed")')
        for dialect in DIALECTS:
            manifest = {"dialect": dialect, "timeouts": {name: SHORT[name] for name in row.late}}
            restart = {**LATER, "policy": "permanent"}
            args = [tmp_path / f"{dialect}.pid"] if row.leaves else []
            host._add(dialect, child_argv(fault, *args, wire=dialect), {**manifest, "restart": restart})
        host.start()
        for words, fails in zip(row.answers, row.fails, strict=True):
            answers, wanted = calls(host), for_each(words)
            assert all(wanted[dialect] in text_of(answer) for dialect, answer in answers.items()), answers
            assert [answer.frame is None for answer in answers.values()] == [fails] * 3, answers
        host.until(lambda: all(host.state(dialect) is row.state for dialect in DIALECTS))
        assert host.text("sound") == "unharmed"
        assert host.said_of("sound") == []
        said = {dialect: [message for _, message in host.said_of(dialect)] for dialect in DIALECTS}
        host.stop()
        costs = {dialect: host.cost(dialect) for dialect in DIALECTS}
    assert all(is_gone(int(file.read_text())) for file in tmp_path.glob("*.pid"))
    for dialect, words in for_each(row.says).items():
        assert all(words in message for message in said[dialect]) if words else said[dialect] == [], said
        assert len(set(said[dialect])) == len(said[dialect]), "each once"
        assert bool(said[dialect]) is bool(words), said
    assert {dialect: cost.exit_status for dialect, cost in costs.items()} == for_each(row.status)
    assert all(cost.junk_lines >= row.junk for cost in costs.values())
