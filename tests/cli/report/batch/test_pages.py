"""`zot report` of the folder of a batch: where the pages go, what is in them, and what is refused."""

from __future__ import annotations

import html
import json
import os
import re

import pytest

from cli.report.command import make_report
from tests.support.batch_written import asked, called, said
from tests.support.html_page import Page
from wire import events
from wire.batch.outcome import CommandEnd, Score, TaskStatus, Usage
from wire.batch.task import Task, safe_name

HOSTILE = "</script></pre><img src=x onerror=alert(1)><!--\u202egnp.exe\u2028\x00]]>&amp;'\"{{"


@pytest.fixture
def written(batch):
    """Four tasks: ok, crashed and then ok, failed in its check, and not run."""
    written = batch("a", "b", "c", "d")
    written.open(jobs=2)
    written.run("a", seconds=3.0, text="all done", usage=Usage(100, 10), model="m")
    written.write_events("a", asked("do a"), events.TurnStart(1), said("all done"), events.Done())
    written.run("b", TaskStatus.CRASHED, final=False, cost_usd=None, reason="killed by SIGSEGV (core dumped)")
    written.write_events("b", asked("do b"), events.TextDelta("I beg"))
    written.folder.stderr("b", 2).write_text("a warning\n")
    written.run("b", attempt=2, text="done")
    failed = CommandEnd(exit_status=1, duration_ms=20, output="1 test failed")
    written.run("c", TaskStatus.CHECK_FAILED, reason="check ended with 1", check=failed, meta={"suite": "fast"})
    written.close("drained")
    return written


def page(written, name="report.html"):
    return Page((written.path / name).read_text())


def part(written, name, section):
    """The HTML of a section; empty if the page has none of this name."""
    found = re.search(rf'<section id="{section}".*?</section>', (written.path / name).read_text(), re.DOTALL)
    return found[0] if found else ""


def test_a_batch_on_nodes_shows_them_on_its_page_and_on_those_of_its_tasks(batch):
    written = batch("a", "b", "c", "d", "e")
    written.open()
    written.run("a", TaskStatus.INTERRUPTED, final=False, node="n1", reason="node n1 was lost")
    written.run("a", attempt=2, node="n2")
    written.run("b", node="n<i>1</i>")
    written.run("c", TaskStatus.TIMEOUT, node="n2")
    written.run("d")
    written.start("e", node="n4")
    written.kill()
    assert make_report(str(written.path), None) == 0
    report = page(written)
    nodes = part(written, "report.html", "nodes")
    assert "1 attempt was interrupted." in nodes
    assert [node for node in ("n2", "n&lt;i&gt;1&lt;/i&gt;", "n4") if node not in nodes] == []
    assert "n4" in part(written, "report.html", "tasks")
    assert "node" in [text for _, text in report.of("th")]
    first = page(written, "report-tasks/a.html")
    facts = dict(zip((text for _, text in first.of("dt")), (text for _, text in first.of("dd")), strict=True))
    assert facts["node"] == "n2"
    attempts = part(written, "report-tasks/a.html", "attempts")
    assert "n1" in attempts
    assert "n2" in attempts


def test_a_batch_on_one_machine_has_no_nodes(written):
    assert make_report(str(written.path), None) == 0
    assert part(written, "report.html", "nodes") == ""
    assert "node" not in [text for _, text in page(written).of("th")]
    assert "node" not in [text for _, text in page(written, "report-tasks/b.html").of("dt")]


def commands(written):
    return [text.strip() for _, text in page(written).of("code", class_="command")]


def test_the_page_and_those_of_the_tasks_are_in_the_folder(written, capsys):
    assert make_report(str(written.path), None) == 0
    assert capsys.readouterr().err == f"{written.path}/report.html: open it in a browser\n"
    assert sorted(os.listdir(written.path / "report-tasks")) == ["a.html", "b.html", "c.html"]
    report = page(written)
    assert report.of("h1")[0][1] == "runs: 2 of 4 tasks ok"
    tiles = dict(zip((text for _, text in report.of("dt")), (text for _, text in report.of("dd")), strict=True))
    assert tiles["batch"] == "ended early: it was asked to start nothing more"
    assert (tiles["Ok"], tiles["Not ok"], tiles["Without an end"], tiles["Cost"]) == ("2", "1", "1", "≥ $1.5")
    assert len(report.of("div", class_="tile") + report.of("div", class_="tile bad")) <= 5
    links = [attributes["href"] for attributes, _ in report.of("a")]
    assert set(links) == {"report-tasks/a.html", "report-tasks/b.html", "report-tasks/c.html"}
    for link in links:
        back = page(written, link).of("a")[0][0]["href"]
        assert os.path.normpath(os.path.join("report-tasks", back)) == "report.html"
    (tasks,) = report.tables("All tasks")
    assert [row[:4] for row in tasks] == [
        ["c", "check_failed", "1 test failed", "1"],
        ["a", "ok", "", "1"],
        ["b", "ok", "", "2"],
        ["d", "not_run", "", "0"],
    ]
    assert report.text.index("All tasks") < report.text.index("Failures by reason")


