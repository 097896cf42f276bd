"""A run at a node: its workspace and its changes, the uploaded folder, the shared extensions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from agent.batch.cluster.extension_facts import ExtensionFacts, folder_extensions
from agent.batch.cluster.node import node_run
from agent.batch.cluster.node.frame_output import FULL, FrameOutput
from agent.batch.cluster.node.node_run import NodeRun
from agent.batch.pool.processes import kill_tree
from agent.batch.workspace.base import find_bases
from agent.options import RunRequest
from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.loop.pipes import PipeReader
from supervisor.process.shared_table import SharedProcessTable
from supervisor.process.table import ProcessTable
from tests.support.batch_place import STANDIN
from tests.support.extension_folder import child_argv, extension, folder
from tests.support.git_repository import git, make_repository, unchanged
from tests.support.marked_processes import command_line
from tests.support.patience import soon
from tests.support.replay_script import Script
from tests.support.run_launcher import program_launcher
from tests.support.zot_process import wait_until
from wire.batch import host_lines, link, node_frames
from wire.batch.link import ModelRequest, RunEnded
from wire.batch.node_frames import Exited, File, FolderExtensions, Kill, NotStarted, Told
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task, encode_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.loop.loop import Loop
    from tests.support.node_driver import NodeDriver

TELLER = Path(__file__).parents[4] / "support" / "teller.py"


def replayed(driver: NodeDriver, **fields: Any) -> Task:
    """A task whose cassette knows no folder: that of a workspace is new each time."""
    path = driver.home.parent / "cassette.jsonl"
    Script(driver.cwd).answer("done").write(path)
    return Task(**{"id": "a", "prompt": "go", "replay": str(path), **fields})


def files(driver: NodeDriver, run: str) -> dict[str, bytes]:
    """By name, as they have come in pieces."""
    made: dict[str, bytes] = {}
    for frame in driver.of(File, run):
        assert len(frame.data) <= node_frames.PIECE
        assert frame.is_first == (frame.name not in made)
        made[frame.name] = made.get(frame.name, b"") + frame.data
    return made


def standin(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "tmp").glob("zot-node-*")
    return found


def test_the_changes_in_a_workspace_come_before_the_end_and_it_is_removed(driver: NodeDriver, tmp_path: Path) -> None:
    (driver.cwd / "old.txt").write_text("old\n")
    driver.ready()
    big = "x" * (3 * 2**20)
    setup = f"echo new > new.txt; head -c {len(big)} /dev/zero | tr '\\0' x > big.txt; rm old.txt"
    # A cassette fits one folder only: the run fails after its setup, and its changes count all the same.
    run = driver.start(replayed(driver, setup=setup), workspace="/rundir/workspaces/a")
    ended = driver.told(RunEnded)
    assert ended.diff == "diffs/a.diff"
    (name,) = found = files(driver, run)
    assert name == ended.diff
    assert b"+new\n" in found[name]
    assert b"-old\n" in found[name]
    assert big.encode() in found[name]
    kinds = [type(frame) for frame in driver.frames if getattr(frame, "run", "") == run]
    assert kinds[-1 - kinds[::-1].index(File) + 1] is Told
    assert driver.of(File, run)[-1].is_last
    assert [frame.is_last for frame in driver.of(File, run)[:-1]] == [False] * (len(driver.of(File, run)) - 1)
    driver.take(Exited)
    assert (driver.cwd / "old.txt").read_text() == "old\n"
    driver.take(node_frames.Memory)
    wait_until(lambda: driver.loop.run_until(lambda: True) and not list(standin(tmp_path).glob("removed/*")))
    assert os.listdir(standin(tmp_path) / "workspaces") == [".snapshots"]
    assert os.listdir(standin(tmp_path) / "diffs") == []
    driver.end()


def test_a_run_without_changes_sends_no_file_and_one_that_is_killed_leaves_no_workspace(
    driver: NodeDriver, tmp_path: Path
) -> None:
    (driver.cwd / "file").write_text("x")
    driver.ready()
    run = driver.start(replayed(driver), workspace="/rundir/workspaces/a")
    assert driver.told(RunEnded).diff == ""
    driver.take(Exited)
    assert files(driver, run) == {}
    run = driver.start(Task(id="a", prompt="go", setup="sleep 1000"), workspace="/rundir/workspaces/a")
    driver.wait(lambda: any("sleep 1000" in command_line(pid) for pid in driver.left()))
    driver.send(Kill(run=run))
    driver.take(Exited)
    # The next attempt may begin at once, in a workspace of the same name.
    run = driver.start(replayed(driver, setup="test -f file"), workspace="/rundir/workspaces/a")
    assert driver.told(RunEnded).setup.exit_status == 0
    driver.take(Exited)
    driver.end()


def test_a_link_in_place_of_the_changes_leads_to_no_other_file(driver: NodeDriver, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    driver.ready()
    score = 'ln -sf "$SECRET" ../../diffs/a.diff; echo 1'
    task = replayed(driver, setup="echo new > new.txt", score=score, env={"SECRET": str(secret)})
    run = driver.start(task, workspace="/rundir/workspaces/a")
    ended = driver.told(RunEnded)
    if ended.score is None:
        pytest.fail("the score command has not run")
    assert ended.diff == ""
    assert files(driver, run) == {}
    driver.take(Exited)
    said = b"".join(frame.data for frame in driver.of(node_frames.Errors, run)).decode()
    assert "the changes of the run cannot be sent: diffs/a.diff: " in said
    driver.end()


def test_worktrees_are_made_and_removed_with_their_records(driver: NodeDriver, tmp_path: Path) -> None:
    (driver.cwd / "old.txt").write_text("old\n")
    make_repository(driver.cwd)
    (base,) = find_bases([str(driver.cwd)], []).values()
    with unchanged(driver.cwd):
        driver.ready(repositories=((base.repository, base.commit),))
        run = driver.start(replayed(driver, setup="echo new > new.txt"), workspace="/rundir/workspaces/a", base=base)
        assert driver.told(RunEnded).diff == "diffs/a.diff"
        driver.take(Exited)
        assert b"+new\n" in files(driver, run)["diffs/a.diff"]
        run = driver.start(Task(id="b", prompt="go", setup="sleep 1000"), workspace="/rundir/workspaces/b", base=base)
        driver.wait(lambda: any("sleep 1000" in command_line(pid) for pid in driver.left()))
        driver.send(Kill(run=run))
        driver.take(Exited)
        driver.end()
    assert git(driver.cwd, "worktree", "list").count("\n") == 1


def test_tasks_of_an_uploaded_folder_run_in_the_copy(make_driver: Callable[..., NodeDriver], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "sub").mkdir(parents=True)
    (copy / "sub" / "data.txt").write_text("in the copy")
    Script(copy / "sub", "go").answer("done").write(copy / "cassette.jsonl")
    echo = extension(copy, "echo")
    driver = make_driver(runs_in=copy)
    facts = ExtensionFacts(driver.home).find(driver.flags(extensions=(str(echo),)))
    flags = {"cwd": "/driver/up", "extensions": ("/driver/up/ext-echo",)}
    driver.ready(
        upload="/driver/up",
        folders=("/driver/up/sub",),
        files=("/driver/up/cassette.jsonl",),
        extensions=(FolderExtensions("/driver/up", ("/driver/up/ext-echo",), facts),),
        run=flags,
    )
    task = Task(
        id="a", prompt="go", cwd="/driver/up/sub", replay="/driver/up/cassette.jsonl", setup="test -f data.txt; pwd",
        ext=(),
    )  # fmt: skip
    driver.start(task, run=flags)
    ended = driver.told(RunEnded)
    assert (ended.status, ended.reason) == (TaskStatus.OK, "")
    assert ended.setup.exit_status == 0
    assert ended.setup.output.strip() == str(copy / "sub")
    driver.take(Exited)
    driver.end()


def test_runs_share_the_extensions_of_the_node_and_wait_for_its_host(driver: NodeDriver, tmp_path: Path) -> None:
    (starts := tmp_path / "starts").touch()
    argv = [sys.executable, "-I", "-S", str(TELLER), "teller", str(starts)]
    flags = {"extensions": (str(folder(tmp_path, "teller", argv, sessions="shared")),)}
    driver.set_up(run=flags, extensions=folder_extensions(driver.flags(**flags), [replayed(driver)], driver.home))
    early = driver.start(replayed(driver), run=flags)  # the driver must not, and the run waits
    never = driver.start(replayed(driver), run=flags)
    driver.send(Kill(run=never))
    failed = driver.take(NotStarted)
    assert (failed.run, failed.may_pass) == (never, True)
    ready = driver.take(node_frames.Ready)
    assert ready.serving is not None
    serving = host_lines.decode_from_host(ready.serving)
    assert isinstance(serving, host_lines.Serving)
    assert serving.shared == ("teller",)
    driver.take(Exited, lambda frame: frame.run == early)
    run = driver.start(replayed(driver), run=flags)
    driver.take(Exited, lambda frame: frame.run == run)
    assert b'"teller"' in driver.output(run)
    assert starts.read_text().count("\n") == 1
    driver.end()


@pytest.mark.parametrize("workspace", ["", "copy"])
def test_what_the_driver_trusts_runs_at_a_node_whose_user_has_never_seen_it(
    make_driver: Callable[..., NodeDriver], tmp_path: Path, workspace: str
) -> None:
    project = tmp_path / "copied"
    mine = folder(project / ".zot" / "extensions", "mine", child_argv("echo"))
    Script(project, "go").answer("done").write(tmp_path / "cassette.jsonl")
    given = {"discover": True, "cwd": "/driver/up"}
    facts = folder_extensions(
        RunRequest(cwd=str(project), trust_project=True), [Task(id="a", prompt="go")], tmp_path / "home of the driver"
    )
    facts = tuple(replace(each, cwd="/driver/up") for each in facts)
    driver = make_driver(runs_in=project)
    driver.ready(upload="/driver/up", extensions=facts, run=given)
    task = Task(id="a", prompt="go", cwd="/driver/up", replay=str(tmp_path / "cassette.jsonl"))
    begin = {"workspace": "/rundir/workspaces/a"} if workspace else {}
    first = driver.start(task, run=given, **begin)
    driver.take(Exited)
    assert b'"extensions":{"mine"' in driver.output(first)
    assert not (driver.home / "trust.json").exists()
    if not workspace:
        (mine / "more.txt").write_text("changed since")
        second = driver.start(task, run=given)
        driver.take(Exited)
        assert b'"extensions":{}' in driver.output(second)
    driver.end()


def test_the_host_of_a_node_trusts_what_the_driver_trusts(driver: NodeDriver, tmp_path: Path) -> None:
    (starts := tmp_path / "starts").touch()
    argv = [sys.executable, "-I", "-S", str(TELLER), "teller", str(starts)]
    folder(driver.cwd / ".zot" / "extensions", "teller", argv, sessions="shared")
    run = replace(driver.flags(discover=True), trust_project=True)
    facts = folder_extensions(run, [replayed(driver)], tmp_path / "home of the driver")
    ready = driver.ready(run={"discover": True}, extensions=facts)
    assert ready.serving is not None
    serving = host_lines.decode_from_host(ready.serving)
    assert isinstance(serving, host_lines.Serving)
    assert serving.shared == ("teller",)
    driver.end()


def test_the_memory_of_runs_is_told_when_it_changes(driver: NodeDriver) -> None:
    driver.ready(run_memory=2**30)
    run = driver.start(Task(id="a", prompt="go", setup="sleep 1000"))
    memory = driver.take(node_frames.Memory, lambda frame: frame.runs.get(run, 0) > 2**20)
    assert memory.shared > 0
    driver.send(Kill(run=run))
    driver.take(node_frames.Memory, lambda frame: frame.runs == {})
    driver.end()


# --- a run in this process, with a stand-in for the agent -----------------------------------------------------


class Bench:
    """A run without a node: its frames are read from a pipe."""

    def __init__(self, loop: Loop, folder: Path) -> None:
        self.loop = loop
        self.folder = folder
        self.frames: list[Any] = []
        self.is_over = False
        frames_in, frames_out = os.pipe()
        reader = node_frames.from_node_reader()
        self._reader = PipeReader(loop, frames_in, lambda data: self.frames.extend(reader.feed(data)), lambda: None)
        self.output = FrameOutput(loop, frames_out, lambda _is_held: self.run.look())
        self.launch = program_launcher(loop, dict(os.environ), str(folder), STANDIN)

    memory_of = spared = staticmethod(lambda *_: ())
    kill_tree = staticmethod(kill_tree)

    def run_asked(self, run: str, request: ModelRequest) -> bytes:
        return link.encode(request)

    def run_cancelled(self, run: str) -> None: ...
    def run_is_behind(self, run: str, is_behind: bool) -> None: ...
    def run_is_over(self, run: NodeRun) -> None:
        self.is_over = True

    def start(self, prompt: str) -> None:
        task = Task(id="a", prompt=prompt)
        begin = link.Begin(
            task=msgspec.Raw(encode_task(task).rstrip()), attempt=1, run="1-1", request=msgspec.Raw(b"{}"),
            token=f"{os.urandom(8).hex()}.1", version="0",
        )  # fmt: skip
        self.run = NodeRun(self.loop, begin, self, processes=self, output=self.output, standin=self.folder)  # type: ignore[arg-type]
        self.run.start()

    def wait(self, predicate: Callable[[], bool]) -> None:
        def look() -> bool:
            self.output.look()
            return predicate()

        soon(self.loop, look)

    def end(self) -> Exited:
        self.wait(lambda: self.is_over and isinstance(self.frames[-1:][0] if self.frames else None, Exited))
        last = self.frames[-1]
        assert isinstance(last, Exited)
        return last

    def said(self, kind: type[Any]) -> bytes:
        return b"".join(frame.data for frame in self.frames if isinstance(frame, kind))

    def close(self) -> None:
        self._reader.close()
        self.output.close()


@pytest.fixture
def bench(loop: Loop, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(loop, tmp_path)
    SharedProcessTable(loop).adopt_orphans()
    with loop.signals((), lambda _number: None):
        yield made
    made.close()


@pytest.mark.parametrize("word", ["garbage", "noise"])
def test_a_line_that_cannot_be_read_is_not_passed_on_and_the_driver_decides(bench: Bench, word: str) -> None:
    bench.start(f"say hello {word}")
    bench.wait(lambda: bool(bench.said(node_frames.Errors)))
    lines = [frame.line for frame in bench.frames if isinstance(frame, Told)]
    assert [line == b"" for line in lines] == [False, True]
    assert b"the run has said something that cannot be read: " in bench.said(node_frames.Errors)
    bench.run.kill()
    assert bench.end().code == -9


def test_the_events_before_a_line_are_sent_before_it(bench: Bench) -> None:
    bench.start("say one ask 5")
    bench.wait(lambda: any(isinstance(frame, Told) and b'"request"' in frame.line for frame in bench.frames))
    before = [frame for frame in bench.frames if isinstance(frame, node_frames.Output)]
    assert b'"one"' in b"".join(frame.data for frame in before)
    assert isinstance(bench.frames[-1], Told)
    bench.run.kill()
    bench.end()


def test_a_run_that_closes_its_link_and_does_not_end_is_killed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_run, "EXIT_S", 0.1)
    bench.start("leave close")
    assert bench.end().code == -9
    assert b"zot: the run has closed its link and did not end\n" in bench.said(node_frames.Errors)


def test_what_a_dead_run_has_left_is_ended_before_its_end_is_told(bench: Bench) -> None:
    bench.start("leave say hello die SIGTERM")
    assert bench.end().code == -15
    left = [pid for pid in ProcessTable.read().by_pid if bears_token(environment_of(pid), bench.run.begin.token)]
    assert left == []
    assert b'"hello"' in bench.said(node_frames.Output)
    assert b"about to die\n" in bench.said(node_frames.Errors)


def test_a_flood_waits_in_the_run_while_the_frames_are_not_read(bench: Bench) -> None:
    bench.loop.watch(bench._reader)
    bench.start("flood 200")
    bench.wait(lambda: bench.output.is_held)
    assert bench.output._pipe.queued < FULL + 200_000
    assert bench.frames == []
    bench.loop.watch(bench._reader, read=True)
    assert bench.end().code == 0
    assert bench.said(node_frames.Output).count(b'"text_delta"') == 200


def test_a_program_that_cannot_be_started_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(**_given: Any) -> None:
        raise OSError(24, "Too many open files")

    bench.launch = launch  # type: ignore[assignment]
    bench.start("ok")
    bench.wait(lambda: bench.is_over and bool(bench.frames))
    assert bench.frames == [NotStarted(run="1-1", message="cannot start the run: Too many open files", may_pass=True)]
