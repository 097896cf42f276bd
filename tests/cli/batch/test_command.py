"""The command line of `zot batch`: what is a command and what are tasks, which flags are refused, what they ask for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from agent.batch.opening.settings import flags_of, request_of
from agent.batch.tasks.select import Selection
from cli.app import app
from cli.batch.arguments import arguments_from
from cli.batch.output.stderr import ProgressStyle
from cli.choices import CommandLineError
from tests.support.zot_fork import run

GROUP = typer.main.get_command(app).commands["batch"]  # type: ignore[attr-defined]


def asked(*words, tasks="t.jsonl"):
    context = GROUP.make_context("batch", [tasks, "-o", "runs", *words])
    assert context._protected_args == []
    return arguments_from(context.params)


def test_the_defaults():
    given = asked()
    assert (given.tasks, given.folder, given.request.folder) == ("t.jsonl", "runs", Path.cwd() / "runs")
    assert (given.show, given.as_json, given.selection, given.request.redo) == (
        ProgressStyle.AUTO,
        False,
        Selection(),
        (),
    )
    request = given.request
    assert (request.jobs, request.retries, request.workspace, request.run_memory) == (None, 1, "shared", None)
    assert not request.run.keep_session
    assert request.run.discover


def test_each_flag_has_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = asked(
        *("--template", "@p.txt", "--slice", "1:9", "--filter", "id~^a", "--shuffle", "--limit", "5", "--shard", "1/2"),
        *("--redo", "failed", "--redo", "x", "-m", "m", "-e", "ext", "--no-ext", "--tools", "read", "--replay", "c"),
        *("--max-steps", "3", "--task-timeout", "1h30m", "--task-max-cost", "$0.5", "--run-memory", "512MB"),
        *("--output-schema", "s.json", "-j", "4", "--retries", "0", "--workspace", "copy", "--max-cost-usd", "20"),
        *("--max-tokens", "1000", "--max-failures", "2", "--deadline", "2h", "--json", "-q"),
    )
    request, chosen = given.request, given.selection
    assert (chosen.slice, chosen.shuffle_seed, chosen.limit, chosen.shard) == ((1, 9), 0, 5, (1, 2))
    assert (given.template, request.redo, len(chosen.filters)) == ("@p.txt", ("failed", "x"), 1)
    assert (request.jobs, request.retries, request.workspace) == (4, 0, "copy")
    assert (request.task_timeout, request.task_max_cost_usd, request.run_memory) == (5400.0, 0.5, 512_000_000)
    assert (request.max_cost_usd, request.max_tokens, request.max_failures) == (20.0, 1000, 2)
    assert (request.deadline, given.show, given.as_json) == (7200.0, ProgressStyle.NOTHING, True)
    flags = request.run
    assert (flags.model, flags.discover, flags.tools, flags.max_steps) == ("m", False, frozenset({"read"}), 3)
    there = str(tmp_path)  # runs work in the folders of their tasks
    assert (flags.replay, flags.extensions, flags.output_schema) == (f"{there}/c", (f"{there}/ext",), f"{there}/s.json")


def test_the_events_of_the_runs_can_be_left_out():
    assert asked("--json").has_events
    assert not asked("--json", "--no-events").has_events


def test_a_schema_itself_is_no_path():
    assert asked("--output-schema", '{"type": "object"}').request.run.output_schema == '{"type": "object"}'


def test_the_flags_of_a_batch_are_kept_in_its_folder_but_for_the_key(tmp_path):
    request = asked(
        *("-m", "m", "--api-key", "secret", "--tools", "read,write", "-e", "x", "--append-system-prompt", "be brief"),
        *("--max-cost-usd", "2", "--workspace", "copy", "--run-memory", "1G", "--redo", "all"),
    ).request
    kept = flags_of(request)
    assert "secret" not in repr(kept)
    again = request_of({"flags": kept}, request.folder)
    assert (again.run.model, again.run.api_key, again.run.tools) == ("m", None, frozenset({"read", "write"}))
    assert (again.run.extensions, again.run.append_system_prompt) == (request.run.extensions, ("be brief",))
    assert (again.max_cost_usd, again.workspace, again.run_memory, again.redo) == (2.0, "copy", 1 << 30, ())


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--no-events"], "--no-events has no effect without --json"),
        (["--seed", "3"], "--seed has no effect without --shuffle"),
        (["--slice", "1-3"], "--slice '1-3': write a:b"),
        (["--filter", "nope"], "--filter 'nope': write field=value or field~regex"),
        (["--shard", "3/2"], "--shard '3/2': write i/n with i from 1 to n"),
        (["--tools", "raed"], "--tools: 'raed' is not one of"),
    ],
)
def test_flags_that_make_no_sense_are_refused(words, reason):
    with pytest.raises(CommandLineError, match=re.escape(reason)):
        asked(*words)


def test_stdin_is_one_thing_only():
    with pytest.raises(CommandLineError, match="stdin can be only one of them"):
        asked("--api-key-file", "-", tasks="-")


def test_a_key_on_stdin_is_read_once_for_all_runs(monkeypatch):
    monkeypatch.setattr("cli.batch.arguments.read_key", lambda path: (f"key from {path}", ""))
    run = asked("--api-key-file", "-").request.run
    assert (run.api_key, run.api_key_file) == ("key from -", None)
    assert asked("--api-key-file", "k").request.run.api_key_file == str(Path.cwd() / "k")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["-o", "runs"], "zot: TASKS is missing: a file with one task a line, as in zot batch tasks.jsonl -o runs"),
        (["t.jsonl"], "zot: -o RUNDIR is missing: the folder of the batch, as in zot batch t.jsonl -o runs"),
        (["statsu", "runs"], "zot: one file of tasks at a time: 'runs' is one more (did you mean 'status'?)"),
        (["t.jsonl", "-o", ""], "zot: -o RUNDIR is missing"),
        (["t.jsonl", "-o", "runs", "--run-memory", "0"], "zot: Invalid value for '--run-memory'"),
        (["none.jsonl", "-o", "runs"], "zot batch: none.jsonl: no such file"),
        (["bad.jsonl", "-o", "runs"], "zot batch: bad.jsonl:2: "),
        (["./status", "-o", "runs", "--limit", "1", "--slice", "5:"], "zot batch: --slice, --filter, --limit and"),
        (
            ["./status", "-o", "runs", "--redo", "tow", "--api-key", "k"],
            "zot batch: --redo: no such task: 'tow'; did you mean 'two'?",
        ),
        (["./status", "-o", "."], "zot batch: {cwd}: is no folder of a batch and not empty"),
    ],
)
def test_bad_tasks_and_flags_are_refused_and_nothing_is_run(zot, words, complaint):
    (zot.cwd / "bad.jsonl").write_text('{"prompt": "a"}\n{"prompts": "b"}\n')
    (zot.cwd / "status").write_text('{"id": "one", "prompt": "a"}\n{"id": "two", "prompt": "b"}\n')
    found = run(zot, "batch", *words)
    assert found.stderr.startswith(complaint.replace("{cwd}", str(zot.cwd))), found.stderr
    assert (found.status, found.stdout) == (2, b"")
    assert len(found.stderr.splitlines()) == 1
    assert not (zot.cwd / "runs" / "runs").exists()


def test_what_a_shell_offers(zot, runs):
    (zot.cwd / "t.jsonl").write_text("")
    (zot.cwd / "notes.md").write_text("")

    def offered(line):
        env = {"_ZOT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        return zot.run(env=env).text.split()

    assert {"status", "retry", "t.jsonl", "runs/"} <= set(offered("zot batch "))
    assert "notes.md" not in offered("zot batch ")
    assert offered("zot batch status r") == ["runs"]
    assert set(offered("zot batch logs runs t")) == {"two", "three"}
    assert offered("zot batch t.jsonl -o runs --redo f") == ["failed"]
    assert offered("zot batch t.jsonl --workspace ") == ["shared", "copy", "worktree"]
    assert "check_failed" in offered("zot batch results runs --status ch")
