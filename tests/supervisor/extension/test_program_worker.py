"""An extension of the embedding program at the supervisor: no process, no restart, its own place in the order."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from supervisor import queries
from supervisor.discovery.discover import Discovery
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.program_worker import RestartedElsewhereError
from supervisor.loop.link import LINK_LIMIT, Link
from supervisor.process.stop_policy import Patience
from supervisor.reload.reloader import Reloader
from tests.support.host import Host
from wire.rpc.ext_lines import manifest_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Program:
    """The embedding program: keeps what it is sent, and answers when it is told to."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.frames: list[dict] = []
        self.ends: list[str] = []
        self.is_open = True
        self.queued = 0
        self.stuck_since: float | None = None
        self.answers = lambda _frame: None

    def frame(self, _extension: str, frame: bytes) -> None:
        assert frame.endswith(b"\n")
        self.frames.append(json.loads(frame))
        if self.kinds()[-1] == "event_intercept" and (answer := self.answers(self.frames[-1])) is not None:
            self.host.loop.call_later(0, lambda: self.say(**answer))

    def ended(self, _extension: str, reason: str) -> None:
        self.ends.append(reason)

    def connect(self, name: str = "mine", *, position: int = 1, capabilities: Sequence[str] = (), **manifest) -> None:
        self.link = Link(name, self)
        given = json.dumps(manifest).encode()
        found = FoundExtension(Path("/project"), manifest_of(name, given), Scope.PROGRAM, position, link=self.link)
        self.extension = self.host.supervisor.add(found)
        self.say(type="hello", name=name, capabilities=capabilities)
        self.say(type="register_tool", name="add", schema={"type": "object"})
        self.say(type="subscribe", intercept=["tool_call"], events=["session_end"])
        self.say(type="ready")

    def say(self, **frame) -> None:
        self.link.on_frames(json.dumps(frame).encode() + b"\n")

    def kinds(self) -> list[str]:
        return [frame["type"] for frame in self.frames]


@pytest.fixture
def host(tmp_path):
    with Host(tmp_path, owns_process=False) as made:
        yield made


@pytest.fixture
def program(host):
    host.start()
    made = Program(host)
    made.connect()
    return made


def test_it_has_no_process_and_is_sampled_with_frames_only(host, program):
    host.supervisor.sample()
    host.supervisor.sampler.sample(thorough=True)
    figures = host.supervisor.stats()["mine"]
    assert (figures.state, figures.pids, figures.processes, figures.cpu_s, figures.rss_bytes) == ("ready", (), 0, 0, 0)
    assert (figures.in_client, figures.frames_in) == (True, 4)
    status = queries.status(host.supervisor, "mine")
    assert (status.state, status.guards, status.folder) == ("ready", ("tool_call",), "/project")


def test_a_wait_for_its_verdict_goes_on_with_passes_of_the_loop(host, program):
    program.answers = lambda frame: {"type": "event_intercept_response", "id": frame["id"], "block": True}
    assert host.ask().is_blocked
    assert host.ask(waits=False).is_blocked
    assert program.extension.account.latency.percentile(0.5) is not None


def test_one_that_does_not_read_fails_at_once(host, program):
    program.queued = LINK_LIMIT + 1
    assert host.call("add").reason == f"it does not read the lines for it ({LINK_LIMIT + 1} bytes wait)"
    program.queued, program.stuck_since = 1, host.loop.clock() - 100
    assert "has not read the lines for it" in host.call("add").reason


def test_a_call_fails_at_once_when_the_program_goes(host, program):
    answers = []
    host.begin_call("add", b"{}", answers.append)
    program.link.on_lost("it has gone")
    host.until(lambda: answers)
    assert answers[0].reason == "it has gone"
    assert (program.ends, program.extension.state) == (["it has gone"], WorkerState.EXITED)
    assert host.tools() == set()
    assert host.said_of("mine") == []
    program.say(type="ready")  # the host no longer listens
    program.link.on_lost("again")
    assert program.ends == ["it has gone"]


