"""Node is profiled by its inspector, which is closed afterwards, come what may."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.process.table import ON_LINUX, Identity, is_alive, read_process
from supervisor.profile import inspector
from supervisor.profile.errors import ProfileError
from supervisor.profile.speedscope import from_node, hot_spots
from tests.support.profile_targets import BUSY_NODE, HANGING_NODE, SPIN, needs_node, node, python, running
from tests.support.zot_process import wait_until

PORT = "--inspect-port=0"


@needs_node
@pytest.mark.parametrize("code", [BUSY_NODE, HANGING_NODE], ids=["busy", "hanging"])
def test_a_node_process_is_profiled_and_its_inspector_closed(code: str):
    with running(node(code, PORT)) as target:
        made, warning = inspector.record(target, 0.5)
        assert warning == ""
        assert inspector._ports(target.pid) == set()
        assert is_alive(target)
    spots = hot_spots(from_node(made, "node"), {}, 0.5)
    assert "countTheStars" in [spot.function for spot in spots]


def start_profiler(target: Identity) -> subprocess.Popen[bytes]:
    """Begins a profile of ten minutes."""
    code = "import sys\nfrom supervisor.process.table import *\nfrom supervisor.profile import inspector\n"
    code += "inspector.record(read_process(int(sys.argv[1])).identity, 600)"
    return subprocess.Popen(
        [sys.executable, "-c", code, str(target.pid)], stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[3]
    )


@needs_node
def test_a_profiler_that_was_killed_does_not_hinder_the_next():
    with running(node(BUSY_NODE, PORT)) as target:
        with start_profiler(target) as profiler:
            wait_until(lambda: bool(inspector._ports(target.pid)))
            profiler.kill()
        (port,) = inspector._ports(target.pid)
        with inspector._Session(port), pytest.raises(ProfileError, match="is being profiled already"):
            inspector.record(target, 0.2)
        wait_until(lambda: inspector._open_inspector(target.pid) == (port, False))
        made, warning = inspector.record(target, 0.2)
        assert (bool(made), warning) == (True, "")
        assert inspector._ports(target.pid) == set()


@needs_node
def test_an_inspector_with_which_the_process_was_started_stays_open():
    with running(node(BUSY_NODE, "--inspect=127.0.0.1:0")) as target:
        assert inspector.record(target, 0.2)[0]
        assert inspector._ports(target.pid)


@pytest.mark.parametrize(
    ("words", "opens"),
    [
        (["node", "--inspect", "a.js"], True),
        (["--inspect-brk=9230"], True),
        (["--inspect-wait"], True),
        (["node", "--inspect-port=0", "--inspector", "a.js"], False),
    ],
)
def test_the_options_that_open_the_inspector_are_known(words: list[str], opens: bool):
    assert inspector.opens_inspector(words) is opens


@needs_node
def test_the_inspector_is_closed_after_an_interruption():
    with running(node(BUSY_NODE, PORT)) as target:
        with start_profiler(target) as profiler:
            wait_until(lambda: bool(inspector._ports(target.pid)))
            profiler.send_signal(signal.SIGINT)
        wait_until(lambda: not inspector._ports(target.pid))
        assert is_alive(target)


def test_a_process_that_is_not_node_gets_no_signal():
    with running(python(SPIN)) as target:
        with pytest.raises(ProfileError, match="is not Node"):
            inspector.record(target, 1)
        assert is_alive(target), "SIGUSR1 would have ended it"


@needs_node
@pytest.mark.skipif(not ON_LINUX, reason="the kernel does not say there which signals are handled")
def test_a_process_that_does_not_handle_the_signal_gets_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inspector, "_status", lambda _pid: "SigCgt:\t0000000000004002\n")
    with running(node(BUSY_NODE, PORT)) as target:
        with pytest.raises(ProfileError, match="does not open its inspector"):
            inspector.record(target, 1)
        assert is_alive(target)


def test_the_mask_of_handled_signals_is_read():
    status = "Name:\tnode\nSigIgn:\t0000000000001000\nSigCgt:\t0000000100004602\n"
    assert inspector.handles(status, signal.SIGUSR1)
    assert not inspector.handles(status, signal.SIGUSR2)
    assert not inspector.handles("", signal.SIGUSR1)


@needs_node
def test_an_inspector_that_does_not_open_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(inspector, "OPEN_S", 0.5)
    monkeypatch.setattr(inspector, "LATE_S", 0.1)
    own = "process.on('SIGUSR1', () => {}); setInterval(() => {}, 1000); console.log('up')"
    with (
        running(node(own, PORT)) as target,
        pytest.raises(ProfileError, match=r"has opened no inspector within 0\.5 s"),
    ):
        inspector.record(target, 0.5)


def test_a_process_that_has_ended_is_told():
    ended = subprocess.Popen(["sleep", "60"])
    found = read_process(ended.pid)
    assert found is not None
    ended.kill()
    ended.wait()
    with pytest.raises(ProfileError, match="has ended"):
        inspector.record(found.identity, 1)
