"""Provider `replay`, which answers from a cassette, and the provider that records one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.cassette import CassetteError, CassettePlayer, CassetteRecorder
from agent.model.provider import TERMINAL, UNRECORDED, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.model.provider import Line, Provider
    from supervisor.process.teardown import Stoppable

NOT_IN_A_CASSETTE = ("id", "advice", "limits", "unanswered", "reply_id", "model")
"""Fields of a line. Advice, rate limits and the names of replies are about the access during the recording."""


class ReplayProvider:
    """Answers from a cassette. A request that differs from the recorded one fails; the error shows the differences."""

    name = "replay"
    is_ready = True
    error: str | None = None

    def __init__(self, player: CassettePlayer) -> None:
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

    def warm_up(self) -> None:
        pass

    def stoppables(self) -> Sequence[Stoppable]:
        return ()


class RecordingProvider:
    """Passes requests on to another provider, and writes each complete exchange to a cassette.

    A write error (a full disk) ends the recording, not the run.
    """

    def __init__(self, inner: Provider, recorder: CassetteRecorder) -> None:
        self.name = inner.name
        self.address = getattr(inner, "address", "")
        self.error: str | None = None
        self._inner = inner
        self._recorder = recorder

    def start(self) -> None:
        self._inner.start()

    @property
    def is_ready(self) -> bool:
        return self._inner.is_ready

    def request(self, params: dict[str, Any]) -> Stream:
        return _RecordedStream(self._inner.request(params), lambda reply: self._record(params, reply))

    def _record(self, params: dict[str, Any], reply: list[Line]) -> None:
        if self.error is not None:
            return
        try:
            self._recorder.add(params, reply)
        except CassetteError as error:
            self.error = f"the cassette is incomplete: {error}"

    def cancel(self) -> None:
        self._inner.cancel()

    def warm_up(self) -> None:
        self._inner.warm_up()

    def stoppables(self) -> Sequence[Stoppable]:
        return self._inner.stoppables()


class _RecordedStream(Stream):
    def __init__(self, inner: Stream, on_complete: Callable[[list[Line]], None]) -> None:
        super().__init__()
        self._inner = inner
        self._on_complete = on_complete
        self._reply: list[Line] = []

    def has_line(self) -> bool:
        return self._inner.has_line()

    def take(self) -> Line:
        line = self._inner.take()
        if line["type"] not in UNRECORDED:
            self._reply.append({key: value for key, value in line.items() if key not in NOT_IN_A_CASSETTE})
        if line["type"] in TERMINAL:
            self._on_complete(self._reply)
        return line
