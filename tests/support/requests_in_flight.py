"""Requests to extensions that a test does not wait for, and what became of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire import frames

if TYPE_CHECKING:
    from supervisor.calls.request_in_flight import RequestInFlight
    from tests.support.host import Host


READ = {"tool_id": "t", "tool_name": "read", "tool_args": frames.Raw(b'{"path": "a"}')}


class RequestsInFlight:
    """Asks a host, and keeps every answer, by the name of its request."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.answers: dict[str, list[Any]] = {}

    def _keep(self, name: str) -> Any:
        answers = self.answers[name] = []
        return answers.append

    def call(self, name: str, tool: str, args: bytes = b"{}") -> RequestInFlight:
        return self.host.begin_call(tool, args, self._keep(name))

    def command(self, name: str, command: str, args: str = "") -> RequestInFlight:
        return self.host.begin_command(command, args, self._keep(name))

    def verdict(self, name: str, event: str = "tool_call", **fields: Any) -> RequestInFlight:
        fields = READ | fields if event == "tool_call" else fields
        return self.host.supervisor.begin_intercept(frames.Event(event, **fields), self._keep(name))

    def until_all(self) -> dict[str, Any]:
        """Waits until each has ended, and 50 ms longer; each must have ended once."""
        self.host.until(lambda: all(self.answers.values()))
        self.host.run_for(0.05)
        assert {name: len(one) for name, one in self.answers.items()} == dict.fromkeys(self.answers, 1)
        return {name: one[0] for name, one in self.answers.items()}
