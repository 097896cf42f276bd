"""`agent.trial.report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.trial.plan import FoundNames, NoReplyLeft, RecordedCall
from agent.trial.report import TrialReport, read_report

if TYPE_CHECKING:
    from pathlib import Path


def test_lines_are_read_as_they_were_added_and_one_that_was_cut_off_is_left_out(tmp_path: Path):
    file = tmp_path / "report"
    lines = [FoundNames(("a", "b\n")), RecordedCall("t1", ("x", "")), NoReplyLeft()]
    for line in lines:
        TrialReport(str(file)).add(line)
    with file.open("ab") as written:
        written.write(b'{"type":"found","na')
    assert read_report(file) == lines


def test_no_file_is_no_line_and_a_file_that_cannot_be_written_ends_nothing(tmp_path: Path):
    TrialReport(str(tmp_path / "missing" / "report")).add(NoReplyLeft())
    assert read_report(tmp_path / "report") == []
