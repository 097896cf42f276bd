"""Hosts that answer a watch more often than they were asked, or tell more than anyone can take."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from supervisor.fleet import incident_stream
from supervisor.fleet.incident_stream import IncidentStream
from supervisor.loop.loop import Loop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wire.traces.incident import Incident

WATCHED = b'{"type":"ok","id":"2"}\n'
"""The answer to the second request of a connection, which is to watch."""


def event(extension: str) -> bytes:
    return b'{"type":"extension","event":"exited","extension":"%s","message":"m"}\n' % extension.encode()


class LoudHost:
    """Takes one connection, and says all that it has to say at once."""

    def __init__(self, loop: Loop, path: Path, words: bytes) -> None:
        path.parent.mkdir()
        self._words = words
        self._client: socket.socket | None = None
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        loop.watch(self, read=True)
        self._loop = loop

    def fileno(self) -> int:
        return self._listener.fileno() if self._client is None else self._client.fileno()

    def on_readable(self, budget: int) -> None:
        if self._client is None:
            self._loop.watch(self)
            self._client, _ = self._listener.accept()
            self._client.setblocking(False)
            self._loop.watch(self, write=True)

    def on_writable(self) -> None:
        assert self._client is not None
        self._words = self._words[self._client.send(self._words) :]
        if not self._words:
            self._loop.watch(self)

    def close(self) -> None:
        self._listener.close()
        if self._client is not None:
            self._client.close()


class NoTraces:
    """Counts how often a host's trace is looked for."""

    def __init__(self) -> None:
        self.looks = 0

    def id_of(self, _pid: int) -> str:
        self.looks += 1
        return ""

    def ids(self) -> list[str]:
        return []

    def changed_at(self) -> int:
        return 0


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


def told_by(loop: Loop, folder: Path, words: bytes, traces: NoTraces, last: str) -> list[Incident]:
    """The events that are told of a host with these words, up to that of the extension `last`."""
    told: list[Incident] = []
    host = LoudHost(loop, folder / "7.sock", words)
    stream = IncidentStream(loop, [folder], traces, told.append, lambda _line: None)  # type: ignore[arg-type]
    try:
        stream.begin()
        loop.run_until(lambda: bool(told) and told[-1].extension == last)
    finally:
        stream.close()
        host.close()
    return told


def test_only_the_first_answer_to_a_watch_counts(loop: Loop, tmp_path: Path):
    traces = NoTraces()
    told = told_by(loop, tmp_path / "run", WATCHED * 500 + event("a") + WATCHED * 500 + event("b"), traces, "b")
    assert [each.extension for each in told] == ["", "a", "b"]
    assert traces.looks == 1


def test_of_a_host_that_tells_too_much_before_its_watch_the_last_events_are_kept(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(incident_stream, "BEGIN_S", 60.0)
    monkeypatch.setattr(incident_stream, "WAITING_KEPT", 100)
    before = b"".join(event(f"e{number}") for number in range(5000))
    told = told_by(loop, tmp_path / "run", before + WATCHED + event("last"), NoTraces(), "last")
    assert [each.extension for each in told[-2:]] == ["e4999", "last"]
    assert 100 <= len(told) <= 102, "with the start of the host"
