"""The host of a batch as the batch sees it, with programs that stand in for the host."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from agent.batch.host import own_host
from agent.batch.host.own_host import HostState, OwnHost
from agent.batch.log import BatchLog
from supervisor.loop.loop import Loop
from supervisor.process.teardown import stop_all
from tests.support.patience import PATIENCE_S
from wire.batch.host_lines import HostOrder, Serving, encode
from wire.manifest import Restart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.process.child import Child

ORDER = HostOrder(version="1", home="/nowhere", cwd="/")
SERVES = encode(Serving(socket="/run/1.batch.attach", shared=("a",))).decode()
SAYS = f"import sys; sys.stdin.readline(); sys.stdout.write({SERVES!r}); sys.stdout.flush(); "
UNTIL_THE_END = "sys.stdin.read()"


class Place:
    """A host whose program is this text, and what its batch has heard of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loop = Loop()
        self.said: list[str] = []
        self.told: list[Serving] = []
        self.children: list[Child] = []
        self._program = folder / "program.py"
        self._log = BatchLog(folder / "batch.log")
        monkeypatch.setattr(own_host, "PROGRAM", self._program)
        monkeypatch.setattr(own_host, "RESTART", Restart(policy="permanent", backoff_s=(0.01, 0.02)))

    def start(self, program: str) -> OwnHost:
        self._program.write_text(program)
        host = OwnHost(
            self.loop, ORDER, env=dict(os.environ), cwd="/", log=self._log, say=self.said.append,
            on_started=self.children.append, on_serving=self.told.append,
        )  # fmt: skip
        host.start()
        return host

    def wait(self, condition: Callable[[], bool]) -> None:
        assert self.loop.run_until(condition, self.loop.clock() + PATIENCE_S), self.said

    def stop(self, host: OwnHost) -> None:
        host.retire()
        assert stop_all(self.loop, [host]) == []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    made = Place(tmp_path, monkeypatch)
    with made.loop.signals([], lambda _number: None):
        yield made
    made.loop.close()


def test_runs_wait_until_it_serves_and_it_ends_with_its_input(place: Place) -> None:
    host = place.start(SAYS + UNTIL_THE_END)
    assert (host.is_awaited, host.socket) == (True, "")
    place.wait(lambda: not host.is_awaited)
    assert (host.state, host.socket, len(place.told)) == (HostState.SERVING, "/run/1.batch.attach", 1)
    place.stop(host)
    assert [child.exit.code for child in place.children if child.exit] == [0]
    assert (host.socket, place.said) == ("", [])


def test_one_that_dies_is_restarted_and_told_once(place: Place) -> None:
    host = place.start(SAYS + UNTIL_THE_END)
    place.wait(lambda: host.state is HostState.SERVING)
    place.children[0].kill_group(signal.SIGKILL)
    place.wait(lambda: host.is_awaited)
    assert host.socket == ""
    place.wait(lambda: host.state is HostState.SERVING)
    assert len(place.children) == 2
    assert place.said == ["the host of the shared extensions has died (signal SIGKILL); a new one starts"]
    assert len(place.told) == 1
    place.stop(host)


@pytest.mark.parametrize(
    ("program", "starts", "why"),
    [
        ("raise SystemExit('broken')", 5, "has ended 5 times (exit 1: broken)"),
        ("raise SystemExit(125)", 1, "has ended (exit 125)"),
        ("print('no line of a host', flush=True); raise SystemExit(125)", 1, "has ended (exit 125)"),
    ],
)
def test_one_that_cannot_serve_is_given_up_and_told_once(place: Place, program: str, starts: int, why: str) -> None:
    host = place.start(program)
    place.wait(lambda: host.state is HostState.GIVEN_UP)
    assert (len(place.children), host.is_awaited, host.socket) == (starts, False, "")
    assert place.said == [f"the host of the shared extensions {why}; from now on each run starts its own extensions"]
    place.stop(host)


def test_one_that_never_serves_is_killed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_host, "READY_S", 0.1)
    host = place.start("import sys; " + UNTIL_THE_END)
    place.wait(lambda: host.state is HostState.GIVEN_UP)
    assert "has ended 5 times (signal SIGKILL: it did not serve within 0 s)" in place.said[0]
    place.stop(host)


def test_a_program_that_cannot_be_started_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    host = place.start("")
    assert host.state is HostState.GIVEN_UP
    assert "from now on each run starts its own extensions" in place.said[0]


def test_without_anything_to_share_runs_wait_no_longer_and_its_end_is_no_news(place: Place) -> None:
    line = encode(Serving(socket="", shared=(), private={"a": "why"})).decode()
    host = place.start(f"import sys; sys.stdin.readline(); sys.stdout.write({line!r})")
    place.wait(lambda: bool(place.children and place.children[0].exit))
    assert (host.state, host.socket, place.said) == (HostState.NONE, "", [])
    assert [told.private for told in place.told] == [{"a": "why"}]
