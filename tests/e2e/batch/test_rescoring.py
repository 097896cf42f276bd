"""`zot batch score`: scores results again without a model; what interrupts it, and what it leaves."""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.git_repository import make_repository, unchanged
from tests.support.marked_processes import marked_pids
from tests.support.mounts import within
from tests.support.replay_script import Script
from tests.support.warm_start import MARK
from tests.support.zot_process import wait_until
from wire.batch.journal_lines import Scored

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Outcome, Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
WAIT = "echo x >> scored; [ $(wc -l < scored) -lt 3 ] || while [ ! -e go ]; do sleep 0.02; done; echo 0.5"
"""The third one and all after it wait."""


class Scored3(BatchCommand):
    """Three results with the score 1: two of them are ok."""

    def __init__(self, zot: Zot) -> None:
        super().__init__(zot)
        script = Script(zot.cwd, "go").answer("The answer is 42.").write(zot.folder / "cassette.jsonl")
        self._model = ["--replay", str(script)]
        self.tasks({"a": "go", "b": {"prompt": "go", "check": "exit 1"}, "c": {"prompt": "go", "score": "echo 1"}})
        assert self.run("-q", "--score", "true").status == 10

    def score(self, *args: str, **popen: Any) -> Outcome:
        return self.zot.run("batch", "score", "runs", *args, **popen)

    def values(self) -> list[float | None]:
        """As `zot batch results` has them; the file has the same."""
        lines = self.zot.run("batch", "results", "runs").stdout
        assert lines == (self.rundir / "results.jsonl").read_bytes()
        return [json.loads(line)["score"]["value"] for line in lines.splitlines()]

    def scored(self) -> list[str]:
        return [line.task for line in self.lines() if isinstance(line, Scored)]


@pytest.fixture
def batch(zot: Zot) -> Scored3:
    return Scored3(zot)


def test_results_are_scored_again_by_another_command(batch: Scored3) -> None:
    found = batch.score("--with", "cat >&2; test $ZOT_STATUS = ok && echo 0.25 || echo 0")
    assert (found.status, found.text, found.leftovers) == (0, "3 results scored, mean 0.1667\n", [])
    assert "their folders are scored as they are now" in found.stderr
    assert batch.values() == [0.25, 0.0, 0.25]
    shown = json.loads(batch.zot.run("batch", "results", "runs").stdout.splitlines()[0])["score"]["command"]["output"]
    assert sorted(shown.splitlines()) == ["0.25", "The answer is 42."] or shown == "The answer is 42.0.25\n"
    assert batch.score().status == 0, "with the commands of the batch and its tasks"
    assert batch.values() == [1.0, 1.0, 1.0]
    assert sorted(batch.scored()) == sorted("abc" * 2)
    assert "score         1" in batch.zot.run("batch", "logs", "runs", "a").text
    assert list((batch.rundir / "runs").rglob("score*")) == []


def test_each_result_is_a_line_of_json(batch: Scored3) -> None:
    found = batch.score(
        "--json", "-j", "1", "--with", '[ $ZOT_STATUS = ok ] || exit 127; echo "{\\"score\\": 1, \\"n\\": 2}"'
    )
    assert found.status == 10
    first, second, _ = found.json_lines
    assert (first["id"], first["attempt"], first["status"], first["score"]["values"]) == ("a", 1, "ok", {"n": 2})
    assert (second["score"]["value"], second["score"]["reason"]) == (None, "exit 127: it could not be carried out")
    assert batch.score("--missing", "--json", "--with", "echo 3").json_lines[0]["id"] == "b"
    assert batch.values() == [1.0, 3.0, 1.0]
    assert batch.score("--missing").text == "nothing was scored\n"


def test_an_id_chooses_and_an_unknown_one_is_refused(batch: Scored3) -> None:
    assert batch.score("b", "--with", "echo 7").text == "1 result scored, mean 7\n"
    assert batch.values() == [1.0, 7.0, 1.0]
    for args, said in ((["x"], "no such task in this batch: 'x'"), (["--with", " "], "--with is empty")):
        found = batch.score(*args)
        assert found.status == 2
        assert said in found.stderr


