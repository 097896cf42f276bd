"""Help, the version, and command lines that are refused before anything starts."""

from __future__ import annotations

import pytest

from wire.exit_codes import Status


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["hello"], "no such command: 'hello'. To send a prompt, use -p or --json; commands: batch, demo, doctor,"),
        (["demoo"], "no such command: 'demoo'; did you mean 'demo'?"),
        (["-c", "hello"], 'a session is resumed with a prompt: add -p or --json, as in zot -p -c "go on"'),
        (["--json", "-p", "x"], "choose one of --json, --print and --rpc"),
        (["--json", "--nope", "x"], "No such option: --nope"),
        (["--json", "--modle", "m", "x"], "No such option: --modle (Possible options: --model"),
        (["--json", "--model"], "Option '--model' requires an argument"),
        (
            ["-p", "--provider", "antropic", "x"],
            "vercel-ai-gateway, replay; did you mean 'anthropic'?",
        ),
        (["-p", "--provider", "replay", "x"], "--provider replay needs a cassette: --replay FILE"),
        (["-p", "--provider", "anthropic", "--replay", "c", "x"], "exclude each other"),
        (["-p", "--record", "a", "--replay", "b", "x"], "--replay and --record exclude each other"),
        (["-p", "--openmetrics", "x"], "--openmetrics has no effect without --metrics FILE"),
        (["host", "--openmetrics"], "--openmetrics has no effect without --metrics FILE"),
        (["host", "--stats-interval", "5"], "--stats-interval has no effect without --stats FILE"),
        (["help", "ext", "nope"], "(see zot ext --help)"),
        (["-p", "--tools", "read,bsh", "x"], "'bsh' is not one of read, write, edit, bash; did you mean 'bash'?"),
        (
            ["-p", "--reasoning", "hgh", "x"],
            "'hgh' is not one of 'off', 'minimum', 'low', 'medium', 'high', ",
        ),
        (["-p", "--max-steps", "0", "x"], "'--max-steps': 0 is not in the range"),
        (["-p", "--max-steps", "two", "x"], "'--max-steps'"),
        (["-p", "--timeout", "0s", "x"], "'--timeout': '0s' leaves no time to run; leave it out for no limit"),
        (["-p", "--timeout", "-1", "x"], "'--timeout': '-1' is not a length of time"),
        (["-p", "--timeout", "5 m", "x"], "'--timeout': '5 m' is not a length of time: write seconds (30, 1.5) or"),
        (["-p", "--ext-wait", "nan", "x"], "'--ext-wait': 'nan' is not a length of time"),
        (["-p", "--cwd", "missing", "x"], "--cwd missing: no such folder"),
        (["-p", "--cwd", "a-file", "x"], "--cwd a-file: not a folder"),
        (["-p", "--base-url", "localhost:1", "x"], "--base-url localhost:1: must start with http:// or https://"),
        (["-p", "--base-url", "http://", "x"], "--base-url http://: names no host to connect to"),
        (["-p", "--base-url", "http://[::bad", "x"], "--base-url http://[::bad: its host or its port cannot be read"),
        (["-p", "--model", "b\udcffd", "x"], "--model 'b\ufffdd': not valid UTF-8"),
        (["-p", "--stats", "a", "--metrics", "a", "x"], "--stats and --metrics name the same file, a"),
        (["schema", "manifst"], "'manifst' is not one of manifest,"),
        (["demo", "more"], "Got unexpected extra argument(s) (more)"),
    ],
)
def test_a_bad_command_line_is_refused_with_one_complaint(zot, args, complaint):
    (zot.cwd / "a-file").write_text("")
    assert complaint in zot.run(*args).refusal()
    assert not zot.home.exists()


def test_zot_alone_prints_help_as_a_usage_error(zot):
    outcome = zot.run()
    assert outcome.status == Status.USAGE.exit_code
    assert "Usage: zot" in outcome.text
    assert outcome.stderr == ""


def test_help(zot):
    outcome = zot.run("-h")
    assert zot.run("--help").text == outcome.text
    assert (outcome.status, outcome.stderr) == (0, "")
    for word in ("zot demo", "--strict-guards", "--replay", "130  interrupted", "schema"):
        assert word in outcome.text
    assert "\x1b" not in outcome.text


def test_help_is_coloured_on_request_only(zot):
    assert "\x1b" in zot.run("-h", env={"FORCE_COLOR": "1"}).text
    assert "\x1b[3" not in zot.run("-h", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).text


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_version(zot, flag):
    from cli.version import VERSION

    outcome = zot.run(flag)
    assert (outcome.status, outcome.text, outcome.stderr) == (0, f"zot {VERSION}\n", "")
    assert zot.run("--json", flag).text == outcome.text
