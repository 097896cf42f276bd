"""Runs that share an extension cannot see or touch each other, and the death of one part hurts no other."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.host import SOON
from tests.support.lives import is_gone
from tests.support.shared_stand import Stand
from tests.support.zot_process import wait_until
from wire import frames
from wire.dialects import attach
from wire.dialects.attach import PROTOCOL, ext_head, ext_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.shared_stand import SharedRun
    from tests.support.zot_process import Zot

BACK = {**SOON, "policy": "permanent"}
ALL = """
send(type="hello", name="all", capabilities=["call_tool", "submit", "cancel"])
for tool in ("echo", "note", "submit", "nested", "told", "steal", "hold", "free"):
    send(type="register_tool", name=tool, schema={"type": "object"})
send(type="subscribe", events=["session_start", "session_end", "turn_start"], intercept=["tool_call"])
send(type="ready")
told, calls, held = [], {}, []
for frame in frames():
    kind, session = frame["type"], frame.get("session_id")
    if kind == "event":
        told.append([frame["event"], session, frame.get("reason")])
    elif kind == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason="for " + str(session))
    elif kind == "tool_result":
        if frame["id"] in calls:
            result(calls.pop(frame["id"]), "nested: " + frame["content"][0]["text"])
    elif kind == "tool_call":
        name, text = frame["name"], frame["args"].get("text", "")
        if name == "hold":
            held.append(frame)
            send(type="tool_progress", id=frame["id"], text="held")
            continue
        elif name == "free":
            for each in held:
                result(each, "freed")
            held.clear()
        elif name == "note":
            send(type="notify", level="info", message=text, session_id=session)
        elif name == "submit":
            send(type="submit", text=text, session_id=session)
        elif name == "nested":
            calls["c" + frame["id"]] = frame
            send(type="call_tool", id="c" + frame["id"], name="own", args={}, parent_id=frame["id"])
            continue
        elif name == "told":
            text = json.dumps(told)
        elif name == "steal":
            other = frame["args"]["session"]
            send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "stolen"}], session_id=other)
            send(type="notify", level="info", message="stolen", session_id="nobody")
            send(type="call_tool", id="s", name="own", args={}, parent_id=frame["id"], session_id=other)
            continue
        result(frame, text + " for " + str(session))
"""
"""One extension that does all, and says for which session."""
OWN = """
hello("own")
send(type="ready")
for frame in frames():
    result(frame, sys.argv[0].rsplit("/", 1)[-1])
