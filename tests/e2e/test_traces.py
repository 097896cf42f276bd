"""The trace that a run leaves under `$ZOT_HOME/runs`: true, without contents, and there after a kill."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import sys

import pytest

from tests.support.extension_folder import folder
from tests.support.replay_script import Script, error, ok
from tests.support.zot_process import wait_until
from wire import events, stats
from wire.exit_codes import Status

SECRET = "nobody-may-read-this"
TOOL = """
import json, os, signal, sys
def send(**frame): print(json.dumps(frame), flush=True)
send(type="hello", name=sys.argv[1])
send(type="register_tool", name=sys.argv[1] + "_work", description="Works.", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        args = frame["args"]
        print(args, file=sys.stderr, flush=True)
        if args.get("crash"): os.kill(os.getpid(), signal.SIGSEGV)
        if args.get("exit"): raise KeyError(args["word"])
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": args["word"]}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
"""


def worker(place, name: str):
    script = place / "worker.py"
    script.write_text(TOOL)
    return folder(place, name, [sys.executable, "-SE", str(script), name])


def lines(path) -> list[stats.StatsLine]:
    """All lines but those that name a file beside the trace."""
    found = [stats.decode(line) for line in path.read_bytes().splitlines()]
    return [line for line in found if not (isinstance(line, stats.Mark) and line.name == "file")]


def only_trace(zot):
    (path,) = (zot.home / "runs").glob("*[0-9].jsonl")
    return path


def working(zot, *results, word=SECRET):
    script = Script(zot.cwd, prompt="go", extra={"worker_work": "Works."})
    for args, result in results:
        script = script.call(("worker_work", {"word": word, **args}), results=[result])
    return script.answer("Done.")


def test_a_trace_has_the_start_the_waits_and_the_end(zot):
    script = working(zot, ({}, ok(SECRET)))
    outcome = zot.replay(script, "-e", worker(zot.folder, "worker")).check(Status.OK)
    path = only_trace(zot)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    header, ready, begun, run, figures = lines(path)
    assert isinstance(header, stats.Trace)
    assert (header.id, header.kind, header.cwd) == (path.stem, "run", str(zot.cwd))
    assert header.flags == {
        "replay": str(zot.folder / "cassette.jsonl"),
        "extensions": [str(zot.folder / "ext-worker")],
    }
    assert (ready.kind, ready.extension, ready.duration_ms > 0) == ("started", "worker", True)
    assert (begun.kind, begun.extension, begun.duration_ms >= ready.duration_ms) == ("started", "", True)
    assert isinstance(run, stats.Run)
    assert (run.status, run.exit_code, run.steps, run.session) == ("ok", 0, 2, outcome.result.session)
    assert isinstance(figures, stats.Stats)
    assert figures.extensions["worker"].calls == 1


def test_a_fall_is_told_in_the_host_s_words_and_nothing_of_the_extension_s(zot):
    lost = error("the extension worker stopped before it answered: it ended (signal SIGSEGV)")
    script = Script(zot.cwd, prompt=SECRET, extra={"worker_work": "Works."})
    script = script.call(("worker_work", {"word": SECRET, "crash": True}), results=[lost]).answer(SECRET)
    outcome = zot.run(*zot.replay_flags(script), "-e", worker(zot.folder, "worker"), SECRET)
    assert "exited" in [record.event for record in outcome.of(events.Extension)]
    path = only_trace(zot)
    assert SECRET.encode() not in path.read_bytes()
    (fall,) = [line for line in lines(path) if isinstance(line, stats.Mark) and line.name == "crashed"]
    assert (fall.kind, fall.extension, fall.detail) == ("exited", "worker", "crashed: signal SIGSEGV; 1 request lost")


def test_flags_are_kept_without_keys_and_texts(zot):
    zot.run(
        "--json",
        "--append-system-prompt",
        SECRET,
        "--api-key",
        SECRET,
        "--base-url",
        f"http://u:{SECRET}@[::1]:1/v1",
        SECRET,
    )
    (header, *_) = lines(only_trace(zot))
    told = (header.flags["append_system_prompt"], header.flags["api_key"], header.flags["base_url"])
    assert told == (["…"], "…", "http://[::1]:1/v1")
    assert SECRET.encode() not in only_trace(zot).read_bytes()


def test_an_error_of_the_extension_is_not_quoted(zot):
    script = Script(zot.cwd, extra={"worker_work": "Works."})
    script = script.call(("worker_work", {"word": SECRET, "exit": True}), results=[])
    zot.run(*zot.replay_flags(script), "-e", worker(zot.folder, "worker"), "go")
    assert SECRET.encode() not in only_trace(zot).read_bytes()


def test_what_was_written_survives_a_kill(zot):
    script = working(zot, ({"crash": True}, error("x")), ({}, ok("x")))
    script.call(("bash", {"command": "sleep 600"}))
    with zot.start(*zot.replay_flags(script), "-e", worker(zot.folder, "worker"), "go") as running:
        running.wait_for(events.Extension, event="exited")
        running.signal(signal.SIGKILL)
        running.process.wait()
    header, *marks = lines(only_trace(zot))
    assert header.pid == running.pid
    assert any(mark.name == "crashed" for mark in marks)
    assert not any(isinstance(line, stats.Run) for line in marks)


@pytest.mark.parametrize("flag", [["--no-trace"], ["--no-trace", "--stats", "stats.jsonl"]])
def test_no_trace_leaves_none(zot, flag):
    zot.replay(working(zot, ({}, ok(SECRET))), "-e", worker(zot.folder, "worker"), *flag).check(Status.OK)
    assert not (zot.home / "runs").exists()


def test_a_folder_that_cannot_be_written_is_one_line(zot):
    zot.home.mkdir()
    (zot.home / "runs").write_text("a file in the way")
    outcome = zot.replay(working(zot, ({}, ok(SECRET))), "-e", worker(zot.folder, "worker")).check(Status.OK)
    (line,) = [line for line in outcome.warnings if "trace" in line]
    assert line.startswith("zot: no trace of this run: ")
    assert os.strerror(errno.ENOTDIR) in line


def test_a_host_keeps_a_trace_too(zot):
    with zot.start("host", "-e", worker(zot.folder, "worker"), "--no-ext") as running:
        path = wait_until(lambda: next(iter((zot.home / "runs").glob("*.jsonl")), None))
        wait_until(lambda: b'"started"' in path.read_bytes() or "ready" in running.errors())
        running.signal(signal.SIGTERM)
        running.finish()
    header, *_, figures = lines(path)
    assert (header.kind, header.flags["ext"]) == ("host", [str(zot.folder / "ext-worker")])
    assert isinstance(figures, stats.Stats)


def test_a_batch_is_one_trace_with_the_falls_of_its_runs(zot):
    cassette = Script(zot.cwd, prompt="a", extra={"worker_work": "Works."})
    cassette = cassette.call(("worker_work", {"word": SECRET, "crash": True}), results=[])
    path = cassette.write(zot.folder / "cassette.jsonl")
    tasks = zot.folder / "tasks.jsonl"
    tasks.write_text(json.dumps({"id": "one", "prompt": "a"}) + "\n")
    flags = ["--replay", path, "-e", worker(zot.folder, "worker"), "--retries", "0", "-q"]
    zot.run("batch", tasks, "-o", zot.folder / "out", *flags)
    header, fall, run = lines(only_trace(zot))
    assert (header.kind, header.folder, header.flags["retries"]) == ("batch", str(zot.folder / "out"), 0)
    assert (fall.name, fall.extension) == ("crashed", "worker")
    assert isinstance(run, stats.Run)
    assert (run.status, run.steps) == ("done", 1)
    assert SECRET.encode() not in only_trace(zot).read_bytes()


MUTE_GUARD = """
import json, sys
def send(**frame): print(json.dumps(frame), flush=True)
send(type="hello", name="mute")
send(type="subscribe", intercept=["tool_call"])
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], modified_args=[frame["tool_args"]["word"]])
"""
CALLS = 20
MOMENTS = 50


@pytest.mark.slow
def test_a_trace_is_readable_and_true_whenever_its_run_is_killed(zot):
    (zot.folder / "mute.py").write_text(MUTE_GUARD)
    guard = folder(zot.folder, "mute", [sys.executable, "-SE", str(zot.folder / "mute.py")])
    tool = worker(zot.folder, "worker")
    args = [*zot.replay_flags(working(zot, *[({}, ok(SECRET))] * CALLS)), "-e", guard, "-e", tool, "go"]
    total = len(zot.run(*args).stdout.splitlines())
    for moment in range(MOMENTS):
        with zot.start(*args) as running:
            told = running.read(moment * total // MOMENTS)
            running.signal(signal.SIGKILL)
            running.process.wait()
        falls = sum(isinstance(record, events.Extension) and record.event == "no_verdict" for record in told)
        path = next((zot.home / "runs").glob(f"*-{running.pid}.jsonl"), None)
        if path is None:
            assert not told
            continue
        assert SECRET.encode() not in path.read_bytes()
        header, *rest = lines(path)
        assert (header.pid, header.cwd) == (running.pid, str(zot.cwd))
        marks = [line for line in rest if isinstance(line, stats.Mark) and line.name == "no_verdict"]
        assert falls <= len(marks) <= CALLS
        assert {mark.detail for mark in marks} <= {"no verdict: tool_call: bad answer"}
        ends = [line for line in rest if isinstance(line, stats.Run)]
        assert not ends or ends[0].status == "ok"


def test_an_extension_that_cannot_be_loaded_is_a_fall_of_its_run(zot):
    bad = worker(zot.folder, "bad")
    (bad / "extension.json").write_text('{"name": "bad", "exec": 7}')
    outcome = zot.run("--json", "--replay", Script(zot.cwd).answer("x").write(zot.folder / "c.jsonl"), "-e", bad, "go")
    assert outcome.status == Status.REQUIRED_EXTENSION.exit_code
    (fall,) = [line for line in lines(only_trace(zot)) if isinstance(line, stats.Mark) and line.name == "refused"]
    assert (fall.kind, fall.extension, fall.detail) == ("failed", "ext-bad", "refused: it cannot be loaded")
