"""`zot ext bisect`: real runs of extensions in sh, of MCP servers and of Copilot extensions."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agent.transcript import Message, Text
from tests.support.copilot_place import CopilotPlace
from tests.support.extension_folder import extension
from tests.support.mcp_files import write_servers
from tests.support.mcp_servers import server_argv
from tests.support.replay_script import Script, ok
from tests.support.sh_extension import guard, modified
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Outcome, Zot

CRASH = "echo unlucky >&2; exit 3"
HANGS = "while read -r line; do :; done"
GROWS = "[ $x ] || x=0123456789abcdef; for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do x=$x$x; done"
EXITED = 'any(json.loads(line).get("event") == "exited" for line in sys.stdin)'


def recording(zot: Zot, prompt: str = "go") -> Path:
    script = Script(zot.cwd, prompt).call(("bash", {"command": "echo hello"}), results=[ok("hello")]).answer("done")
    return script.write(zot.folder / "run.jsonl")


def bisect(zot: Zot, *flags: str, run: tuple[str, ...] = ("-p",), prompt: str = "go") -> Outcome:
    tape = zot.folder / "run.jsonl"
    if not tape.exists():
        recording(zot)
    return zot.run("ext", "bisect", *flags, "--", *zot.command, *run, "--replay", tape, prompt)


def plant(zot: Zot, count: int = 5, **faults: str) -> None:
    """Writes guards `ext0` … of which those in `faults` run this code."""
    for number in range(count):
        name = f"ext{number}"
        guard(zot.home / "extensions", name, faults.get(name, ":"))


def found(outcome: Outcome) -> Any:
    assert (outcome.status, outcome.leftovers) == (0, []), outcome
    return json.loads(outcome.stdout)


def test_the_extension_that_crashes_is_named_with_what_was_seen_and_what_to_do(zot: Zot):
    plant(zot, 3, ext1=CRASH)
    outcome = bisect(zot, "--check-text", r"exit 3\b")
    assert (outcome.status, outcome.leftovers, outcome.stderr) == (0, [], "")
    lines = outcome.text.splitlines()
    assert lines[0] == "ext1 makes the run go bad, alone and without the 2 other extensions."
    assert lines[2].startswith("Seen: in a notice about ext1: ")
    assert "unlucky" in lines[2]
    assert "5 runs with parts of 3 extensions." in lines
    assert any(line.startswith("    zot ext info ext1 ") for line in lines)
    assert zot.session_files() == []


def test_a_check_that_never_fails_is_told_after_one_run(zot: Zot):
    plant(zot, 2)
    outcome = bisect(zot, "--check-text", "oops")
    assert (outcome.status, outcome.leftovers) == (1, [])
    assert outcome.text.startswith("The run is good with all 2 extensions: no text matches.\n")
    assert outcome.text.endswith("\n1 run.\n")


def test_a_check_that_always_fails_is_told_after_three_runs(zot: Zot):
    plant(zot, 2)
    outcome = bisect(zot, "--json", "--check", 'grep -q "something else"')
    told = json.loads(outcome.stdout)
    assert (outcome.status, told["result"], told["culprits"], told["runs"]) == (1, "always_bad", [], 3)
    assert [trial["extensions"] for trial in told["trials"]] == [["ext0", "ext1"], [], []]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "--check, --check-text, --max-s, --max-rss and --differs: one is needed"),
        (("--differs", "--max-s", "1"), "--max-s and --differs: exclude each other"),
        (("--check-text", "("), "--check-text: no regular expression"),
        (("--max-s", "60"), "--max-s is longer than --timeout, 30 s"),
    ],
)
def test_checks_that_cannot_be_used(zot: Zot, flags: tuple[str, ...], said: str):
    assert said in bisect(zot, *flags).refusal()


def test_recordings_that_cannot_be_used(zot: Zot):
    missing = zot.run("ext", "bisect", "--differs", "--", *zot.command, "-p", "--replay", "no.jsonl", "go")
    assert "the recording no.jsonl does not exist; make it: zot -p --record no.jsonl PROMPT" in missing.refusal()
    (zot.folder / "run.jsonl").write_text('{"type":"cassette","version":1}\n{"type"')
    for flags in (("--differs",), ("--check-text", "x")):
        assert "run.jsonl:2: the line is cut off" in bisect(zot, *flags).refusal()


def test_a_run_without_extensions_and_a_recording_of_another_prompt(zot: Zot):
    assert "the run has no extension that could be left out" in bisect(zot, "--check-text", "x").refusal()
    plant(zot, 1)
    refusal = bisect(zot, "--check-text", "hello", prompt="another").refusal()
    assert "the recording does not fit" in refusal
    assert "another" in refusal


@pytest.mark.slow
def test_by_difference_only_the_fault_counts_and_not_what_sound_extensions_add(zot: Zot):
    """The recording has the context of a sound guard: without it, each run differs."""
    extensions = zot.home / "extensions"
    for number in range(3):
        guard(extensions, f"sound{number}")
    guard(extensions, "adds", """more=',"additional_context":"mind this"'""", event="user_prompt")
    assert bisect(zot, "--differs").status == 0, "it was recorded without it"
    tape = zot.folder / "run.jsonl"
    tape.unlink()
    script = Script(zot.cwd)
    script._messages = [Message("user", (Text("go"), Text("mind this")), "")]
    script.call(("bash", {"command": "echo hello"}), results=[ok("hello")]).answer("done").write(tape)
    assert "as recorded" in bisect(zot, "--differs").text
    guard(extensions, "corrupts", modified("he11o"), event="tool_result")
    told = found(bisect(zot, "--differs", "--json"))
    assert told["culprits"] == ["corrupts"]
    assert "he11o" in told["why"]


@pytest.mark.slow
def test_slow_ones_and_large_ones(zot: Zot):
    plant(zot, 4, ext2="sleep 4", ext3=GROWS)
    assert found(bisect(zot, "--json", "--max-s", "4"))["culprits"] == ["ext2"]
    assert found(bisect(zot, "--json", "--max-rss", "25"))["culprits"] == ["ext3"]


@pytest.mark.slow
@pytest.mark.parametrize("hangs", ["in a verdict", "before its hello"])
def test_hanging_ones_within_the_time_of_a_run(zot: Zot, hangs: str):
    plant(zot, 3)
    folder = guard(zot.home / "extensions", "hangs", HANGS)
    if hangs == "before its hello":
        (folder / "run.sh").write_text(HANGS)
    told = found(bisect(zot, "--json", "--check-text", "no verdict|hello within", "--timeout", "9"))
    assert told["culprits"] == ["hangs"]
    assert max(trial["seconds"] for trial in told["trials"]) < 9


@pytest.mark.slow
def test_two_that_break_only_together_by_a_command_that_reads_events(zot: Zot):
    extensions = zot.home / "extensions"
    plant(zot, 6)
    guard(extensions, "a_marks", f"echo $$ > {zot.folder}/marked")
    guard(extensions, "b_breaks", f"kill -0 $(cat {zot.folder}/marked) 2>/dev/null && exit 3")
    check = f"{sys.executable} -c 'import json, sys; sys.exit({EXITED})'"
    told = found(bisect(zot, "--json", "--check", check, run=("--json",)))
    assert told["culprits"] == ["a_marks", "b_breaks"]


@pytest.mark.slow
def test_a_flaky_check_is_told(zot: Zot):
    """The extension crashes in two runs of three."""
    counter = zot.folder / "count"
    plant(
        zot,
        2,
        ext0=f"n=$(cat {counter} 2>/dev/null || echo 0); echo $((n + 1)) > {counter}; [ $((n % 3)) = 2 ] || exit 3",
    )
    outcome = bisect(zot, "--check-text", r"exit 3\b", "--repeat", "3")
    assert outcome.text.startswith("ext0 makes the run go bad")
    assert "The check is flaky: with 2 extensions 2 of 3 runs were bad." in outcome.text


@pytest.mark.slow
def test_an_mcp_server_is_named(zot: Zot):
    command, *args = server_argv("reference.sh")
    broken = {"command": "/bin/sh", "args": ["-c", "exit 7"]}
    write_servers(zot.home / "mcp.json", one={"command": command, "args": args}, two=broken)
    plant(zot, 2)
    assert found(bisect(zot, "--json", "--check-text", r"exit 7\b"))["culprits"] == ["two"]


@pytest.mark.slow
def test_a_copilot_extension_is_named(zot: Zot, server: MessagesServer):
    place = CopilotPlace(zot, server)
    place.add("minimal")
    place.add("throws-at-top")
    plant(zot, 2)
    told = found(bisect(zot, "--json", "--check-text", "throws-at-top: .*exit", run=("-p", "--trust-project")))
    assert told["culprits"] == ["throws-at-top"]


@pytest.mark.slow
def test_after_an_interrupt_nothing_is_left(zot: Zot):
    plant(zot, 3, ext1="sleep 600")
    recording(zot)
    words = ("ext", "bisect", "--max-s", "25", "--", *zot.command, "-p", "--replay", zot.folder / "run.jsonl", "go")
    with zot.start(*words) as running:
        wait_until(lambda: running.find_child("sleep"))
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert (outcome.status, outcome.stdout, outcome.leftovers) == (130, b"", [])
    assert outcome.stderr == "zot ext bisect: interrupted\n"


@pytest.mark.slow
def test_a_bisect_that_is_killed_leaves_a_run_that_ends_by_itself(zot: Zot):
    plant(zot, 2, ext1="sleep 600")
    recording(zot)
    words = ("ext", "bisect", "--max-s", "1", "--", *zot.command, "-p", "--replay", zot.folder / "run.jsonl", "go")
    with zot.start(*words) as running:
        wait_until(lambda: running.find_child("sleep"))
        running.signal(signal.SIGKILL)
        running.process.wait()
        wait_until(lambda: running.find_child("") is None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_cases_of_the_benchmark(tmp_path: Path, seed: int):
    from benchmarks.culprit.case import solve

    solved = solve(tmp_path, seed)
    assert solved.named == solved.culprits, solved
    assert solved.runs <= (9 if len(solved.culprits) == 1 else 20)


@pytest.mark.parametrize("flags", [["--max-s", "nan"], ["--max-rss", "nan"], ["--check-text", "x", "--timeout", "inf"]])
def test_what_is_no_number_is_refused(zot: Zot, flags: list[str]):
    zot.run("ext", "bisect", *flags, "--", "zot", "-p", "--replay", "x", "go").refusal()


def test_an_extension_that_is_not_there_is_named(zot: Zot):
    recording = Script(zot.cwd, prompt="go").answer("Done.").write(zot.folder / "run.jsonl")
    good = extension(zot.folder, "echo")
    run = ["zot", "-p", "--replay", recording, "--no-ext", "-e", good, "-e", zot.folder / "nosuch", "go"]
    refused = zot.run("ext", "bisect", "--check-text", "x", "--", *run)
    assert (refused.status, refused.stdout) == (2, b"")
    assert "the run ends before its first request: extension nosuch was named with --ext, and cannot" in refused.stderr
