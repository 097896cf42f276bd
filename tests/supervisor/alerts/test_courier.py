"""A real courier with real programs: what they get, their environment, their faults, and the end of the host."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from supervisor.alerts import courier_main
from supervisor.alerts.courier import Courier
from supervisor.process.teardown import end_descendants
from tests.support.couriers import alerts, config_with, couriers, program, told, until, wait_for_couriers
from tests.support.patience import PATIENCE_S


def event(number: int = 0, word: str = "leak", left_out: int = 0) -> bytes:
    return json.dumps({"event": {"event": word, "number": number}, "left_out": left_out}).encode() + b"\n"


class Place:
    def __init__(self, loop, folder):
        self.loop, self.folder = loop, folder
        self.said: list[str] = []

    def courier(self, *rules) -> Courier:
        config = config_with(self.folder / "home", *({"events": ["leak"], **rule} for rule in rules))
        return Courier(self.loop, config, self.said.append)


@pytest.fixture
def place(loop, tmp_path):
    return Place(loop, tmp_path)


def test_a_program_gets_events_as_one_line_and_those_of_a_second_together(place, loop):
    courier = place.courier({"run": program(place.folder)})
    assert not couriers(), "without an event there is no process"
    courier.send(event(0, left_out=3))
    until(loop, lambda: bool(alerts(place.folder)))
    for number in range(1, 150):
        courier.send(event(number))
    courier.send(event(word="batch_end"))  # no rule wants it
    until(loop, lambda: len(alerts(place.folder)) == 2)
    first, second = alerts(place.folder)
    assert first == {"events": [{"event": "leak", "number": 0}], "more": 3}
    assert [each["number"] for each in second["events"]] == list(range(1, 101))
    assert second["more"] == 49
    courier.close()
    wait_for_couriers()
    assert place.said == []


def test_the_last_event_is_delivered_after_the_end_of_the_host(place):
    courier = place.courier({"run": program(place.folder)})
    courier.send(event())
    courier.close()
    wait_for_couriers()
    assert len(told(place.folder)) == 1


def test_the_teardown_of_the_host_ends_no_delivery(place, loop):
    courier = place.courier(
        {"run": program(place.folder, "cat > has; until [ -e go ]; do sleep 0.01; done; cat has > got")}
    )
    courier.send(event())
    until(loop, (place.folder / "has").exists)
    end_descendants(loop)
    courier.close()
    (place.folder / "go").touch()
    wait_for_couriers()
    assert len(told(place.folder)) == 1


def test_a_program_gets_a_minimal_environment_and_the_home_folder(place, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("LANGUAGE", "https://user:password@example.org")  # in the list, and yet a secret
    monkeypatch.setenv("SOME_SETTING", "1")
    monkeypatch.setenv("HOME", str(place.folder))
    courier = place.courier({"run": ["/bin/sh", "-c", "env > env; pwd > pwd"]})
    courier.send(event())
    courier.close()
    wait_for_couriers()
    names = {line.partition("=")[0] for line in (place.folder / "env").read_text().splitlines()}
    assert {"PATH", "HOME"} <= names
    assert not names & {"GITHUB_TOKEN", "LANGUAGE", "SOME_SETTING", "ZOT_HOST_TOKEN"}
    assert (place.folder / "pwd").read_text().strip() == os.path.realpath(place.folder)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (["/no/such/program"], "on_event[0] (program): cannot be started: No such file or directory; told once"),
        (
            ["/bin/sh", "-c", "echo first >&2; echo '\033[31mlast' >&2; exit 3"],
            "on_event[0] (sh): exit 3: last; told once",
        ),
        (["/bin/sh", "-c", "kill -9 $$"], "on_event[0] (sh): ended by signal 9; told once"),
    ],
)
def test_a_failing_program_is_told(place, loop, run, said):
    courier = place.courier({"run": run}, {"run": program(place.folder)})
    courier.send(event())
    until(loop, lambda: bool(place.said and told(place.folder)))
    courier.close()
    wait_for_couriers()
    assert place.said == [said]


def test_a_rule_that_fails_again_is_not_told_again(place, loop):
    courier = place.courier({"run": program(place.folder, "cat >> got; exit 3")})
    for number in (1, 2):
        courier.send(event(number))
        until(loop, lambda number=number: len(told(place.folder)) == number)
    until(loop, lambda: bool(place.said))
    courier.close()
    wait_for_couriers()
    assert place.said == ["on_event[0] (sh): exit 3; told once"]


def test_a_program_that_hangs_is_killed_with_what_it_has_started(place, monkeypatch, tmp_path):
    source = courier_main.__file__
    assert courier_main.LIMIT_S == 30
    quick = tmp_path / "courier_main.py"
    text = Path(source).read_text().replace("LIMIT_S = 30.0", "LIMIT_S = 0.3")
    root = os.path.dirname(os.path.dirname(os.path.dirname(source)))
    quick.write_text(text.replace("os.path.dirname(os.path.dirname(here))", repr(root)))
    monkeypatch.setattr("supervisor.alerts.courier.PROGRAM", quick)
    courier = place.courier({"run": program(place.folder, "sleep 3600 & echo $! > pid; wait")})
    courier.send(event())
    until(place.loop, lambda: bool(place.said))
    assert "took longer than 0 s and was killed" in place.said[0]
    pid = int((place.folder / "pid").read_text())
    courier.close()
    wait_for_couriers()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9


def test_a_program_that_reads_nothing_does_not_stop_the_courier(place):
    courier = place.courier({"run": ["/bin/true"]}, {"run": program(place.folder)})
    for number in range(100):
        courier.send(event(number))
    courier.close()
    wait_for_couriers()
    assert len(told(place.folder)) == 100


def test_a_courier_that_is_killed_is_replaced_once(place, loop):
    courier = place.courier({"run": program(place.folder)})
    for number in (1, 2):
        courier.send(event(number))
        until(loop, lambda number=number: len(told(place.folder)) == number)
        (pid,) = couriers()
        os.kill(pid, 9)
        until(loop, lambda number=number: len(place.said) == number)
    courier.send(event(3))
    assert not couriers()
    assert place.said == ["on_event: the process that tells of events has ended (signal SIGKILL); some may be lost"] * 2
    courier.close()


# --- addresses ------------------------------------------------------------------------------------------------


class Server:
    """A server on loopback that answers each request with `status`."""

    def __init__(self, status: int = 204):
        self.bodies: list[bytes] = []
        self.types: list[str | None] = []
        here = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                here.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                here.types.append(self.headers["Content-Type"])
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?key=secret"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(PATIENCE_S)
        self._server.server_close()


def test_an_address_gets_the_events_by_post(place):
    with Server() as server:
        courier = place.courier({"post": server.url})
        courier.send(event(7))
        courier.close()
        wait_for_couriers()
    assert [json.loads(body) for body in server.bodies] == [{"events": [{"event": "leak", "number": 7}], "more": 0}]
    assert server.types == ["application/json"]


@pytest.mark.parametrize("status", [302, 500])
def test_a_server_that_refuses_is_told_without_the_address(place, loop, status):
    with Server(status) as server:
        courier = place.courier({"post": server.url})
        courier.send(event())
        until(loop, lambda: bool(place.said))
        courier.close()
        wait_for_couriers()
    assert place.said == [f"on_event[0] (post 127.0.0.1): exit 1: the server answers {status}; told once"]


def test_a_server_that_is_not_there_is_told(place, loop):
    with Server() as server:
        pass
    courier = place.courier({"post": server.url})
    courier.send(event())
    until(loop, lambda: bool(place.said))
    courier.close()
    wait_for_couriers()
    assert place.said == [
        "on_event[0] (post 127.0.0.1): exit 1: the server cannot be reached: Connection refused; told once"
    ]
