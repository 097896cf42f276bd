"""Processes of a dialect that is not zot's: floods of questions, starts that cannot succeed, and the stop."""

from __future__ import annotations

import pytest

from supervisor.extension.connection.open_calls import OPEN_LIMIT
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.host import LATER, SOON
from tests.support.scripted_dialect import NAME, Sh, scripted_dialect

dialect = pytest.fixture(scripted_dialect)
ASKS = 20_000


@pytest.fixture
def sh(host, tmp_path, dialect):
    return Sh(host, tmp_path)


@pytest.mark.usefixtures("healthy")
def test_a_process_that_asks_and_never_reads_holds_nothing_up(host, sh):
    """5 MB of replies: more than the pipe and the queue hold."""
    sh.add(
        "deaf",
        f"echo hello; echo tool a; awk 'BEGIN {{ while (i++ < {ASKS}) print \"echo 250 please\" }}'; echo ready\n"
        "sleep 600",
        timeouts={"tool_call": 0.2, "ready": 60.0},
    )
    host.start()
    host.until(lambda: host.said_of("deaf"))
    assert host.said_of("deaf") == [("warning", "does not read its stdin; what it asked for is not answered")]
    assert host.state("deaf") is WorkerState.READY
    assert host.text("echo", text="between") == "between"
    assert host.call_of("deaf", "a").failure in (Failure.TIMEOUT, Failure.NOT_READING)


def test_a_process_that_asks_and_ends_at_once_has_ended_and_that_is_all(host, sh):
    sh.add("hasty", "echo hello; echo ready; exec <&-; echo echo 250 please; exit 3")
    host.start()
    host.until(lambda: host.state("hasty") is WorkerState.EXITED or host.said_of("hasty"))
    assert [kind for kind, _ in host.said_of("hasty")] == ["exited"]


def test_the_end_of_its_input_stops_it(host, sh):
    sh.add("reader", "echo hello; echo ready; while read -r line; do :; done; echo the end >&2")
    host.start()
    host.stop()
    assert host.state("reader") is WorkerState.EXITED
    assert "the end\n" in host.log("reader")
    assert "ended: exit 0" in host.log("reader")


def test_what_is_said_first_reaches_the_process(host, sh, dialect):
    dialect.opening = b"who are you?\n"
    sh.add("asked", 'read -r question; echo hello; echo "remark asked: $question"; echo ready; read -r greeting; cat')
    host.start()
    assert host.state("asked") is WorkerState.READY
    assert "asked: who are you?" in host.log("asked")


def test_a_start_that_may_succeed_later_is_tried_again(host, sh, tmp_path):
    paid = tmp_path / "paid"
    start = f"if [ -e {paid} ]; then echo hello; echo ready; else > {paid}; echo unusable no licence; fi; cat"
    sh.add("licensed", start, restart=SOON)
    host.start()
    host.until(lambda: host.is_restarted("licensed"))
    assert [message.split(";")[0] for kind, message in host.said_of("licensed") if kind == "exited"] == ["no licence"]


@pytest.mark.usefixtures("healthy")
def test_a_start_that_cannot_succeed_is_not_tried_again(host, sh):
    sh.add("stranger", "echo hopeless it speaks version 9; cat", restart={**LATER, "policy": "permanent"})
    host.start()
    assert host.state("stranger") is WorkerState.FAILED
    ((kind, message),) = host.said_of("stranger")
    assert kind == "failed"
    assert message.startswith("it speaks version 9")
    assert "restarting it in" not in message


def test_the_defaults_of_the_dialect_are_those_of_its_manifests(host, sh, dialect):
    dialect.manifest_defaults = {"priority": 7, "timeouts": {"hello": 1.5}}
    sh.add("plain", "echo hello; echo ready; cat", timeouts={"ready": 4.0})
    manifest = host.found[-1].manifest
    assert manifest.dialect == NAME
    assert (manifest.priority, manifest.timeouts.ready) == (7, 4.0)
    host.start()


OBEYS_LATE = "trap 'sleep 1.3; exit 7' TERM; %s; while :; do sleep 0.05; done"
"""Ends 1.3 s after SIGTERM, which is too late for most dialects."""


@pytest.mark.parametrize(("term_s", "status"), [(1.0, "signal SIGKILL"), (60.0, "exit 7")])
def test_a_process_that_is_given_up_has_the_time_of_its_dialect_from_sigterm_to_sigkill(
    host, sh, dialect, term_s, status
):
    dialect.term_s = term_s
    sh.add("late", OBEYS_LATE % "echo hopeless")
    host.start()
    host.until(lambda: host.cost("late").exit_status)
    assert host.cost("late").exit_status == status


def test_the_input_is_closed_once_all_is_read(host, sh, dialect):
    """Of the first one at its answer, of the second after `drain_s`: both read what was written before."""
    dialect.drain_s = 0.3
    reads = "while read word id; do [ $word = ping ] && echo pong $id && exec cat; done; exit 9"
    sh.add("answers", f"echo hello; echo ready; {reads}")
    sh.add("mute", "echo hello; echo ready; exec cat >/dev/null")
    host.start()
    host.stop()
    assert [host.cost(name).exit_status for name in ("answers", "mute")] == ["exit 0", "exit 0"]


def test_sigterm_comes_when_the_dialect_says(host, sh, dialect):
    dialect.exit_s, dialect.term_s = 0.3, 60.0
    sh.add("timer", "trap 'exit 7' TERM; echo hello; echo ready; while :; do sleep 0.05; done")
    host.start()
    assert (host.extension("timer").lead.patience.ask, host.extension("timer").lead.patience.term) == (0.3, 60.0)
    host.stop()
    assert host.cost("timer").exit_status == "exit 7"


@pytest.mark.slow
def test_all_of_them_have_their_own_time_when_the_host_stops(host, sh, dialect):
    """A host does not wait for the slowest kind with those of the others."""
    dialect.term_s = 5.0
    sh.add("late", OBEYS_LATE % "echo hello; echo ready")
    sh.add("never", "trap '' TERM; echo hello; echo ready; while :; do sleep 0.05; done")
    host.add("ignores_shutdown")
    host.start()
    child = host.extension("ignores_shutdown").child
    never = host.extension("never").child
    host.stop()
    assert [host.cost(name).exit_status for name in ("late", "never", "ignores_shutdown")] == [
        "exit 7",
        "signal SIGKILL",
        "signal SIGKILL",
    ]
    assert not child.is_running
    assert not never.is_running


@pytest.mark.usefixtures("healthy")
def test_a_process_that_wants_things_without_end_holds_nothing_up(host, sh):
    """A hundred are answered some day; the others at once, though it never reads that."""
    answers: list = []
    host.supervisor.calls_by_extensions.others = lambda _extension, _call, answer: answers.append(answer)
    sh.add(
        "greedy",
        f'echo hello; echo tool a; awk \'BEGIN {{ while (i++ < {ASKS}) print "want " i " more" }}\'; echo ready\n'
        "sleep 600",
        timeouts={"tool_call": 0.2, "ready": 60.0},
    )
    host.start()
    assert host.state("greedy") is WorkerState.READY
    assert len(answers) == OPEN_LIMIT
    assert host.text("echo", text="between") == "between"
    for answer in answers:
        answer.give("done")
    assert host.state("greedy") is WorkerState.READY