def test_a_score_goes_with_the_run_that_it_scored(batch: Scored3) -> None:
    assert batch.score("--with", "echo 7").status == 0
    assert batch.run("-q", "--redo", "a", "--score", "echo 5").status == 10
    assert batch.values() == [5.0, 7.0, 7.0]


def test_without_a_command_nothing_is_scored(zot: Zot) -> None:
    batch = BatchCommand(zot)
    script = Script(zot.cwd, "go").answer("Done.").write(zot.folder / "cassette.jsonl")
    batch.tasks({"a": "go", "b": {"prompt": "go", "setup": "false"}})
    assert zot.run("batch", "t.jsonl", "-o", "runs", "--replay", str(script), "-q").status == 10
    found = zot.run("batch", "score", "runs")
    assert (found.status, "task 'a' has no score command; give one with --with" in found.stderr) == (2, True)
    found = zot.run("batch", "score", "runs", "b", "--with", "true")
    assert (found.status, "'b' has no result that can be scored" in found.stderr) == (2, True)


def test_a_copy_is_scored_where_the_run_has_left_it(zot: Zot, server: MessagesServer) -> None:
    batch = BatchCommand(zot, server)
    batch.tasks({"a": "bash echo 0.5 > made", "b": "bash echo 0.75 > made"})
    assert batch.run("-q", "--workspace", "copy", "--score", "cat made").status == 0
    assert [one["score"]["value"] for one in batch.results().values()] == [0.5, 0.75]
    assert not (zot.cwd / "made").exists()
    counted = 'grep -c "^+0" "$ZOT_DIFF" >&2; cat made'
    found = zot.run("batch", "score", "runs", "--with", counted, "--json")
    assert [(one["score"]["value"], one["score"]["command"]["output"][:2]) for one in found.json_lines] in (
        [(0.5, "1\n"), (0.75, "1\n")], [(0.75, "1\n"), (0.5, "1\n")],
    )  # fmt: skip
    shutil.rmtree(batch.rundir / "workspaces" / "a")
    found = zot.run("batch", "score", "runs", "--with", "echo 2")
    assert found.status == 10
    assert "no score: a: its copy of the project is gone" in found.text
    assert {name: one["score"]["value"] for name, one in batch.results().items()} == {"a": 0.5, "b": 2.0}


def test_a_worktree_is_made_anew_and_removed(zot: Zot, server: MessagesServer) -> None:
    (zot.cwd / "sub").mkdir()
    (zot.cwd / "sub/old").write_text("1\n")
    (zot.cwd / ".gitignore").write_text("built\nruns\nt.jsonl\n")
    make_repository(zot.cwd)
    batch = BatchCommand(zot, server)
    batch.tasks({"a": {"prompt": "bash echo 0.5 >> old", "cwd": "sub", "setup": "echo 7 > built"}, "b": "bash true"})
    flags = ("-q", "--workspace", "worktree", "--score")
    assert batch.run(*flags, "cat sub/old old; wc -l < $(ls -d sub/old old 2>&-)").status == 0
    assert {name: one["score"]["value"] for name, one in batch.results().items()} == {"a": 2.0, "b": 1.0}
    with unchanged(zot.cwd):
        found = zot.run("batch", "score", "runs", "a", "--with", "cat old built; pwd >&2; tail -n 1 old")
    assert (found.status, found.leftovers) == (0, []), found
    score = batch.results()["a"]["score"]
    assert (score["value"], "7" in score["command"]["output"].split()) == (0.5, True)
    assert "workspaces/a/sub" in score["command"]["output"]
    assert not [*(batch.rundir / "workspaces").glob("*")]


