"""The report of a trial: lines that the run appends to a file, so that they are there however it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.trial.plan import ReportLine

if TYPE_CHECKING:
    from pathlib import Path


class TrialReport:
    """Appends lines to the file. A line that cannot be written is lost, and the run goes on."""

    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, line: ReportLine) -> None:
        try:
            with open(self._path, "ab", buffering=0) as file:
                file.write(msgspec.json.encode(line) + b"\n")
        except OSError:
            pass


def read_report(path: Path) -> list[ReportLine]:
    """The lines of a report; none without a file. A line that was cut off is left out."""
    decoder = msgspec.json.Decoder(ReportLine)
    lines: list[ReportLine] = []
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return lines
    for line in data.splitlines():
        try:
            lines.append(decoder.decode(line))
        except msgspec.MsgspecError:
            continue
    return lines