"""


@pytest.fixture
def stand(zot: Zot) -> Iterator[Stand]:
    with Stand(zot, is_hosted=True) as made:
        yield made


def told(run: SharedRun) -> list[list[Any]]:
    """The events that the process has seen, of all sessions: each with its session and its reason."""
    return list(json.loads(run.text("told").rpartition(" for ")[0]))


def shared(stand: Stand, *, number: int = 2, **options: Any) -> list[SharedRun]:
    stand.write("all", ALL, on_failure="deny", restart=BACK)
    stand.start()
    return [stand.run(**options) for _ in range(number)]


# --- isolation ---------------------------------------------------------------------------------------------------


def test_nothing_crosses_between_many_runs(stand: Stand) -> None:
    runs = shared(stand, number=8)
    answers: dict[int, list[Any]] = {number: [] for number in range(8)}
    for turn in range(20):
        for number, run in enumerate(runs):
            args = json.dumps({"text": f"secret {number}.{turn}"}).encode()
            run.begin_call("echo", args, answers[number].append)
            run.supervisor.observers.tell(frames.Event("turn_start", step=turn))
    for number, run in enumerate(runs):
        run.until(lambda: len(answers[number]) == 20)  # noqa: B023
        texts = [answer.frame.content[0].text for answer in answers[number]]
        assert sorted(texts) == sorted(f"secret {number}.{turn} for {run.session_id}" for turn in range(20))
        assert run.ask().reason == f"for {run.session_id}"
        run.text("note", text=f"note {number}")
        run.until(lambda: run.notes)  # noqa: B023
        assert run.notes == [("all", "info", f"note {number}")]
        assert run.said("all") == ""
    seen = told(runs[0])
    for run in runs:
        assert [event for event, session, _ in seen if session == run.session_id] == [
            "session_start", *["turn_start"] * 20,
        ]  # fmt: skip


def test_prompts_and_calls_of_tools_go_to_the_run_that_they_are_for(stand: Stand) -> None:
    asked: list[list[Any]] = [[], []]
    stand.write("all", ALL)
    stand.start()
    runs = []
    for number in range(2):
        run = stand.enter(on_host_call=lambda _extension, call, _answer, to=asked[number]: to.append(call.text))
        run.write_own(f"own-{number}", OWN)
        runs.append(run.start())
    for number, run in enumerate(runs):
        run.text("submit", text=f"prompt {number}")
        run.until(lambda: asked[number])  # noqa: B023
        assert run.text("nested") == f"nested: own-{number}.py"
    assert asked == [["prompt 0"], ["prompt 1"]]


def test_an_answer_with_another_session_is_told_off_and_dropped(stand: Stand) -> None:
    one, two = shared(stand)
    answers: list[Any] = []
    one.begin_call("steal", json.dumps({"session": two.session_id}).encode(), answers.append)
    assert stand.host is not None
    wait_until(lambda: "sends notify for the session 'nobody'" in stand.host.running.errors())
    wait_until(lambda: "; ignored" in stand.host.running.errors())
    assert two.text("echo", text="on") == f"on for {two.session_id}"
    assert answers == [], "it has no answer yet"
    assert (one.notes, two.notes) == ([], [])
    os.kill(stand.pid(one, "all"), signal.SIGKILL)
    one.until(lambda: answers)
    assert answers[0].failure is Failure.DIED


class Relay:
    """Stands between runs and the attach socket, and keeps all bytes."""

    def __init__(self, real: Path, path: Path) -> None:
        self.seen = bytearray()
        self._real = real
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def _serve(self) -> None:
        sock, _ = self._listener.accept()
        other = socket.socket(socket.AF_UNIX)
        other.connect(str(self._real))
        back = threading.Thread(target=self._pass, args=(other, sock))
        back.start()
        self._pass(sock, other)
        back.join()
        sock.close()
        other.close()
        self._listener.close()

    def _pass(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.seen += data
                to.sendall(data)
        with suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        self._threads[0].join()


def test_no_secret_of_a_run_crosses_the_socket(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-one")
    monkeypatch.setenv("MY_TOKEN", "planted-two")
    monkeypatch.setenv("PLAIN", "planted-three")
    stand.write("all", ALL, env=["MY_TOKEN", "PLAIN"])
    stand.start()
    assert stand.host is not None
    real = stand.zot.home / "run" / f"{stand.host.pid}.attach"
    path = stand.zot.folder / f"{stand.host.pid}.attach"
    relay = Relay(real, path)
    run = stand.enter(by=str(path))
    run.start()
    assert "MY_TOKEN, PLAIN differ from those of host" in "".join(run.lines)
    assert run.text("echo", text="x") == f"x for {run.session_id}"
    run.stop()
    relay.join()
    assert b'"session_id"' in relay.seen
    assert b"planted" not in relay.seen


class Client:
    """A run that speaks the lines itself."""

    def __init__(self, stand: Stand, session_id: str = "client") -> None:
        assert stand.host is not None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(stand.zot.home / "run" / f"{stand.host.pid}.attach"))
        self.lines = self.socket.makefile("rb")
        self.head = ext_head("all")
        if session_id:
            self.say(attach.Attach(PROTOCOL, "1.0", os.getpid(), session_id, "/tmp"))

    def say(self, line: Any) -> None:
        self.socket.sendall(attach.encode(line))

    def frame(self, **frame: Any) -> None:
        self.socket.sendall(ext_line(self.head, json.dumps(frame).encode() + b"\n"))

    def next(self, kind: type | None = None) -> Any:
        """The next line, or the next of this type; None at the end."""
        while line := self.lines.readline():
            decoded = attach.decode_from_host(line)
            if kind is None or isinstance(decoded, kind):
                return decoded
        return None

    def take(self) -> Client:
        self.next(attach.Attached)
        self.say(attach.Take("all"))
        self.next(attach.Registered)
        return self

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


@contextmanager
def client_of(stand: Stand, session_id: str = "client") -> Iterator[Client]:
    client = Client(stand, session_id)
    try:
        yield client
    finally:
        client.close()


def test_a_run_cannot_use_the_session_of_another(stand: Stand) -> None:
    (run,) = shared(stand, number=1)
    with client_of(stand, run.session_id) as client:
        assert client.next() == attach.Refused(f"the session {run.session_id} is attached already")
        assert client.next() is None
    with client_of(stand) as client:
        client.take()
        client.say(attach.SessionSwitched(run.session_id))
        assert client.next() == attach.Refused(f"the session {run.session_id} is of another run")
        client.frame(type="tool_call", id="1", name="echo", args={"text": "a"}, session_id=run.session_id)
        answer = json.loads(bytes(client.next(attach.Ext).frame))
        assert answer["content"][0]["text"] == "a for client"
        client.frame(type="event", event="turn_start", session_id=run.session_id, cwd="/etc")
        client.frame(type="event_intercept", id="2", event="tool_call", session_id=run.session_id)
        assert json.loads(bytes(client.next(attach.Ext).frame))["reason"] == "for client"
        seen = told(run)
        assert ["turn_start", "client", None] in seen
        assert [event for event, session, _ in seen if session == run.session_id] == ["session_start"]


def test_lines_that_cannot_be_used_are_told_off_and_the_run_is_dropped_in_the_end(stand: Stand) -> None:
    (run,) = shared(stand, number=1)
    with client_of(stand, "") as client:
        client.socket.sendall(b'{"type":"take","extension":"all"}\n')
        assert client.next() == attach.Refused("the first line must be attach")
        assert client.next() is None
    with client_of(stand, "") as client:
        client.say(attach.Attach(99, "9.0", 1, "s", "/"))
        assert "speaks version 1 of the attach protocol" in client.next().message
        assert client.next() is None
    with client_of(stand) as client:
        client.take()
        client.socket.sendall(b"junk\n" + ext_line(client.head, b'{"type":"tool_call"}\n') + b'{"type":"stop"}\n' * 200)
        refused = []
        with suppress(ConnectionResetError):
            while (line := client.next()) is not None:
                refused.append(line)
        assert all(isinstance(line, attach.Refused) for line in refused)
    assert run.text("echo", text="on") == f"on for {run.session_id}"


def test_a_run_that_floods_fills_its_own_line_alone(stand: Stand) -> None:
    (run,) = shared(stand, number=1)
    with client_of(stand) as client:
        client.take()
        count = 1000
        for number in range(count):
            client.frame(type="tool_call", id=f"h{number}", name="hold", args={})
        failed = client.next(attach.Failed)
        assert (failed.failure, failed.reason) == ("not reading", "too many requests of this run wait for it")
        for number in range(20):
            assert run.text("echo", text=str(number)) == f"{number} for {run.session_id}"
        assert run.ask().reason == f"for {run.session_id}"
    answers: list[Any] = []
    run.begin_call("hold", b"{}", answers.append)
    run.text("free")
    run.until(lambda: answers)


# --- deaths ------------------------------------------------------------------------------------------------------


def test_a_killed_run_frees_all_that_it_had_and_its_session_ends(stand: Stand) -> None:
    (run,) = shared(stand, number=1)
    code = "import socket, sys, time\ns = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
    code += "s.sendall(sys.stdin.buffer.read())\nprint('sent', flush=True)\nwhile True: s.recv(65536)\n"
    assert stand.host is not None
    path = stand.zot.home / "run" / f"{stand.host.pid}.attach"
    head = ext_head("all")
    lines = [
        attach.encode(attach.Attach(PROTOCOL, "1.0", 1, "doomed", "/tmp")),
        attach.encode(attach.Take("all")),
        ext_line(head, b'{"type":"event","event":"session_start"}\n'),
        *(ext_line(head, b'{"type":"tool_call","id":"%d","name":"hold","args":{}}\n' % n) for n in range(10)),
    ]
    with subprocess.Popen(["python3", "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(lines))
        process.stdin.close()
        process.stdout.readline()
        begun, ended = ["session_start", "doomed", None], ["session_end", "doomed", "shutdown"]
        wait_until(lambda: begun in told(run))
        process.kill()
        process.wait()
    wait_until(lambda: [each for each in told(run) if each[1] == "doomed"] == [begun, ended])
    assert run.text("echo", text="on") == f"on for {run.session_id}"


def test_the_death_of_the_extension_ends_each_call_of_each_run_once(stand: Stand) -> None:
    runs = shared(stand, number=3)
    answers: list[list[Any]] = [[], [], []]
    for mine, run in zip(answers, runs, strict=True):
        progress: list[str] = []
        for _ in range(2):
            hold = run.supervisor.registrations.tool("hold")
            run.supervisor.begin_call(hold, b"{}", mine.append, progress.append)
        run.until(lambda: progress)  # noqa: B023
    os.kill(stand.pid(runs[0], "all"), signal.SIGKILL)
    for mine, run in zip(answers, runs, strict=True):
        run.until(lambda: run.is_restarted("all"))  # noqa: B023
        assert run.text("echo", text="on") == f"on for {run.session_id}"
        assert [answer.failure for answer in mine] == [Failure.DIED] * 2
        assert "it ended (signal SIGKILL) with 6 calls pending" in run.said("all")
        run.until(lambda: ["session_start", run.session_id, None] in told(run))  # noqa: B023


def test_each_call_of_a_storm_ends_once_and_none_crosses(stand: Stand) -> None:
    """The process is killed at many moments. A run with which it died twice has a process of its own, whose frames
    name no session."""
    stand.write("all", ALL, on_failure="deny", restart={**BACK, "max": 1000})
    stand.start()
    runs = [stand.run() for _ in range(4)]
    ends: list[dict[int, list[Any]]] = [{} for _ in runs]
    judged: list[list[Any]] = [[] for _ in runs]
    begun = random.Random(7)
    for turn in range(60):
        for number, run in enumerate(runs):
            if "echo" in run.tools():
                mine = ends[number].setdefault(turn, [])
                run.begin_call("echo", json.dumps({"text": f"{number} {turn}"}).encode(), mine.append)
            event = frames.Event("tool_call", tool_id="t", tool_name="read", tool_args=frames.Raw(b"{}"))
            run.supervisor.begin_intercept(event, judged[number].append)
        if turn % 6 == 5 and (pids := stand.host.stats()["all"].pids if stand.host else ()):
            with suppress(ProcessLookupError):
                os.kill(pids[0], signal.SIGKILL)
        begun.choice(runs).run_for(begun.random() / 50)
    for number, run in enumerate(runs):
        run.until(lambda: all(ends[number].values()) and len(judged[number]) == 60)  # noqa: B023
        run.run_for(0.02)
        for turn, answers in ends[number].items():
            (answer,) = answers
            said = answer.failure or answer.frame.content[0].text
            assert said in (Failure.DIED, f"{number} {turn} for {run.session_id}", f"{number} {turn} for None")
        assert all(each.is_blocked for each in judged[number])
        assert {each.reason for each in judged[number] if not each.missing} <= {f"for {run.session_id}", "for None"}


@pytest.mark.parametrize("moment", ["idle", "call", "verdict", "start"])
def test_the_death_of_the_host_ends_all_at_once_and_leaves_nothing(stand: Stand, moment: str) -> None:
    stand.write("all", ALL, on_failure="deny")
    stand.add("never_answers", on_failure="deny")
    stand.start()
    assert stand.host is not None
    runs = [stand.run(), stand.enter()]
    pids = [stand.pid(runs[0], name) for name in ("all", "never_answers")]
    answers: list[Any] = []
    if moment == "call":
        runs[0].begin_call("hold", b"{}", answers.append)
        runs[0].run_for(0.05)
    elif moment == "verdict":
        runs[0].supervisor.begin_intercept(
            frames.Event("tool_call", tool_id="t", tool_name="read", tool_args=frames.Raw(b"{}")), answers.append
        )
    elif moment == "start":
        runs[1].launch()
    stand.host.running.process.kill()
    stand.host.running.process.wait()
    for run in runs[: 2 if moment == "start" else 1]:
        run.until(lambda: run.state("all") is WorkerState.FAILED)  # noqa: B023
        assert f"its host (pid {stand.host.pid}) has ended" in run.extension("all").failure
        assert run.ask().is_blocked
        assert run.tools() == set()
        assert [message for _, message in run.said_of("all")].count(run.extension("all").failure) == 1
    if moment in ("call", "verdict"):
        runs[0].until(lambda: answers)
        runs[0].run_for(0.05)
        assert len(answers) == 1
    wait_until(lambda: all(is_gone(pid) for pid in pids))


def test_a_stopped_host_costs_deadlines_and_no_more(stand: Stand) -> None:
    stand.write("all", ALL, on_failure="deny", timeouts={"tool_call": 0.2, "intercept": 0.2})
    stand.start()
    assert stand.host is not None
    run = stand.run()
    stand.host.running.signal(signal.SIGSTOP)
    try:
        assert run.call("echo", text="x").failure is Failure.TIMEOUT
        assert run.ask().is_blocked
        run.hosted.learn_use()
    finally:
        stand.host.running.signal(signal.SIGCONT)
    assert run.text("echo", text="y") == f"y for {run.session_id}"
    run.hosted.learn_use()
    assert run.hosted.connection is not None
    assert run.hosted.connection.use is not None
    assert run.hosted.connection.use.extensions["all"].calls == 3


# --- a run that kills --------------------------------------------------------------------------------------------

POISON = """
hello("work", intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        if "poison" in json.dumps(frame):
            os._exit(9)
        send(type="event_intercept_response", id=frame["id"], block=True, reason="judged " + frame["tool_id"])
    else:
        if frame["args"].get("die"):
            os._exit(9)
        result(frame, str(os.getpid()))
"""


def test_a_call_that_kills_a_guard_lets_no_question_of_another_through(stand: Stand) -> None:
    stand.write("guard", POISON, on_failure="allow", restart=BACK)
    stand.start()
    bad, good = stand.run(), stand.run()
    judged: dict[str, Any] = {}

    def ask(run: SharedRun, name: str, args: bytes = b"{}") -> None:
        event = frames.Event("tool_call", tool_id=name, tool_name="read", tool_args=frames.Raw(args))
        run.supervisor.begin_intercept(event, lambda judgement: judged.update({name: judgement}))

    for number in range(5):
        ask(good, f"good {number}")
        ask(bad, f"bad {number}", b'{"text": "poison"}')
    good.until(lambda: sum(name.startswith("good") for name in judged) == 5)
    bad.until(lambda: len(judged) == 10)
    assert [judged[f"good {number}"].reason for number in range(5)] == [f"judged good {number}" for number in range(5)]
    assert not any(judged[f"bad {number}"].is_blocked for number in range(5))


def test_a_run_with_which_it_died_twice_gets_a_process_of_its_own(stand: Stand) -> None:
    stand.write("guard", POISON, restart={**BACK, "max": 20})
    stand.start()
    bad, good = stand.run(), stand.run()
    assert bad.text("work") == good.text("work")
    for times in (1, 2):
        assert bad.call("work", die=True).failure is Failure.DIED
        good.until(lambda: good.is_restarted("guard", times))  # noqa: B023
        if times == 1:
            bad.until(lambda: bad.is_restarted("guard"))
    bad.until(lambda: bad.extension("guard").lead.pid is not None and bad.state("guard") is WorkerState.READY)
    assert "taken from its host: it died twice with a request of this run" in bad.said("guard")
    assert bad.text("work") == str(bad.extension("guard").lead.pid)
    assert good.text("work") == str(stand.pid(good, "guard"))
    assert bad.ask(tool_id="x").reason == "judged x"
    assert "taken from its host" not in good.said("guard")
