"""The log of `zot host` and of `zot mcp serve`: events with time, level and extension, as lines for a person or as
JSON.

Of `cli` only this module imports structlog, which takes 0.1 s and 7 MB.
"""

from __future__ import annotations

import logging
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from cli.choices import LogFormat, LogLevel
from cli.terminal import wants_style
from wire.text import printable

_rich = sys.modules.get("rich")
sys.modules["rich"] = None  # type: ignore[assignment]  # structlog would import it to draw exceptions: 4 MB and 0.1 s
try:
    import structlog
finally:
    del sys.modules["rich"]
    if _rich is not None:
        sys.modules["rich"] = _rich

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.host_event import HostEvent

EVENT_WIDTH = 10
LEVEL_WIDTH = 7
RESET, BOLD, DIM, RED, YELLOW, GREEN, CYAN = (f"\x1b[{code}m" for code in (0, 1, 2, 31, 33, 32, 36))


class HostLog:
    """Writes each event of at least this level as one line, LF included, with `write`, which must not wait. `now` gives
    the local time with its offset."""

    def __init__(
        self,
        write: Callable[[bytes], object],
        *,
        form: LogFormat,
        level: LogLevel,
        is_coloured: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        is_json = form is LogFormat.json
        render = [_json] if is_json else [_remove_doubled_level, _console(is_coloured=is_coloured)]
        lowest = logging.getLevelNamesMapping()[level.value.upper()]
        self._now = now
        self._logger: Any = structlog.wrap_logger(
            _LineSink(write),
            processors=[self._with_time, structlog.processors.add_log_level, _sort_keys, *render],
            wrapper_class=structlog.make_filtering_bound_logger(lowest),
            context_class=dict,
        )

    @classmethod
    def of(cls, flags: Mapping[str, Any], write: Callable[[bytes], object]) -> HostLog:
        """The log on stderr that the flags of a host ask for."""
        level = LogLevel.error if flags.get("quiet") else LogLevel(flags["log_level"])
        return cls(write, form=LogFormat(flags["log_format"]), level=level, is_coloured=wants_style(2))

    def __call__(self, event: HostEvent) -> None:
        about = {"extension": event.extension} if event.extension else {}
        getattr(self._logger, event.level)(event.event, **about, message=printable(event.message), **event.fields)

    def _with_time(self, _logger: Any, _method: str, event: Any) -> Any:
        return {"time": self._now().isoformat(timespec="milliseconds"), **event}


class _LineSink:
    """The logger of structlog: gets each rendered line."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write

    def msg(self, line: str) -> None:
        self._write(line.encode("utf-8", "replace") + b"\n")

    debug = info = warning = error = msg


def _sort_keys(_logger: Any, _method: str, event: Any) -> Any:
    first = ("time", "level", "event", "extension", "message")
    return {**{key: event[key] for key in first if key in event}, **event}


def _remove_doubled_level(_logger: Any, _method: str, event: Any) -> Any:
    """A notice of the kind `warning` has that level."""
    return {**event, "event": ""} if event["event"] == event["level"] else event


def _json(_logger: Any, _method: str, event: Any) -> str:
    said = {key: _valid(value) for key, value in event.items()}
    return msgspec.json.encode(said, enc_hook=str).decode()


def _valid(value: object) -> object:
    """A text without the lone surrogates of a path that is not UTF-8."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _console(*, is_coloured: bool) -> structlog.dev.ConsoleRenderer:
    """One line: time, level, event, extension, message, and the fields as `key=value`."""

    def style(code: str) -> str:
        return code if is_coloured else ""

    def column(key: str | None, code: str, *, width: int = 0, after: str = "") -> structlog.dev.KeyValueColumnFormatter:
        return structlog.dev.KeyValueColumnFormatter(
            key, style(code), style(RESET), value_repr=str, width=width, postfix=after
        )

    def level(key: str, value: object) -> str:  # noqa: ARG001
        code = {"debug": DIM, "info": GREEN, "warning": YELLOW, "error": RED}[str(value)]
        return f"{style(code)}{value:<{LEVEL_WIDTH}}{style(RESET)}"

    return structlog.dev.ConsoleRenderer(
        columns=[
            structlog.dev.Column("", column(style(CYAN), "")),
            structlog.dev.Column("time", column(None, DIM)),
            structlog.dev.Column("level", level),
            structlog.dev.Column("event", column(None, "", width=EVENT_WIDTH)),
            structlog.dev.Column("extension", column(None, BOLD, after=":")),
            structlog.dev.Column("message", column(None, "")),
        ]
    )
