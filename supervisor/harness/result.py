"""The result of one played script: the lines that describe a failure, and a new script of the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.harness.comparison import compact_json
from supervisor.harness.script import Side, write_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.harness.comparison import Difference, ScriptPaths
    from supervisor.harness.recorded_process import RecordedLine
    from supervisor.harness.script import ScriptHeader, ScriptStep

FRAME_SHOWN = 400
"""Maximum number of characters of a frame in a failure."""


@dataclass(frozen=True)
class ScriptFailure:
    """Why a script failed, and at which step."""

    reason: str
    step: ScriptStep | None = None
    """The step of the script; None before the first step and after the last."""
    said: dict[str, Any] | None = None
    """The frame that the extension said instead."""
    differences: tuple[Difference, ...] = ()

    def lines(self) -> list[str]:
        """Describes the failure in a few lines: `-` marks what was expected, `+` what was said."""
        where = f"line {self.step.line}: " if self.step is not None and self.step.line else ""
        lines = [f"{where}{self.reason}"]
        if any(difference.path == "type" for difference in self.differences) or (
            self.step is not None and not self.differences
        ):
            if self.step is not None and self.said is not None:
                lines.append(f"  - {compact_json(self.step.frame, FRAME_SHOWN)}")
            elif self.step is not None:
                lines.append(f"    {compact_json(self.step.frame, FRAME_SHOWN)}")
            if self.said is not None:
                lines.append(f"  + {compact_json(self.said, FRAME_SHOWN)}")
            return lines
        for difference in self.differences:
            lines += [f"  - {difference.path}: {difference.expected}", f"  + {difference.path}: {difference.said}"]
        if self.said is not None and not self.differences:
            lines.append(f"  + {compact_json(self.said, FRAME_SHOWN)}")
        return lines


@dataclass(frozen=True)
class ScriptResult:
    """The result of one played script."""

    script: str
    steps: int
    """Steps in the script."""
    done: int
    """Steps that were played before the failure."""
    failure: ScriptFailure | None
    said: tuple[RecordedLine, ...]
    """The lines of both directions, in order."""
    stderr: tuple[str, ...]
    """The last lines on standard error."""
    exit: str
    """Exit status of the process, as text; empty if it was never started."""
    places: ScriptPaths
    seconds: float
    answers: tuple[tuple[dict[str, Any], ...], ...] = ()
    """From `collect`: the frames of the extension in each of the `segments` of the script."""

    @property
    def has_passed(self) -> bool:
        return self.failure is None


def recording(outcome: ScriptResult, about: ScriptHeader) -> bytes:
    """Returns the conversation of a result as the text of a script, with the project of the script that was played."""
    project = b"" if about.project is None else msgspec.json.encode({"about": {"project": about.project}}) + b"\n"
    return project + recording_of(outcome.said, outcome.places)


def recording_of(conversation: Sequence[RecordedLine], places: ScriptPaths) -> bytes:
    """Returns a conversation as the text of a script. Puts the `hello_ack` right after the `hello`, even if the
    extension said more in between: so equal conversations give equal recordings."""
    lines = [line for line in conversation if line.frame is not None]
    ack = next((line for line in lines if line.side is Side.HOST and line.type == "hello_ack"), None)
    hello = next((line for line in lines if line.side is Side.EXTENSION and line.type == "hello"), None)
    if ack is not None and hello is not None:
        lines = [line for line in lines if line is not ack]
        lines.insert(lines.index(hello) + 1, ack)
    return b"".join(write_line(line.side, line.frame, places) for line in lines if line.frame is not None)
