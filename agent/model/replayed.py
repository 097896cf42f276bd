"""Provider `replay`: answers from a cassette, and provider-side recording of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.cassette import CassetteError, Player, Recorder
from agent.model.provider import TERMINAL, Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.model.provider import Line, Provider
    from supervisor.termination import Stoppable


class ReplayProvider:
    """Serves a cassette, strictly: a request that is not the recorded one is an error that shows the difference."""

    name = "replay"
    is_ready = True

    def __init__(self, player: Player) -> None:
        self._player = player

    def start(self) -> None:
        pass

    def request(self, params: dict[str, Any]) -> Stream:
        try:
            return Stream(self._player.next(params))
        except CassetteError as error:
            return Stream([{"type": "error", "kind": "cassette", "status": None, "message": str(error)}])

    def cancel(self) -> None:
        pass

    def stoppables(self) -> Sequence[Stoppable]:
        return ()


class RecordingProvider:
    """Passes everything on, and writes each exchange to a cassette once it is complete."""

    def __init__(self, inner: Provider, recorder: Recorder) -> None:
        self.name = inner.name
        self._inner = inner
        self._recorder = recorder

    def start(self) -> None:
        self._inner.start()

    @property
    def is_ready(self) -> bool:
        return self._inner.is_ready

    def request(self, params: dict[str, Any]) -> Stream:
        return _RecordedStream(self._inner.request(params), params, self._recorder)

    def cancel(self) -> None:
        self._inner.cancel()

    def stoppables(self) -> Sequence[Stoppable]:
        return self._inner.stoppables()


class _RecordedStream(Stream):
    def __init__(self, inner: Stream, params: dict[str, Any], recorder: Recorder) -> None:
        super().__init__()
        self._inner = inner
        self._params = params
        self._recorder = recorder
        self._reply: list[Line] = []

    def has_line(self) -> bool:
        return self._inner.has_line()

    def take(self) -> Line:
        line = self._inner.take()
        self._reply.append({key: value for key, value in line.items() if key != "id"})
        if line["type"] in TERMINAL:
            self._recorder.add(self._params, self._reply)
        return line
