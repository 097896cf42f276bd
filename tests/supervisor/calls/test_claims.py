"""A tool that an extension claims is its alone: a clash ends one of the two, always the same."""

from __future__ import annotations

import pytest

from supervisor.extension.lifecycle import WorkerState
from tests.support.scripted_dialect import Sh, scripted_dialect
from tests.support.stand import Stand

dialect = pytest.fixture(scripted_dialect)
CLAIMS = ("claim t", "hello", "tool t", "ready")
"""Offers a tool that no other extension may have."""
OFFERS = ("hello", "tool t", "ready")


@pytest.fixture
def first(tmp_path, dialect):
    made = Stand(tmp_path, name="first", reserved_tools={"bash"})
    with made.host:
        yield made


@pytest.fixture
def second(first):
    """Behind the first in guard order."""
    return first.beside("second")


def place(stand: Stand, position: int) -> None:
    stand._position = position


def taken(name: str) -> str:
    return f"its tool 't' has the name of a tool of extension {name}: each name is there once; rename one"


def test_a_name_that_is_free_may_be_claimed(first, second):
    first.connect(*CLAIMS)
    second.connect("claim u", "claim v", "hello", "tool u", "tool v", "ready")
    assert first.host.tools() == {"t", "u", "v"}
    assert second.take() == b"welcome\n"


@pytest.mark.parametrize("lines", [CLAIMS, OFFERS])
def test_the_second_is_not_accepted_and_is_told_why(first, second, lines):
    first.connect(*lines)
    second.connect(*CLAIMS)
    assert second.extension.state is WorkerState.FAILED
    assert second.take() == f"rejected {taken('first')}\n".encode()
    ((kind, message),) = first.host.said_of("second")
    assert (kind, message.split("; ")[0]) == ("failed", taken("first").split("; ")[0])
    assert "restarting it in" not in message
    assert first.host.supervisor.registrations.tool("t").owner is first.extension
    assert first.host.said_of("first") == []


def test_the_name_of_a_built_in_tool_cannot_be_claimed(first):
    first.connect("claim bash", "hello")
    reason = "its tool 'bash' has the name of a built-in tool: each name is there once; rename it"
    assert first.extension.lead.failure == reason
    assert first.take() == f"rejected {reason}\n".encode()


def test_of_two_claims_the_first_in_guard_order_wins_though_it_is_slower(first, second):
    place(first, 1)
    place(second, 0)
    first.connect(*CLAIMS)
    second.connect(*CLAIMS)
    assert first.extension.state is WorkerState.FAILED
    assert first.extension.failure.startswith(taken("second"))
    assert first.take() == b"welcome\n"
    assert second.extension.state is WorkerState.READY
    assert first.host.supervisor.registrations.tools()["t"].owner is second.extension
    assert second.call("t") == []
    assert b"call 1 t\n" in second.take()


def test_who_has_not_claimed_its_name_does_not_yield(first, second):
    place(first, 1)
    place(second, 0)
    first.connect(*OFFERS)
    second.connect(*CLAIMS)
    assert (first.extension.state, second.extension.state) == (WorkerState.READY, WorkerState.FAILED)


def test_a_claim_holds_before_the_tool_is_registered(first, second):
    first.connect("claim t", "hello")
    second.connect(*CLAIMS)
    assert second.extension.state is WorkerState.FAILED


def test_if_one_name_is_refused_nobody_yields_another(first, second):
    third = first.beside("third")
    place(first, 0)
    place(third, 1)
    place(second, 2)
    first.connect("claim a", "hello", "tool a", "ready")
    second.connect("claim b", "hello", "tool b", "ready")
    third.connect("claim a", "claim b", "hello")
    states = [stand.extension.state for stand in (first, second, third)]
    assert states == [WorkerState.READY, WorkerState.READY, WorkerState.FAILED]


def test_what_is_given_up_holds_no_name(first, second):
    first.connect(*OFFERS)
    first.host.tools()
    first.say("unusable it is broken")
    assert first.extension.is_given_up
    second.connect(*CLAIMS)
    assert second.extension.state is WorkerState.READY
    assert first.host.supervisor.registrations.tools()["t"].owner is second.extension


def test_what_will_be_started_again_keeps_its_name(host, tmp_path, dialect):
    sh = Sh(host, tmp_path)
    again = {"restart": {"backoff_s": [60, 60]}}
    sh.add("dies", "echo claim t; echo hello; echo tool t; echo ready; read -r w; read -r c; exit 1", **again)
    sh.add("late", "read -r go; echo claim t; echo hello; echo tool t; echo ready; cat")
    host.launch()
    host.until(lambda: host.state("dies") is WorkerState.READY)
    host.call("t")
    host.until(lambda: host.state("dies") is WorkerState.BACKOFF)
    host.extension("late").child.stdin.send(b"go\n")
    host.until(lambda: host.state("late") is WorkerState.FAILED)
    assert host.extension("late").failure.startswith(taken("dies"))


def test_all_workers_of_an_extension_claim_the_same_and_so_does_its_next_version(host, tmp_path, dialect):
    Sh(host, tmp_path).add("twice", "echo claim t; echo hello; echo tool t; echo ready; cat", workers=2)
    host.start()
    assert host.state("twice") is WorkerState.READY
    extension = host.extension("twice")
    outcomes: list = []
    extension.handover.reload(extension.found, host.supervisor.environment_of(extension.found), None, outcomes.append)
    host.until(lambda: outcomes)
    assert outcomes[0].outcome == "reloaded"
    assert "reloaded" in [kind for kind, _ in host.said_of("twice")]


def test_a_new_version_that_clashes_leaves_the_old_one_running(host, tmp_path, dialect):
    sh = Sh(host, tmp_path)
    sh.add("has", "echo claim t; echo hello; echo tool t; echo ready; cat")
    sh.add("other", "echo hello; echo ready; cat")
    host.start()
    (tmp_path / "other.sh").write_text("echo claim t; echo hello; cat")
    extension = host.extension("other")
    outcomes: list = []
    extension.handover.reload(extension.found, host.supervisor.environment_of(extension.found), None, outcomes.append)
    host.until(lambda: outcomes)
    assert (outcomes[0].outcome, outcomes[0].reason.split("; ")[0]) == ("kept", taken("has").split("; ")[0])
    assert host.state("other") is WorkerState.READY


def test_a_name_that_moves_from_one_to_another_in_a_reload_of_both_is_no_clash(host, tmp_path, dialect):
    """The new version that takes the name may be there before the one that gives it away."""
    sh = Sh(host, tmp_path)
    sh.add("gives", "echo claim t; echo hello; echo tool t; echo ready; cat")
    sh.add("takes", "echo hello; echo ready; cat")
    host.start()
    (tmp_path / "gives.sh").write_text(
        f"while ! [ -e {tmp_path}/go ]; do sleep 0.02; done; echo hello; echo ready; cat"
    )
    (tmp_path / "takes.sh").write_text("echo claim t; echo hello; echo tool t; echo ready; cat")
    outcomes: list = []
    for name in ("gives", "takes"):
        extension = host.extension(name)
        env = host.supervisor.environment_of(extension.found)
        extension.handover.reload(extension.found, env, None, outcomes.append)
    host.until(lambda: outcomes)
    (tmp_path / "go").touch()
    host.until(lambda: len(outcomes) == 2)
    assert [(each.name, each.outcome) for each in outcomes] == [("takes", "reloaded"), ("gives", "reloaded")]
    assert host.supervisor.registrations.tools()["t"].owner.name == "takes"