def test_what_to_do_next_names_commands_with_the_folder(written):
    assert make_report(str(written.path), None) == 0
    assert commands(written) == [
        f"zot batch retry {written.path} --status not_run",
        f"zot batch retry {written.path}",
        f"zot batch logs {written.path} --failed",
    ]


@pytest.mark.parametrize(
    ("limit", "flags", "more"),
    [
        ("--max-failures", {"max_failures": 4}, " --max-failures 8"),
        ("--max-cost-usd", {"max_cost_usd": 2.5}, " --max-cost-usd 5"),
        ("--max-tokens", {}, ""),
        ("--deadline", {"deadline": 60}, ""),
    ],
)
def test_a_limit_that_has_ended_the_batch_is_raised_where_another_start_would_end_at_it_too(batch, limit, flags, more):
    written = batch("a", "b", flags=flags)
    written.open()
    written.run("a")
    written.close("failures", limit)
    assert make_report(str(written.path), None) == 0
    assert commands(written) == [f"zot batch retry {written.path} --status not_run{more}"]


def test_commands_have_the_whole_path_as_a_shell_takes_it(batch, tmp_path, monkeypatch):
    written = batch("a")
    written.open()
    written.run("a", TaskStatus.CRASHED, reason="gone")
    written.close()
    written.path.rename(tmp_path / "two words")
    monkeypatch.chdir(tmp_path)
    assert make_report("two words", None) == 0
    codes = Page((tmp_path / "two words" / "report.html").read_text()).of("code", class_="command")
    assert codes[0][1].strip() == f"zot batch retry '{tmp_path}/two words'"


def test_parts_that_tell_nothing_are_left_out(batch):
    written = batch("a", "b")
    written.open(jobs=1)
    for task in "ab":
        written.run(task, usage=Usage(100, 10))
    written.close()
    assert make_report(str(written.path), None) == 0
    report = page(written)
    assert [attributes["id"] for attributes, _ in report.of("section")] == ["findings", "tasks"]
    assert "All tasks are ok." in report.text


def test_a_refused_request_is_not_said_to_pass(batch):
    """The kind of the failure, its advice and what the run has said are one."""
    written = batch("bad", "lost")
    written.open()
    written.run("bad", TaskStatus.ERROR, reason="HTTP 400: no", error_kind="invalid_request")
    written.run("lost", TaskStatus.ERROR, reason="it broke off", error_kind="dropped", may_pass=True)
    written.close("done")
    assert make_report(str(written.path), None) == 0
    found = page(written).text
    advice = '<b>1 task</b> <span class="soft">such a failure {}</span>'
    assert f"invalid_request {advice.format('would come again: change what the reason names')}" in found
    assert f"dropped {advice.format('may pass when the task is run again')}" in found


def test_the_page_of_a_task_has_what_was_said_and_what_failed(written):
    assert make_report(str(written.path), None) == 0
    a, b, c = (page(written, f"report-tasks/{name}.html") for name in "abc")
    assert a.of("section", id="prompt")
    assert [text.strip() for _, text in a.of("pre")] == ["do a", "all done", "all done"]
    assert len(a.of("article", class_="user")) == 0  # the prompt is shown once
    assert "SIGSEGV" in b.text
    assert "I beg" in b.text
    assert "a warning" in b.text
    assert "There is no file of events of this attempt." in b.text
    assert c.text.index("1 test failed") < c.text.index("<h2>Prompt</h2>")
    assert "&quot;suite&quot;: &quot;fast&quot;" in c.text


def test_the_page_of_a_task_shows_the_first_line_of_each_result(batch):
    written = batch("a")
    written.open()
    written.run("a")
    ran = called("1", "bash", b'{"command":"make all"}', "$ make all\n\nbuilt\n2 warnings\n\n[exit 0]\n")
    read = called("2", "read", b'{"path":"x"}', "no such file", is_error=True)
    written.write_events("a", asked("go"), *ran, *read, events.Done())
    assert make_report(str(written.path), None) == 0
    found = page(written, "report-tasks/a.html").text
    assert "<samp><bdi>built</bdi> <small>3 more lines</small></samp></summary>" in found
    assert "<em>error</em><samp><bdi>no such file</bdi></samp></summary>" in found


