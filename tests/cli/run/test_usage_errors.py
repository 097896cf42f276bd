"""What cannot be run is refused before anything starts: status 2, nothing on stdout, one clear complaint."""

from __future__ import annotations

import re

import pytest

from tests.support.replay_script import Script
from wire.events import Status


def refusal(outcome) -> str:
    assert outcome.status == Status.USAGE.exit_code, outcome
    assert outcome.stdout == b""
    assert outcome.leftovers == []
    assert "Traceback" not in outcome.stderr
    assert "\x1b" not in outcome.stderr
    return " ".join(re.sub("[│╭╮╰╯─]", " ", outcome.stderr).split())


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["hello"], "no such command: 'hello'. To send a prompt, use -p or --json; commands: demo, doctor, ext,"),
        (["demoo"], "no such command: 'demoo'; did you mean 'demo'?"),
        (["--json", "-p", "x"], "choose one of --json and --print"),
        (["--json", "--nope", "x"], "No such option: --nope"),
        (["--json", "--modle", "m", "x"], "No such option: --modle (Possible options: --model"),
        (["--json", "--model"], "Option '--model' requires an argument"),
        (
            ["-p", "--provider", "antropic", "x"],
            "'antropic' is not one of anthropic, replay; did you mean 'anthropic'?",
        ),
        (["-p", "--provider", "replay", "x"], "--provider replay needs a cassette: --replay FILE"),
        (["-p", "--provider", "anthropic", "--replay", "c", "x"], "exclude each other"),
        (["-p", "--record", "a", "--replay", "b", "x"], "--replay and --record exclude each other"),
        (["-p", "--tools", "read,bsh", "x"], "'bsh' is not one of read, write, edit, bash; did you mean 'bash'?"),
        (["-p", "--reasoning", "hgh", "x"], "'hgh' is not one of 'low', 'medium', 'high'"),
        (["-p", "--max-steps", "0", "x"], "'--max-steps': 0 is not in the range"),
        (["-p", "--max-steps", "two", "x"], "'--max-steps'"),
        (["-p", "--timeout", "0", "x"], "'--timeout'"),
        (["-p", "--timeout", "-1", "x"], "'--timeout'"),
        (["-p", "--timeout", "nan", "x"], "'--timeout'"),
        (["-p", "--timeout", "inf", "x"], "'--timeout': inf is not a number of seconds; leave it out for no limit"),
        (["-p", "--timeout", "soon", "x"], "'--timeout'"),
        (["-p", "--ext-wait", "nan", "x"], "'--ext-wait'"),
        (["-p", "--cwd", "missing", "x"], "--cwd missing: no such folder"),
        (["-p", "--cwd", "a-file", "x"], "--cwd a-file: not a folder"),
        (["-p", "--base-url", "localhost:1", "x"], "--base-url localhost:1: must start with http:// or https://"),
        (["-p", "--base-url", "http://", "x"], "--base-url http://: names no host to connect to"),
        (["-p", "--base-url", "http://[::bad", "x"], "--base-url http://[::bad: Invalid IPv6 URL"),
        (["-p", "--model", "b\udcffd", "x"], "--model 'b\ufffdd': not valid UTF-8"),
        (["schema", "manifst"], "'manifst' is not one of manifest,"),
        (["demo", "more"], "Got unexpected extra argument(s) (more)"),
    ],
)
def test_a_command_line_that_cannot_be_run(zot, args, complaint):
    (zot.cwd / "a-file").write_text("")
    assert complaint in refusal(zot.run(*args))
    assert not zot.home.exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file or directory"),
        (b"", "is empty"),
        (b"garbage\n", "c.jsonl:1: not JSON"),
        (b'{"type":"session"}\n', "c.jsonl:1: not a cassette"),
        (b'{"type":"cassette","version":99}\n', "version 99; this program reads version 1"),
        (b'{"type":"cassette","version":1}\n{"type":"exchange"', "c.jsonl:2: the line is cut off"),
        (
            b'{"type":"cassette","version":1}\n{"type":"exchange","request":{},"reply":[]}\n',
            "c.jsonl:2: the reply does",
        ),
        (b"\xff\xfe\0\n", "c.jsonl:1: not JSON"),
    ],
)
def test_a_cassette_that_cannot_be_played(zot, content, complaint):
    cassette = zot.folder / "c.jsonl"
    if content is not None:
        cassette.write_bytes(content)
    text = refusal(zot.run("--json", "--replay", cassette, "x"))
    assert text.startswith("zot: --replay: ")
    assert complaint in text


def test_a_cassette_that_cannot_be_written(zot):
    (zot.folder / "notes.txt").write_text("my notes\n")
    assert "it is a directory" in refusal(zot.run("-p", "--record", zot.folder, "x"))
    assert "No such file or directory" in refusal(zot.run("-p", "--record", zot.folder / "no" / "c", "x"))
    assert "not a cassette; remove it first" in refusal(zot.run("-p", "--record", zot.folder / "notes.txt", "x"))
    assert (zot.folder / "notes.txt").read_text() == "my notes\n"


@pytest.mark.parametrize(
    "line", [{"type": "text_delta"}, {"type": "final"}, {"type": "error"}, {"type": "tool_use_end"}]
)
def test_a_cassette_with_an_incomplete_line_is_an_error_of_the_run(zot, line):
    script = Script(zot.cwd).answer("Hello")
    reply = script._exchanges[0][1]
    reply[-1 if line["type"] in ("final", "error") else 1] = line
    outcome = zot.replay(script).check(Status.ERROR)
    assert outcome.result.reason.startswith("the cassette holds a reply that cannot be played: Object missing required")


def test_zot_alone_prints_help_as_a_usage_error(zot):
    outcome = zot.run()
    assert outcome.status == Status.USAGE.exit_code
    assert "Usage: zot" in outcome.text
    assert outcome.stderr == ""


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(zot, flag):
    outcome = zot.run(flag)
    assert (outcome.status, outcome.stderr) == (0, "")
    for word in ("zot demo", "--strict-guards", "--replay", "130 interrupted", "schema"):
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
