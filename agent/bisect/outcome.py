"""The outcome of one trial as the run has shown it: its events, its stderr and its report. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from agent.trial.plan import FoundNames, MadeCall, NoReplyLeft, RanTool, RecordedCall, SentRequest, ShownDifference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent.trial.plan import ReportLine

Json = dict[str, Any]
QUIET = frozenset({"started", "ready"})
"""Events of extensions that are no trouble."""


class TrialEnding(msgspec.Struct, frozen=True):
    """How the process of a trial has ended."""

    exit_code: int
    """The exit status, or minus the number of the signal."""
    seconds: float
    was_ended: bool = False
    """Whether it was ended because it took too long."""


class RunOutcome(msgspec.Struct, frozen=True):
    """The outcome of one trial."""

    ending: TrialEnding
    events: tuple[Json, ...]
    """The records of the run, without the results that come from the recording."""
    stderr: str
    names: tuple[str, ...] = ()
    """The names of all extensions, in the order of guards; also of those that were left out."""
    owners: dict[str, str] = {}
    """The extensions of the tools that were called."""
    ran: tuple[RanTool, ...] = ()
    """The calls of built-in tools that were made."""
    requests: int = 0
    """The number of requests that got a recorded reply."""
    differences: tuple[ShownDifference, ...] = ()
    """The differences of all requests, in order."""
    first: tuple[ShownDifference, ...] = ()
    """The differences of the first request."""
    ran_dry: bool = False
    """Whether the run has asked for more replies than the recording has."""

    @property
    def result(self) -> Json:
        """The last record; empty if the run was killed before it."""
        return next((event for event in reversed(self.events) if event.get("type") == "result"), {})

    @property
    def text(self) -> str:
        return str(self.result.get("text", ""))

    @property
    def status(self) -> str:
        return str(self.result.get("status", "killed"))

    @property
    def reason(self) -> str:
        return str(self.result.get("reason", ""))

    @property
    def complaints(self) -> list[str]:
        """The host's notices about extensions: crashes, missing verdicts, limits."""
        told = (event for event in self.events if event.get("type") == "extension" and event.get("event") not in QUIET)
        return [f"{event.get('extension')}: {event.get('message')}" for event in told]

    @property
    def peaks(self) -> dict[str, int]:
        """The peak memory of each extension's processes in bytes."""
        costs = self.result.get("extensions") or {}
        return {name: int(cost.get("rss_peak_bytes") or 0) for name, cost in costs.items()}

    def texts(self) -> Iterator[tuple[str, str]]:
        """The texts that the run shows, each with its place in words."""
        yield "the answer", self.text
        yield "the reason of the result", self.reason
        for event in self.events:
            kind = event.get("type")
            if kind == "tool_result":
                for part in event.get("content") or ():
                    yield f"the result of call {event.get('id')}", str(part.get("text", ""))
            elif kind in ("extension", "ext_notify", "error"):
                yield f"a notice about {event.get('extension', 'the run')}", str(event.get("message", ""))
            elif kind in ("ext_display", "ext_insert"):
                yield f"a text of {event.get('extension')}", str(event.get("text", ""))
            elif kind == "text_delta":
                continue
        for line in self.stderr.splitlines():
            yield "stderr", line


def outcome_of(ending: TrialEnding, stdout: bytes, stderr: bytes, report: Sequence[ReportLine]) -> RunOutcome:
    """The outcome of a trial that has written this."""
    recorded = {line.id: line.texts for line in report if isinstance(line, RecordedCall)}
    events = tuple(event for event in _events(stdout) if not _is_recorded(event, recorded))
    requests = [line for line in report if isinstance(line, SentRequest)]
    return RunOutcome(
        ending,
        events,
        stderr.decode("utf-8", "replace"),
        names=next((line.names for line in report if isinstance(line, FoundNames)), ()),
        owners={
            str(event["name"]): str(event["extension"])
            for event in events
            if event.get("type") == "tool_call" and event.get("extension")
        },
        ran=tuple(line.call for line in report if isinstance(line, MadeCall)),
        requests=len(requests),
        differences=tuple(difference for line in requests for difference in line.differences),
        first=requests[0].differences if requests else (),
        ran_dry=any(isinstance(line, NoReplyLeft) for line in report),
    )


def as_stdout(outcome: RunOutcome, *, as_json: bool) -> bytes:
    """The standard output of the command: its events, or its answer."""
    if as_json:
        return b"".join(orjson.dumps(event) + b"\n" for event in outcome.events)
    return outcome.text.encode() + b"\n" if outcome.text else b""


def _events(stdout: bytes) -> Iterable[Json]:
    for line in stdout.splitlines():
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(event, dict):
            yield event


def _is_recorded(event: Json, recorded: dict[str, tuple[str, ...]]) -> bool:
    """Whether this is a result as it was recorded. One that guards of the trial have changed is none."""
    if event.get("type") != "tool_result" or event.get("id") not in recorded:
        return False
    texts = tuple(str(part.get("text", "")) for part in event.get("content") or () if part.get("type") == "text")
    return texts == recorded[str(event["id"])]