@pytest.fixture
def repeated(batch):
    """Two tasks, three times each, with scores; one repetition ended by a fault, one has no score."""
    ids = [(base, k) for k in (1, 2, 3) for base in "xy"]
    written = batch(given=[Task(id=f"{base}#{k}", prompt="p", repeat=k, meta={"suite": base}) for base, k in ids])
    written.open()
    for base, k in ids:
        if (base, k) == ("y", 1):
            written.run("y#1", TaskStatus.CRASHED, reason="gone")
            continue
        value = None if (base, k) == ("y", 3) else 1.0 if base == "x" else 0.25
        end = CommandEnd(exit_status=0, duration_ms=30, output=f"measured {base}{k}")
        written.run(f"{base}#{k}", score=Score(value=value, reason="" if value else "no number", command=end))
    return written


def test_repetitions_and_scores(repeated):
    repeated.close()
    assert make_report(str(repeated.path), None) == 0
    report = page(repeated)
    tiles = dict(zip((text for _, text in report.of("dt")), (text for _, text in report.of("dd")), strict=True))
    assert tiles["Mean score"] == "0.625"  # of x 1, of y 0.25: a fault and a run without a score are in no mean
    tasks, by_task = report.tables("All tasks", "Repeated tasks")
    assert [row[3] for row in tasks if row[0].startswith("x")] == ["1", "1", "1"]
    # runs, passed, faults, no score, pass rate, mean score
    assert [row[:7] for row in by_task] == [
        ["y", "3", "0", "1", "1", "0 %", "0.25"],
        ["x", "3", "3", "0", "0", "100 %", "1"],
    ]
    links = [attributes["href"] for attributes, text in report.of("a")]
    assert all((repeated.path / link.replace("%23", "#")).exists() for link in links)
    assert f"zot batch score {repeated.path} --missing" in commands(repeated)
    told = page(repeated, f"report-tasks/{safe_name('y#2')}.html")
    assert told.text.index("score: 0.25") < told.text.index("measured y2") < told.text.index("<h2>Prompt</h2>")


def test_a_score_that_was_told_again_takes_the_place_of_the_first(repeated):
    repeated.score("y#3", Score(value=0.75, command=CommandEnd(exit_status=0, duration_ms=1, output="once more")))
    repeated.close()
    assert make_report(str(repeated.path), None) == 0
    (tasks,) = page(repeated).tables("All tasks")
    assert next(row[3] for row in tasks if row[0] == "y#3") == "0.75"
    assert not any("batch score" in command for command in commands(repeated))
    told = page(repeated, f"report-tasks/{safe_name('y#3')}.html").text
    assert "once more" in told
    assert "measured y3" not in told


def test_the_page_goes_where_the_user_says(written, tmp_path, capsysbinary):
    target = tmp_path / "elsewhere" / "my batch.html"
    target.parent.mkdir()
    assert make_report(str(written.path), str(target)) == 0
    assert (target.parent / "my batch-tasks" / "a.html").exists()
    assert "my%20batch-tasks/a.html" in target.read_text()
    assert not (written.path / "report.html").exists()
    assert make_report(str(written.path), "-") == 0
    out = capsysbinary.readouterr().out.decode()
    assert out.startswith("<!doctype html>")
    assert "written to a file" in out
    assert Page(out).of("a") == []


@pytest.mark.parametrize(("pages", "said"), [(0, "No task has a page"), (1, "1 task of 3 have a page of their own")])
def test_no_more_pages_than_asked_for(written, pages, said):
    assert make_report(str(written.path), None, pages) == 0
    made = written.path / "report-tasks"
    assert (sorted(os.listdir(made)) if made.exists() else []) == ["c.html"][:pages]
    report = page(written)
    assert said in report.text
    assert len({attributes["href"] for attributes, _ in report.of("a")}) == pages


@pytest.mark.parametrize("name", ["journal.jsonl", "batch.json", "runs/x.html", "results.jsonl"])
def test_nothing_of_the_batch_is_overwritten(written, name, capsys):
    before = written.folder.journal.read_bytes()
    assert make_report(str(written.path), str(written.path / name)) == 2
    assert "belongs to the batch itself" in capsys.readouterr().err
    assert written.folder.journal.read_bytes() == before


def test_a_file_that_is_no_report_stays(written, capsys):
    (written.path / "report.html").write_text("mine")
    assert make_report(str(written.path), None) == 2
    assert "is there already and is no report" in capsys.readouterr().err
    (written.path / "report.html").unlink()
    (written.path / "report-tasks").mkdir()
    (written.path / "report-tasks" / "c.html").write_text("mine")
    assert make_report(str(written.path), None) == 1
    assert "c.html: is there already and is no report; choose another file" in capsys.readouterr().err
    assert (written.path / "report-tasks" / "c.html").read_text() == "mine"


