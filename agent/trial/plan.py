"""The file that makes a run a trial, and the lines that the run reports."""

from __future__ import annotations

import msgspec

VARIABLE = "ZOT_TRIAL"
"""The environment variable with the path of the plan. The run removes it: its children are no trials."""


class RanTool(msgspec.Struct, frozen=True):
    """A call of a built-in tool by its content: the same call of another trial has the same value."""

    tool: str
    args: str


class TrialPlan(msgspec.Struct, frozen=True):
    """One trial, as a JSON file."""

    report: str
    """The file to which the run appends its report."""
    without: tuple[str, ...] = ()
    """The names of extensions that are left out."""
    longest_s: float = 30.0
    """Seconds that the run may take. Deadlines of extensions are parts of it, see `agent.trial.deadlines`."""
    owners: dict[str, str] = {}
    """The extensions of tools, as trials with all extensions have shown them."""
    ran: tuple[RanTool, ...] | None = None
    """The calls of built-in tools that were made with all extensions. Others are not made: a guard that is left out may
    have refused or changed them. None: this is the run with all extensions."""
    waits: bool = True
    """Whether the first request waits for all extensions, so that no verdict depends on how soon they are ready."""
    keeps_results: bool = False
    """Whether built-in tools whose arguments no guard has changed get their recorded results and do not run."""


class FoundNames(msgspec.Struct, frozen=True, tag="found"):
    """The names of all extensions of the run, in the order of guards."""

    names: tuple[str, ...]


class ShownDifference(msgspec.Struct, frozen=True):
    """A difference between a request and the recorded one."""

    key: str
    """The same for the same difference of another trial."""
    path: str
    text: str
    """The place, the recorded value and the one of the run, for people."""

    @property
    def line(self) -> str:
        """The text on one line."""
        return ", ".join(part.strip() for part in self.text.splitlines())


class SentRequest(msgspec.Struct, frozen=True, tag="request"):
    """A request to the model."""

    number: int
    differences: tuple[ShownDifference, ...] = ()


class NoReplyLeft(msgspec.Struct, frozen=True, tag="no_reply_left"):
    """The run has made a request for which the recording has no reply."""


class MadeCall(msgspec.Struct, frozen=True, tag="made"):
    """A call of a built-in tool that is made."""

    call: RanTool


class RecordedCall(msgspec.Struct, frozen=True, tag="recorded"):
    """A call that got a recorded result instead of being made."""

    id: str
    texts: tuple[str, ...]
    """The texts of the result."""


ReportLine = FoundNames | SentRequest | NoReplyLeft | MadeCall | RecordedCall
