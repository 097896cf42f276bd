"""-o, --summary and --output-format, as a script uses them."""

from __future__ import annotations

import json

import msgspec
import pytest

from tests.support.extension_folder import EXAMPLES, extension
from tests.support.replay_script import Script
from wire import events
from wire.exit_codes import Status

SECRET = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture
def cassette(zot):
    return Script(zot.cwd).answer(f"The key is {SECRET}.").write(zot.folder / "cassette.jsonl")


def test_file_object_and_summary_have_the_text_that_the_guards_let_through(zot, cassette):
    answer, summary = zot.folder / "answer.txt", zot.folder / "summary.md"
    summary.write_text("# My job")
    flags = ["--replay", cassette, "-e", EXAMPLES / "redactor", "-o", answer, "--summary", summary, "go"]
    printed = zot.run("-p", *flags)
    assert printed.status == 0, printed.stderr
    assert SECRET not in printed.text
    assert answer.read_bytes() == printed.stdout

    answer.unlink()
    outcome = zot.run("--output-format", "json", *flags)
    assert (outcome.status, outcome.stderr) == (0, printed.stderr)
    (line,) = outcome.stdout.splitlines()
    result = msgspec.json.decode(line, type=events.Result)
    assert (result.status, result.text + "\n") == ("ok", printed.text)
    left_out = {"answer", "sent", "error_kind"}  # no --output-schema, no prompt of an extension, no failure
    assert json.loads(line).keys() == {"type", *events.Result.__struct_fields__} - left_out
    assert answer.read_bytes() == printed.stdout

    answer.unlink()
    stream = zot.run("--json", *flags).check(Status.OK)
    assert stream.result.text == result.text
    assert answer.read_bytes() == printed.stdout

    shown = summary.read_text()
    assert shown.startswith("# My job\n### "), "one run after another"
    assert shown.count("zot: ok\n") == shown.count(f"```text\n{result.text}\n```\n") == 3
    assert shown.count("| <code>redactor</code> |") == 3
    assert SECRET not in shown


def test_a_run_without_an_answer_leaves_the_file_and_still_says_how_it_ended(zot, cassette):
    answer, summary = zot.folder / "answer.txt", zot.folder / "summary.md"
    answer.write_text("old")
    guard = extension(zot.folder, "blocker", "assistant_message", "says | too much")
    flags = ["--replay", cassette, "-e", guard, "-o", answer, "--summary", summary, "go"]
    outcome = zot.run("--output-format=json", *flags)
    assert outcome.status == Status.BLOCKED.exit_code
    result = json.loads(outcome.stdout)
    assert (result["status"], result["exit_code"], result["reason"]) == ("blocked", 3, "says | too much")
    assert f"zot: --output {answer}: there is no answer; the file is left as it is" in outcome.warnings
    assert answer.read_text() == "old"
    shown = summary.read_text()
    assert "| outcome | blocked, exit status 3 |\n| --- | --- |\n| reason | says &#124; too much |" in shown
    assert "withheld a message of the model: says &#124; too much" in shown
    assert "Answer" not in shown


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["-p", "-o", "no/such/file"], "zot: --output no/such/file: there is no folder"),
        (["--json", "--summary", ""], "zot: --summary is empty: outside GitHub Actions $GITHUB_STEP_SUMMARY is not"),
        (["--json", "--output-format", "json"], "--output-format and --json exclude each other"),
        (["--rpc", "--summary", "x"], "--summary has no effect with --rpc"),
    ],
)
def test_a_usage_error_starts_and_prints_nothing(zot, cassette, flags, why):
    assert why in zot.run(*flags, "--replay", cassette, *([] if "--rpc" in flags else ["go"])).refusal()
    assert not (zot.home / "sessions").exists()


def test_a_prompt_that_does_not_come_in_time_is_an_object_too(zot, cassette):
    with zot.start("--output-format", "json", "--timeout", "50ms", "--replay", cassette, stdin=-1) as running:
        outcome = running.finish()
    assert outcome.status == Status.TIMEOUT.exit_code
    result = json.loads(outcome.stdout)
    assert (result["status"], result["session"]) == ("timeout", "")
    assert f"zot: {result['reason']}" in outcome.warnings
