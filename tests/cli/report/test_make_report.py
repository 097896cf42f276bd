"""`make_report`: where the page goes, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.report.command import make_report
from tests.support.recorded_stats import recorded, write

ROOT = Path(__file__).parents[3]


@pytest.fixture
def run(tmp_path):
    return write(tmp_path / "run.stats", recorded(4, 10))


def test_the_page_is_beside_the_recording(run, capsys):
    assert make_report(str(run), None) == 0
    page = run.with_suffix(".html")
    assert page.read_text().startswith("<!doctype html>")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"{page}: open it in a browser\n"


def test_a_report_may_be_made_again_but_nothing_else_is_overwritten_unasked(run, capsys):
    page = run.with_suffix(".html")
    assert make_report(str(run), None) == make_report(str(run), None) == 0
    page.write_text("my own notes")
    assert make_report(str(run), None) == 2
    assert "is there already and is no report" in capsys.readouterr().err
    assert page.read_text() == "my own notes"
    assert make_report(str(run), str(page)) == 0


@pytest.mark.parametrize("way", ["same name", "link", "default"])
def test_the_recording_is_never_overwritten(run, tmp_path, way, capsys):
    before = run.read_bytes()
    output = str(run)
    if way == "link":
        (tmp_path / "link").symlink_to(run)
        output = str(tmp_path / "link")
    if way == "default":
        run = run.rename(tmp_path / "run.html")
        output = None
    assert make_report(str(run), output) == 2
    assert "is the recording itself" in capsys.readouterr().err
    assert run.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot read"), (b"", "is empty"), (b"{\n{}\n", "run.stats:1:")],
    ids=["missing", "empty", "bad line"],
)
def test_a_recording_that_cannot_be_used_is_one_line_and_status_2(tmp_path, content, said, capsys):
    path = tmp_path / "run.stats"
    if content is not None:
        path.write_bytes(content)
    assert make_report(str(path), None) == 2
    told = capsys.readouterr().err
    assert told.startswith("zot report: ")
    assert said in told
    assert told.count("\n") == 1
    assert not path.with_suffix(".html").exists()


def test_a_folder_is_no_recording(tmp_path, capsys):
    assert make_report(str(tmp_path), str(tmp_path / "x.html")) == 2
    assert "cannot read" in capsys.readouterr().err
    assert make_report(str(tmp_path), None) == make_report("", None) == 2
    assert "is a folder" in capsys.readouterr().err


def test_a_pipe_needs_an_output_name(capsys):
    assert make_report("-", None) == make_report("/dev/null", None) == 2
    assert capsys.readouterr().err.count("-o - for stdout") == 2


@pytest.mark.parametrize("output", ["missing/page.html", ""])
def test_an_output_that_cannot_be_written(run, tmp_path, output, capsys):
    status = make_report(str(run), str(tmp_path / output) if output else "")
    assert status == (1 if output else 2)
    assert "-o" in capsys.readouterr().err


def test_a_name_with_an_escape_sequence_does_not_reach_the_terminal(tmp_path, capsys):
    assert make_report(str(tmp_path / "a\x1b[2Jb"), None) == 2
    assert "\x1b" not in capsys.readouterr().err


def report_process(*arguments, **given):
    code = "import sys; from cli.report.command import make_report; sys.exit(make_report(*sys.argv[1:]))"
    return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=ROOT, stderr=subprocess.PIPE, **given)


def test_a_pipe_is_reported_to_stdout(run):
    process = report_process("-", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    page, said = process.communicate(run.read_bytes())
    assert (process.returncode, said) == (0, b"")
    assert page.endswith(b"</html>\n")


def test_a_reader_that_goes_away_causes_no_message(run):
    reader, writer = os.pipe()
    os.close(reader)
    process = report_process(str(run), "-", stdout=writer)
    os.close(writer)
    _, said = process.communicate()
    assert (process.returncode, said) == (130, b"")
