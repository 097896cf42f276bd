"""`zot events` with real hosts."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import extension
from tests.support.host_process import hosting
from tests.support.incidents import incidents, next_incident
from tests.support.zot_process import wait_until
from wire import control

if TYPE_CHECKING:
    from tests.support.zot_process import Zot
    from wire.traces.incident import Incident

ONCE = {"restart": {"backoff_s": [0.01, 0.01], "max": 2}}
LATER = {"restart": {"backoff_s": [60, 60]}}


@pytest.fixture
def failing(zot: Zot) -> Any:
    return extension(zot.folder, "exits_before_hello", name="failing", **ONCE)


@pytest.fixture
def echo(zot: Zot) -> Any:
    return extension(zot.folder, "echo")


def of(found: list[Incident], extension: str) -> list[str]:
    return [each.event for each in found if each.extension == extension]


def test_the_past_of_the_hosts_that_run(zot: Zot, failing: Any, echo: Any):
    with hosting(zot, echo) as one, hosting(zot, failing) as other:
        wait_until(lambda: other.stats()["failing"].state == "failed")
        found = incidents(zot.run("events", "--json"))
        assert [each.time for each in found] == sorted(each.time for each in found)
        assert {(each.pid, each.event) for each in found if not each.extension} == {
            (one.pid, "host_started"),
            (other.pid, "host_started"),
        }
        assert of(found, "echo") == ["started"]
        assert of(found, "failing") == ["exited", "failed"]
        assert {each.cwd for each in found} == {str(zot.cwd)}
        alone = incidents(zot.run("events", str(other.pid), "--json"))
        assert {each.pid for each in alone} == {other.pid}
        lines = zot.run("events", "--extension", "failing").text.splitlines()
        assert [line.split()[1:5] for line in lines] == [
            [str(other.pid), "host", event, "failing:"] for event in ("exited", "failed")
        ]
    assert zot.run("events").stdout == b""
    ended = incidents(zot.run("events", "--json", "--since", "1h"))
    assert [each.text for each in ended if each.event == "host_ended"] == ["killed", "killed"]
    assert of(ended, "failing") == ["exited", "failed"]
    assert zot.run("events", "--since", "2100-01-01").stdout == b""


def test_each_event_is_told_once_as_it_happens(zot: Zot, echo: Any):
    with hosting(zot, echo) as hosted, zot.start("events", "-f", "--json") as running:
        assert next_incident(running, "started", "echo").pid == hosted.pid
        for count in (1, 2):
            hosted.client.ask(control.RestartExtension(hosted.client.next_id(), "echo"), control.Ok)
            told = next_incident(running, "restarted", "echo")
            assert told.text.startswith(f"ready again, restart {count}")
        running.signal(signal.SIGINT)
        done = running.finish()
    assert done.status == 130
    assert of(incidents(done), "echo").count("restarted") == 2


def test_a_host_that_starts_later_is_told_from_its_start_to_its_end(zot: Zot, echo: Any):
    with zot.start("events", "-f", "--json") as running:
        with hosting(zot, echo) as hosted:
            assert next_incident(running, "host_started").pid == hosted.pid
            assert next_incident(running, "started", "echo").host == "host"
            assert zot.run("stop", str(hosted.pid)).status == 0
        told = next_incident(running, "host_ended")
        assert (told.pid, told.text) == (hosted.pid, "stopped")
        running.signal(signal.SIGTERM)
        assert running.finish().status == 130


def test_the_end_of_the_named_host_ends_it(zot: Zot):
    with hosting(zot, flags=("--no-ext",)) as host, zot.start("events", str(host.pid), "-f", "--json") as running:
        next_incident(running, "host_started")
        os.kill(host.pid, signal.SIGKILL)
        host.running.process.wait()
        done = running.finish()
    assert done.status == 0
    assert [(each.event, each.text) for each in incidents(done)][-1] == ("host_ended", "killed")


def test_a_host_without_a_trace_is_told_too(zot: Zot, echo: Any):
    with hosting(zot, echo, flags=("--no-trace",)) as hosted, zot.start("events", "-f", "--json") as running:
        assert next_incident(running, "host_started").pid == hosted.pid
        hosted.client.ask(control.RestartExtension(hosted.client.next_id(), "echo"), control.Ok)
        next_incident(running, "restarted", "echo")
        assert zot.run("stop", str(hosted.pid)).status == 0
        assert next_incident(running, "host_ended").host == "host"


def test_a_run_that_has_come_and_gone_is_told(zot: Zot):
    with zot.start("events", "-f", "--json") as running:
        wait_until(lambda: "no host is running" in running.errors())
        assert zot.run("--json", "hi").status != 0  # no key: it ends at once
        assert next_incident(running, "host_started").host == "run"
        assert next_incident(running, "host_ended").text == "authentication"


def test_a_host_that_is_stopped_in_its_tracks_holds_up_no_other(zot: Zot, echo: Any):
    with hosting(zot, echo) as well, hosting(zot, flags=("--no-ext",)) as hung:
        os.kill(hung.pid, signal.SIGSTOP)
        try:
            with zot.start("events", "-f", "--json") as running:
                next_incident(running, "started", "echo")
                wait_until(lambda: f"host {hung.pid} does not answer" in running.errors())
                well.client.ask(control.RestartExtension(well.client.next_id(), "echo"), control.Ok)
                next_incident(running, "restarted", "echo")
                os.kill(hung.pid, signal.SIGCONT)
                assert zot.run("stop", str(hung.pid)).status == 0
                assert next_incident(running, "host_ended").pid == hung.pid
        finally:
            if hung.running.process.poll() is None:
                os.kill(hung.pid, signal.SIGCONT)


def test_a_host_that_is_killed_while_it_hangs_is_told_once(zot: Zot):
    with hosting(zot, flags=("--no-ext",)) as hung:
        os.kill(hung.pid, signal.SIGSTOP)
        with zot.start("events", "-f", "--json") as running:
            wait_until(lambda: f"host {hung.pid} does not answer" in running.errors())
            os.kill(hung.pid, signal.SIGKILL)
            hung.running.process.wait()
            assert next_incident(running, "host_ended").text == "killed"
            running.signal(signal.SIGINT)
            done = running.finish()
    assert [each.event for each in incidents(done)] == ["host_started", "host_ended"]


def test_a_reader_that_goes_ends_it_without_a_word(zot: Zot):
    with zot.start("events", "-f") as running:
        wait_until(lambda: "no host is running" in running.errors())
        assert running.process.stdout is not None
        running.process.stdout.close()
        done = running.finish()
    assert done.status == 130
    assert "Error" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_nobody_reads_its_pipe(zot: Zot, number: signal.Signals):
    read, write = os.pipe()
    os.set_blocking(write, False)
    for size in (4096, 1):
        with suppress(BlockingIOError):
            while os.write(write, b"x" * size):
                pass
    os.set_blocking(write, True)
    with hosting(zot, flags=("--no-ext",)), hosting(zot, flags=("--no-ext",)) as hung:
        os.kill(hung.pid, signal.SIGSTOP)
        try:
            with zot.start("events", "-f", stdout=write) as running:
                wait_until(lambda: f"host {hung.pid} does not answer" in running.errors())  # the past is told next
                running.signal(number)
                assert running.finish().status == 130
        finally:
            os.kill(hung.pid, signal.SIGCONT)
            os.close(read)
            os.close(write)


def test_a_host_that_does_not_exist_is_told(zot: Zot):
    done = zot.run("events", "4999999")
    assert (done.status, done.stderr) == (1, "zot events: there is no host 4999999; zot ps lists those that run\n")
    assert "is neither a length of time" in zot.run("events", "--since", "soon").refusal()


def test_an_extension_that_no_host_has_is_told(zot: Zot, echo: Any):
    with hosting(zot, echo) as hosted:
        done = zot.run("events", "--extension", "ecko")
        assert (done.status, done.stdout) == (2, b"")
        assert "no such extension: 'ecko'; did you mean 'echo'?" in done.stderr
        assert zot.run("events", "--extension", "echo", "--since", "2100-01-01").status == 0, (
            "there is one, and no event"
        )
        with zot.start("events", "-f", "--json", "--extension", "late") as running:
            wait_until(lambda: "no host has late now; waits for it" in running.errors())
            with hosting(zot, extension(zot.folder, "echo", name="late"), echo):
                assert next_incident(running, "started", "late").host == "host"
            running.signal(signal.SIGINT)
            assert running.finish().status == 130
        assert zot.run("stop", str(hosted.pid)).status == 0
    assert zot.run("events", "--extension", "echo", "--since", "1h").status == 0
    assert "no such extension" in zot.run("events", "--extension", "ecko", "--since", "1h").stderr
    assert zot.run("events", "--extension", "ecko").status == 0, "no host is running"


def test_no_sign_of_an_extension_reaches_a_terminal(zot: Zot):
    evil = extension(zot.folder, "exits_before_hello", name="a\u202eb", **LATER)
    with hosting(zot, evil):
        done = zot.run("events")
    assert "\u202e" not in done.text
