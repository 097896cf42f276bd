"""The results of a run: its stdout, its files and its exit status."""

from __future__ import annotations

import json

import pytest

from cli.run.output import delivery
from cli.run.output.delivery import deliver, unstarted_result
from cli.run.output.summary import SummaryData
from cli.run.request import OutputForm, RunOutput
from wire.exit_codes import Status


def result(status=Status.OK, text="Done."):
    from msgspec.structs import replace

    return replace(unstarted_result(status, "" if status is Status.OK else "why"), text=text)


def delivered(asked, ended=None, *, has_answer=True):
    return deliver(ended or result(), asked, has_answer=has_answer, seen=SummaryData(), is_kept=False)


def test_the_answer_is_printed_and_written_alike(tmp_path, capfdbinary):
    path = tmp_path / "answer"
    assert delivered(RunOutput(OutputForm.TEXT, str(path))) == 0
    assert capfdbinary.readouterr() == (b"Done.\n", b"")
    assert path.read_bytes() == b"Done.\n"


def test_without_an_answer_the_file_is_untouched_and_a_line_says_so(tmp_path, capfd):
    path = tmp_path / "answer"
    path.write_text("old")
    for asked in (RunOutput(OutputForm.TEXT, str(path)), RunOutput(OutputForm.STREAM, str(path))):
        assert delivered(asked, result(Status.TIMEOUT, "half"), has_answer=False) == 6
        assert capfd.readouterr() == ("", f"zot: --output {path}: there is no answer; the file is left as it is\n")
    assert path.read_text() == "old"


def test_one_object_is_all_of_stdout(capfd):
    for ended in (result(), result(Status.BUDGET)):
        assert delivered(RunOutput(OutputForm.OBJECT), ended, has_answer=False) == ended.exit_code
        out, err = capfd.readouterr()
        assert err == ""
        assert out.count("\n") == 1
        printed = json.loads(out)
        assert (printed["type"], printed["status"], printed["exit_code"]) == ("result", ended.status, ended.exit_code)


@pytest.mark.parametrize("flag", ["--output", "--summary"])
def test_a_file_that_cannot_be_written_fails_a_run_that_was_well(tmp_path, capfd, flag):
    path = str(tmp_path)  # a folder has come where the file was to be
    files = {"answer_file" if flag == "--output" else "summary_file": path}
    assert delivered(RunOutput(OutputForm.OBJECT, **files)) == 1
    out, err = capfd.readouterr()
    assert err.lower() in (
        f"zot: {flag}: write {path}: is a directory\n",
        f"zot: {flag}: open {path}: is a directory\n",
    )
    assert json.loads(out)["reason"] == err[len("zot: ") : -1], "the object says the same"
    assert delivered(RunOutput(OutputForm.TEXT, **files), result(Status.BLOCKED)) == 3, "a failed run keeps its status"


def test_a_full_summary_is_no_failure(tmp_path, capfd, monkeypatch):
    path = tmp_path / "summary"
    path.write_text("x" * ((1 << 20) - 5))
    assert delivered(RunOutput(OutputForm.TEXT, None, str(path))) == 0
    assert "it has no room left: GitHub shows at most 1 MiB; nothing was appended" in capfd.readouterr().err
    assert path.stat().st_size == (1 << 20) - 5


def test_a_terminal_gets_no_control_characters_but_the_file_has_them(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(delivery, "is_terminal", lambda _fd: True)
    delivered(RunOutput(OutputForm.TEXT, str(tmp_path / "a")), result(text="\x1b[31mred"))
    assert capfd.readouterr().out == "red\n"
    assert (tmp_path / "a").read_text() == "\x1b[31mred\n"