def test_the_prefix_of_the_batch_is_before_the_command(batch: Scored3) -> None:
    shown = "echo $INSIDE >&2; echo ${INSIDE:-0}"
    assert batch.run("-q", "--in", "env INSIDE=2", "--redo", "a", "--score", shown).status == 10
    assert batch.values()[0] == 2.0
    assert batch.score("--with", shown).status == 0
    assert batch.values() == [2.0, 2.0, 2.0]


def test_the_whole_text_is_scored_also_where_the_journal_has_cut_it(zot: Zot) -> None:
    batch = BatchCommand(zot)
    script = Script(zot.cwd, "go").answer("x" * 200_000).write(zot.folder / "cassette.jsonl")
    batch.tasks({"a": {"prompt": "go", "replay": str(script)}})
    assert batch.run("-q").status == 0
    assert batch.results()["a"]["is_cut"]
    assert zot.run("batch", "score", "runs", "--with", "wc -c").status == 0
    assert batch.results()["a"]["score"]["value"] == 200_000


def test_ctrl_c_keeps_what_is_scored(batch: Scored3) -> None:
    with batch.zot.start("batch", "score", "runs", "-j", "1", "--with", WAIT) as running:
        wait_until(lambda: (batch.zot.cwd / "scored").exists() and len(batch.scored()) == 2)
        wait_until(lambda: (batch.zot.cwd / "scored").read_text() == "x\n" * 3)
        running.signal(signal.SIGINT)
        found = running.finish()
    assert (found.status, found.leftovers) == (130, [])
    assert batch.values() == [0.5, 0.5, 1.0]
    assert found.text == "2 results scored, mean 0.5\n"


@pytest.mark.slow
def test_one_that_is_killed_leaves_nothing_and_loses_nothing(batch: Scored3) -> None:
    with batch.zot.start("batch", "score", "runs", "-j", "1", "--with", WAIT, cold=True) as running:
        wait_until(lambda: len(batch.scored()) == 2 and (batch.zot.cwd / "scored").read_text() == "x\n" * 3)
        running.process.kill()
        running.process.wait()
        wait_until(lambda: not marked_pids(MARK, running._mark))
    (batch.zot.cwd / "go").touch()
    assert batch.run("-q").status == 10, "nothing is left to run"
    assert batch.values() == [0.5, 0.5, 1.0]
    assert batch.finals() == {"a": 1, "b": 1, "c": 1}
    assert batch.score("--with", "echo 3").leftovers == []
    assert batch.values() == [3.0, 3.0, 3.0]


def test_a_batch_that_runs_is_not_scored_and_names_its_process(zot: Zot, batch: Scored3) -> None:
    batch.tasks({"d": {"prompt": "go", "check": "while [ ! -e go ]; do sleep 0.02; done"}})
    with batch.start("-q") as running:
        wait_until(lambda: any(line.task == "d" for line in batch.started()))
        found = batch.score("--with", "true")
        (zot.cwd / "go").touch()
        assert running.finish().status == 0
    assert found.status == 1
    assert f"process {running.pid} runs this batch; wait until it ends" in found.stderr


def test_children_that_stay_are_ended(batch: Scored3) -> None:
    found = batch.score("--with", "setsid sleep 600 & head -c 3000000 /dev/zero; echo; echo 0.5")
    assert (found.status, found.leftovers) == (0, [])


@pytest.mark.slow
def test_a_full_disk_keeps_what_is_scored(zot: Zot, batch: Scored3) -> None:
    flood = 'head -c 4000 /dev/zero | tr "\\0" "\\1"; echo; echo 0.5'
    shutil.copytree(batch.rundir, zot.cwd / "whole")
    script = 'cp -r whole/. runs; dd if=/dev/zero of=runs/fill bs=1k 2>&-; "$@"; s=$?; cp -r runs kept; exit $s'
    command = ["/bin/sh", "-c", script, "sh", *zot.command]
    found = batch.score("--with", flood, command=within(batch.rundir, "size=64k", command))
    assert found.status == 1
    assert "No space left on device" in found.stderr
    batch.rundir = zot.cwd / "kept"
    assert batch.finals() == {"a": 1, "b": 1, "c": 1}