def test_one_that_never_gets_ready_and_goes_keeps_nobody_waiting(host):
    host.start()
    program = Program(host)
    program.connect(on_failure="deny")
    late = Program(host)
    late.link = Link("late", late)
    found = FoundExtension(
        Path("/project"), manifest_of("late", b'{"on_failure":"deny"}'), Scope.PROGRAM, 2, link=late.link
    )
    host.supervisor.add(found)
    assert not host.supervisor.is_settled
    late.link.on_lost("it has gone")
    assert host.supervisor.is_settled
    program.answers = lambda frame: {"type": "event_intercept_response", "id": frame["id"]}
    assert host.ask().is_blocked  # nobody knows what it would have guarded
    host.extension("late").leave("it has been ended")
    assert not host.ask().is_blocked


def test_the_host_says_shutdown_and_waits_for_nothing(host, program):
    host.supervisor.observers.begin_session()
    for worker in program.extension.all_workers:
        worker.patience = Patience(hint=600, ask=600)
    host.stop()
    assert (program.kinds()[-2:], program.ends) == (["event", "shutdown"], ["the host stops"])


def test_a_kill_closes_the_link(host, program):
    host.supervisor.kill_now()
    assert program.ends == ["the host stops"]
    program.extension.lead.kill(signal.SIGKILL)
    assert program.ends == ["the host stops"]


def test_the_host_does_not_restart_it(host, program):
    with pytest.raises(RestartedElsewhereError, match="only that program can restart it"):
        host.supervisor.restart("mine")
    assert program.extension.state is WorkerState.READY


def test_a_reload_keeps_it(host, program):
    outcomes = []
    host.reloader.begin("mine", outcomes.extend)
    host.until(lambda: outcomes)
    assert outcomes[0].outcome == "kept"
    assert "only that program can restart it" in outcomes[0].reason
    assert program.extension.state is WorkerState.READY


@pytest.mark.parametrize("rediscovers", [False, True])
def test_a_reload_of_all_leaves_it_alone(host, program, rediscovers):
    def discovered():
        named_alike = replace(program.extension.found, link=None, folder=Path("/elsewhere"), scope=Scope.GLOBAL)
        return Discovery((named_alike,), ())
        yield

    outcomes = []
    Reloader(host.supervisor, rediscover=discovered if rediscovers else None).begin(None, outcomes.append)
    host.until(lambda: outcomes)
    told = [(outcome.outcome, outcome.reason) for outcome in outcomes[0]]
    assert told == ([("skipped", "an extension of the client program has its name")] if rediscovers else [])
    assert (program.extension.state, program.ends) == (WorkerState.READY, [])


def test_guards_of_the_program_come_after_those_that_were_named(host):
    host.add("echo", name="z")
    host.start()
    for position, name in ((1, "y"), (2, "x")):
        Program(host).connect(name, position=position)
    Program(host).connect("first", position=3, priority=1)
    assert [extension.name for extension in host.supervisor.extensions] == ["first", "z", "y", "x"]
    assert Scope.EXPLICIT < Scope.PROGRAM < Scope.PROJECT < Scope.GLOBAL


def test_a_watchdog_gives_up_a_program_that_does_not_answer(host):
    host.start()
    program = Program(host)
    program.link = Link("mine", program)
    given = b'{"watchdog_s": 0.02}'
    found = FoundExtension(Path("/project"), manifest_of("mine", given), Scope.PROGRAM, 1, link=program.link)
    extension = host.supervisor.add(found)
    program.say(type="hello", name="mine", capabilities=["ping"])
    program.say(type="ready")
    host.until(lambda: program.ends)
    assert (program.kinds()[-1], extension.state) == ("ping", WorkerState.FAILED)
    assert program.ends == ["it hangs: no pong within 0.02 s of a ping"]


def test_a_limit_of_frames_closes_it(host, program):
    extension = program.extension
    extension.handover.current.over_limit(extension.lead, "frames_per_s 10 (limit 5)")
    assert program.ends == ["it is over its limits: frames_per_s 10 (limit 5)"]
    assert (extension.state, extension.account.restarts) == (WorkerState.FAILED, 0)


def test_nothing_waits_for_one_that_has_gone(host):
    def waiting_for(name: str, **manifest) -> int:
        """Timers that wait when an extension with this manifest has gone."""
        program = Program(host)
        program.connect(name, capabilities=["ping"], **manifest)
        assert ("ping" in program.kinds()) == bool(manifest)
        program.link.on_lost("it has gone")
        return sum(timer.callback is not None for _, _, timer in host.loop._timers)

    host.start()
    assert waiting_for("calm") == waiting_for("watched", watchdog_s=3600)
