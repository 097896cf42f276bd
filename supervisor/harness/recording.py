"""Makes a script of a conversation that took place. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor.harness.script import Side, write_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.harness.matching import ScriptPaths
    from supervisor.harness.recorded_process import RecordedLine
    from supervisor.harness.result import ScriptResult
    from supervisor.harness.script import About


def recording(outcome: ScriptResult, about: About) -> bytes:
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
