"""Falls of real extensions become events: of the words that a rule wants, once, without any text of the extension."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import msgspec
import pytest

from supervisor.accounting.account import GROWTH_BYTES, GROWTH_SAMPLES
from supervisor.accounting.fall import Fall
from supervisor.alerts.alerts import BURST, Alerts, EventOrigin, tell_falls
from supervisor.alerts.inbox import LONGEST
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.loop import Loop
from tests.support.couriers import config_with, program, told, wait_for_couriers
from tests.support.host import SOON, Host
from wire.traces.alert import AlertEvent

ORIGIN = EventOrigin("run", "/project", "20261128-191102-4711")
ALL = ["given_up", "limit", "no_verdict", "leak", "batch_end"]


class Kept:
    """Keeps the lines."""

    def __init__(self):
        self.lines: list[bytes] = []

    def send(self, line: bytes) -> None:
        self.lines.append(line)

    def close(self) -> None:
        pass

    def events(self) -> list[AlertEvent]:
        return [msgspec.convert(json.loads(line)["event"], AlertEvent) for line in self.lines]


@pytest.fixture
def kept():
    return Kept()


@pytest.fixture
def alerts(loop, tmp_path, kept):
    return Alerts(loop, config_with(tmp_path / "home", {"events": ALL, "run": ["x"]}), ORIGIN, kept)


def extension(name="a", *, is_hosted=None):
    link = None if is_hosted is None else SimpleNamespace(is_hosted=is_hosted)
    return SimpleNamespace(name=name, found=SimpleNamespace(link=link))


def test_an_extension_that_is_given_up_is_told_after_the_end_of_the_run(tmp_path):
    said: list[str] = []
    config = config_with(tmp_path / "home", {"events": ["given_up"], "run": program(tmp_path)})
    with Host(tmp_path) as host:
        host.write("bad", "sys.stderr.write('private\\n'); sys.exit(3)", restart={**SOON, "max": 2})
        end = tell_falls(host.supervisor.on_fall, host.loop, config, ORIGIN, said.append)
        host.launch()
        host.until(lambda: host.state("bad") is WorkerState.FAILED)
        host.stop()
        end()
    wait_for_couriers()
    (event,) = told(tmp_path)
    assert event.pop("time") > 0
    assert event.pop("pid") > 0
    assert event.pop("cause").startswith("2 exits in ")
    assert event == {
        "event": "given_up",
        "host": "run",
        "run": ORIGIN.run,
        "cwd": "/project",
        "extension": "bad",
        "kind": "given_up",
    }
    assert said == []


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("given_up", "given_up"),
        ("refused", "given_up"),
        ("limit", "limit"),
        ("no_verdict", "no_verdict"),
        ("leak", "leak"),
        ("crashed", None),
        ("ended", None),
        ("hung", None),
    ],
)
def test_the_event_of_each_kind_of_fall(alerts, kept, kind, word):
    alerts.fell(extension(), None, Fall(kind, "exit 3", 4711))
    alerts.fell(extension(), None, Fall("refused", "refused", 4711))  # it is started again
    assert [(each.event, each.kind) for each in kept.events()] == ([] if word is None else [(word, kind)])


def test_only_words_that_a_rule_wants_are_handed_over(loop, tmp_path, kept):
    config = config_with(tmp_path / "home", {"events": ["leak"], "run": ["x"]})
    alerts = Alerts(loop, config, ORIGIN, kept)
    alerts.fell(extension(), None, Fall("limit", "rss", 1))
    alerts.batch_ended("/batch", "done", {"ok": 1}, 0, 0.5)
    assert kept.lines == []


@pytest.mark.parametrize(("is_hosted", "words"), [(True, ["no_verdict"]), (False, ["limit", "no_verdict"])])
def test_the_host_of_an_extension_tells_of_it(alerts, kept, is_hosted, words):
    for kind in ("limit", "no_verdict"):
        alerts.fell(extension(is_hosted=is_hosted), None, Fall(kind, "x"))
    assert [each.event for each in kept.events()] == words


def test_a_storm_is_cut_and_counted(tmp_path, kept):
    now = 0.0
    loop = Loop(lambda: now)
    alerts = Alerts(loop, config_with(tmp_path / "home", {"events": ALL, "run": ["x"]}), ORIGIN, kept)
    for _ in range(BURST + 40):
        alerts.fell(extension(), None, Fall("no_verdict", "tool_call: timeout"))
    assert len(kept.lines) == BURST
    now = 60.0
    alerts.fell(extension(), None, Fall("no_verdict", "tool_call: timeout"))
    assert json.loads(kept.lines[-1])["left_out"] == 40
    loop.close()


def test_an_event_fits_a_pipe_at_once(loop, tmp_path, kept):
    origin = EventOrigin("batch", "/" + "\U0001f600" * 5000, "")
    alerts = Alerts(loop, config_with(tmp_path / "home", {"events": ALL, "run": ["x"]}), origin, kept)
    alerts.fell(extension("é" * 64), None, Fall("limit", "\U0001f600" * 5000, 1))
    alerts.batch_ended("/" + "\U0001f600" * 5000, "done", {"ok": 3}, 0, None)
    assert all(len(line) <= LONGEST for line in kept.lines)
    assert [each.extension for each in kept.events()] == ["é" * 64, ""]


def test_the_end_of_a_batch(alerts, kept):
    alerts.batch_ended("/batch", "failures", {"ok": 3, "failed": 1}, 12, 0.25)
    (event,) = kept.events()
    assert (event.folder, event.cause, event.exit_code, event.cost_usd) == ("/batch", "failures", 12, 0.25)
    assert event.statuses == {"ok": 3, "failed": 1}


GROWS = """
hello("grow")
send(type="ready")
held = []
for frame in frames():
    held.append(b"x" * int(frame["args"]["bytes"]))
    result(frame, "grown")
"""


def test_an_extension_that_leaks_is_told_once_while_it_runs(tmp_path, kept):
    """A real process grows, on a clock that goes faster."""
    ahead = 0.0
    step = 2 * GROWTH_BYTES // GROWTH_SAMPLES
    loop = Loop(lambda: time.monotonic() + ahead)
    with Host(tmp_path, loop=loop) as host:
        host.write("grows", GROWS)
        host.start()
        alerts = Alerts(loop, config_with(tmp_path / "home", {"events": ["leak"], "run": ["x"]}), ORIGIN, kept)
        host.supervisor.on_fall.append(alerts.fell)
        host.extension("grows").account.memory.clear()  # of what was taken by its start
        for number in range(2 * GROWTH_SAMPLES):
            if number < GROWTH_SAMPLES:
                assert kept.lines == []
            assert host.text("grow", bytes=step) == "grown"
            ahead += 1.1
            host.supervisor.sample()
        assert [(each.event, each.extension, each.pid) for each in kept.events()] == [
            ("leak", "grows", host.extension("grows").pid)
        ]
        assert kept.events()[0].cause.startswith("its memory only grows: ")
        assert [alarm.kind for alarm in host.supervisor.stats()["grows"].alarms] == ["memory_grows"]
        assert host.state("grows") is WorkerState.READY