def test_a_report_may_be_made_again(written):
    assert make_report(str(written.path), None) == make_report(str(written.path), None) == 0


def test_a_folder_that_cannot_be_written_is_one_line(written, capsys):
    target = written.path / "none" / "report.html"
    assert make_report(str(written.path), str(target)) == 1
    told = capsys.readouterr().err
    assert told.startswith("zot report: the page cannot be written: ")
    assert told.count("\n") == 1


def test_pages_is_for_batches_only(tmp_path, capsys):
    assert make_report(str(tmp_path / "run.stats"), None, 3) == 2
    assert "--pages needs the folder of a batch" in capsys.readouterr().err


def test_damage_is_refused(written, capsys):
    text = written.folder.journal.read_bytes()
    written.folder.journal.write_bytes(text.replace(b'"task":"a"', b'"task":"x"', 1))
    assert make_report(str(written.path), None) == 2
    assert "line 2 is damaged" in capsys.readouterr().err


def test_a_batch_of_nothing_has_a_page(batch):
    written = batch()
    assert make_report(str(written.path), None) == 0
    report = page(written)
    assert report.of("h1")[0][1] == "runs: 0 of 0 tasks ok"
    assert "not begun" in report.text


def test_while_the_batch_runs_a_task_shows_what_it_has_done_so_far(batch):
    written = batch("a")
    written.open()
    written.start("a")
    written.write_events("a", asked("do a"), events.TextDelta("so far"), tail=b'{"type":')
    assert make_report(str(written.path), None) == 0
    assert "still running" in page(written).text
    task = page(written, "report-tasks/a.html")
    assert "so far" in task.text
    assert "was cut off" not in task.text
    written.kill()


@pytest.mark.parametrize(("reason", "is_rate_limit"), [("rate limit: 429", True), ("paused by the user", False)])
def test_a_running_batch_that_waits_most_of_the_time_for_rate_limits_gets_fewer_jobs(batch, reason, is_rate_limit):
    written = batch("a", "b")
    written.open(jobs=6)
    written.start("a")
    written.journal.paused("a", 1, reason)
    written.at += 9
    written.journal.resumed("a", 1)
    written.at += 1
    written.finish("a", duration_ms=10_000)
    assert make_report(str(written.path), None) == 0
    assert (f"zot batch ctl {written.path} jobs 3" in commands(written)) is is_rate_limit
    assert "runs waited 9 s" in page(written).text
    written.kill()


def test_text_of_others_does_not_break_out(batch):
    hostile_id = HOSTILE.replace("\x00", "").replace("\u2028", "")
    written = batch(given=[Task(id=hostile_id, prompt=HOSTILE), Task(id="big", prompt="p")])
    written.open()
    end = CommandEnd(exit_status=1, duration_ms=1, output=HOSTILE)
    fields = {"reason": HOSTILE, "text": HOSTILE, "check": end, "meta": {HOSTILE: HOSTILE}, "model": HOSTILE}
    written.start(hostile_id)
    written.journal.paused(hostile_id, 1, HOSTILE)
    written.at += 1
    written.finish(hostile_id, status=TaskStatus.CHECK_FAILED, **fields)
    arguments = json.dumps({HOSTILE: HOSTILE}).encode()
    written.write_events(
        hostile_id,
        asked(HOSTILE * 2),
        said(HOSTILE),
        *called("c", HOSTILE, arguments, HOSTILE),
        events.Error(HOSTILE),
        events.Extension(HOSTILE, "failed", HOSTILE),
    )
    written.folder.stderr(hostile_id, 1).write_text(HOSTILE)
    written.folder.diffs.mkdir()
    written.folder.diff(hostile_id).write_text(HOSTILE)
    written.run("big", text="x" * 2**20, reason="y" * 2**20, status=TaskStatus.ERROR)
    written.write_events("big", *[said("z" * 2**20) for _ in range(40)])
    written.close()
    assert make_report(str(written.path), None) == 0
    names = ["report.html", f"report-tasks/{safe_name(hostile_id)}.html", "report-tasks/big.html"]
    for name, scripts in zip(names, (2, 0, 0), strict=True):
        made = page(written, name)
        assert len(made.of("script")) == scripts
        assert made.of("img") == []
        assert not any(key.startswith("on") for _, attributes in made.elements for key in attributes)
        assert not re.search("[\x00\u202e]", made.text)
        assert len(made.text) < 600_000
    told = html.unescape((written.path / names[1]).read_text())
    assert "onerror=alert(1)" in told  # it is shown, as text
