"""What the control socket needs of a supervisor: the methods and attributes that it uses, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.calls.panels import Screen
    from supervisor.calls.verdict import Judgement
    from supervisor.loop.pending import Failure
    from wire import frames
    from wire.control import ReloadOutcome
    from wire.stats import ExtensionStats, HostStats

Kind = Literal["run", "host"]
"""An agent's run, or `zot host`."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


class Described(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...


class DescribedTool(Described, Protocol):
    @property
    def schema(self) -> dict[str, Any]: ...


class ServedTool(Protocol):
    @property
    def tool(self) -> DescribedTool: ...
    @property
    def owner(self) -> Named: ...


class ServedCommand(Protocol):
    @property
    def command(self) -> Described: ...
    @property
    def owner(self) -> Named: ...


class Asked(Protocol):
    """A request under way."""

    def cancel(self, reason: str) -> None: ...


class ToolAnswer(Protocol):
    @property
    def frame(self) -> frames.ToolResult | None: ...
    @property
    def failure(self) -> Failure | None: ...
    @property
    def reason(self) -> str: ...


class CommandAnswer(Protocol):
    @property
    def frame(self) -> frames.CommandResponse | None: ...
    @property
    def failure(self) -> Failure | None: ...
    @property
    def reason(self) -> str: ...


class Served(Protocol):
    """What the control socket needs of a supervisor. The `begin_` methods call `done` exactly once, later, also after
    a cancellation; they raise `KeyError` for a name that nobody registered."""

    @property
    def extensions(self) -> Sequence[Named]: ...
    @property
    def screen(self) -> Screen: ...
    @property
    def sampled_at(self) -> float: ...
    def sample(self) -> None: ...
    def stats(self) -> dict[str, ExtensionStats]: ...
    def host_stats(self, kind: Kind, version: str, cwd: str) -> HostStats: ...
    def tools(self) -> Mapping[str, ServedTool]: ...
    def commands(self) -> Mapping[str, ServedCommand]: ...
    def restart(self, name: str) -> None: ...
    def begin_reload(self, name: str | None, done: Callable[[tuple[ReloadOutcome, ...]], None]) -> None: ...
    def tell(self, event: frames.Event) -> None: ...
    def begin_call(
        self,
        tool: str,
        args: bytes,
        done: Callable[[ToolAnswer], None],
        on_progress: Callable[[str], None] | None = None,
    ) -> Asked: ...
    def begin_command(self, name: str, args: str, done: Callable[[CommandAnswer], None]) -> Asked: ...
    def begin_intercept(self, event: frames.Event, done: Callable[[Judgement], None]) -> Asked: ...
