"""The commands for authors of extensions: schema, test, drive and doctor."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import EXAMPLES, extension, folder
from tests.support.host import PRELUDE
from tests.support.zot_process import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Outcome, Zot

PATIENT = {"hello": 20.0, "ready": 20.0}
CALL = {"type": "tool_call", "id": "1", "name": "echo", "args": {"text": "hi"}}
RESULT = {"type": "tool_result", "id": "1", "content": [{"type": "text", "text": "hi"}]}


def lines(outcome: Outcome) -> list[Any]:
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def write_script(path: Path, *steps: dict[str, Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(step) + "\n" for step in steps))
    return path


def piped(zot: Zot, tmp_path: Path, text: str, *args: str | Path) -> Outcome:
    """`zot` with this on its standard input."""
    source = tmp_path / "stdin"
    source.write_text(text)
    with source.open("rb") as stdin:
        return zot.run(*args, stdin=stdin)


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    return extension(tmp_path, "echo", timeouts=PATIENT)


# --- schema -------------------------------------------------------------------------------------------------


def test_schema_of_the_manifest_and_of_frames(zot):
    listed = zot.run("ext", "schema").text.splitlines()
    names = [line.split()[0] for line in listed]
    assert [record["name"] for record in lines(zot.run("ext", "schema", "--json"))] == names
    (schema,) = lines(zot.run("ext", "schema", "manifest", "--json"))
    assert schema == json.loads(zot.run("ext", "schema", "manifest").text)
    assert names[0] == "manifest"
    assert {"frame.register_tool", "frame.from-host"} <= set(names)
    assert not any(name.startswith("event") for name in names)
    assert json.loads(zot.run("ext", "schema", "manifest").stdout)["title"] == "extension.json"
    assert json.loads(zot.run("ext", "schema", "register_tool").stdout)["title"] == "frame register_tool"


def test_schema_of_nothing(zot):
    outcome = zot.run("ext", "schema", "tool_cal")
    assert outcome.status == 2
    assert "did you mean 'tool_call'?" in outcome.stderr


# --- test ---------------------------------------------------------------------------------------------------


def test_scripts_of_an_extension(zot, echo):
    write_script(echo / "tests" / "good.jsonl", {"host": CALL}, {"extension": RESULT})
    write_script(echo / "tests" / "bad.jsonl", {"host": CALL}, {"extension": {**RESULT, "is_error": True}})
    outcome = zot.run("ext", "test", echo)
    assert outcome.status == 1
    assert outcome.leftovers == []
    assert outcome.text.index("FAIL") < outcome.text.index("ok    ")
    assert "line 2: expected tool_result; this tool_result is different" in outcome.text
    assert "- is_error: true" in outcome.text
    assert "+ is_error: nothing" in outcome.text
    assert outcome.text.splitlines()[-1] == "1 passed, 1 failed"
    assert zot.run("ext", "test", echo, echo / "tests" / "good.jsonl").status == 0


def test_for_machines(zot, echo):
    write_script(echo / "test.jsonl", {"host": CALL}, {"extension": {**RESULT, "is_error": True}})
    outcome = zot.run("ext", "test", echo, "--json")
    script, total = lines(outcome)
    assert (script["ok"], script["steps"], script["done"]) == (False, 2, 1)
    assert script["failure"]["line"] == 2
    assert script["failure"]["differences"] == [{"path": "is_error", "expected": "true", "said": "nothing"}]
    assert total == {"passed": 0, "failed": 1}


def test_without_scripts_it_says_how_to_get_one(zot, echo):
    outcome = zot.run("ext", "test", echo)
    assert outcome.status == 0
    assert "handshake and shutdown" in outcome.text
    assert "no scripts yet: zot ext drive" in outcome.text


def test_a_recording_is_a_script_that_passes(zot, echo, tmp_path):
    asked = write_script(tmp_path / "asked.jsonl", {"host": CALL})
    made = tmp_path / "made.jsonl"
    assert zot.run("ext", "test", echo, asked, "--record", made).status == 0
    assert zot.run("ext", "test", echo, made).status == 0
    again = zot.run("ext", "test", echo, asked, "--record", made)
    assert again.status == 2
    assert "there is such a file already" in again.stderr
    assert list(tmp_path.glob(".made*")) == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nix"], "nix: read manifest: no such folder"),
        (["{echo}", "nix.jsonl"], "nix.jsonl: cannot be read"),
        (["{echo}/extension.json"], "is a file; name the extension's folder first"),
        (["{echo}", "--cwd", "nix"], "--cwd nix: no such folder"),
        (["{echo}", "--record", "x"], "--record needs exactly one SCRIPT"),
        (["{echo}", "{bad}"], "bad.jsonl, line 1: no such member: 'hots'"),
    ],
)
def test_what_cannot_be_tested(echo, tmp_path, capsys, monkeypatch, args, said):
    from cli.ext.author.test import ext_test

    monkeypatch.chdir(tmp_path)
    bad = write_script(tmp_path / "bad.jsonl", {"hots": CALL})
    words = [arg.format(echo=echo, bad=bad) for arg in args]
    flags = dict(zip(words[1::2], words[2::2], strict=True)) if words[1:2] and words[1].startswith("--") else {}
    scripts = [] if flags else words[1:]
    with pytest.raises(SystemExit) as ended:
        ext_test(words[0], scripts, record=flags.get("--record"), cwd=flags.get("--cwd"))
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert said in told.err
    assert told.err.count("\n") == 1


def test_an_interrupted_test_ends_its_extension(zot, tmp_path):
    silent = extension(tmp_path, "silent")
    with zot.start("ext", "test", silent) as running:
        running.child("silent.py")
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert outcome.status == 130
    assert outcome.leftovers == []


# --- drive --------------------------------------------------------------------------------------------------


def test_driving_from_a_pipe(zot, echo, tmp_path):
    made = tmp_path / "made.jsonl"
    text = '# a comment\n\ntool echo {"text": "hi"}\nask tool_call {"tool_name": "x", "tool_args": {}}\n'
    text += (
        'event turn_end {"stop": "end_turn"}\n{"type": "tool_call", "id": "7", "name": "echo", "args": {"text": "é"}}'
    )
    outcome = piped(zot, tmp_path, text, "ext", "drive", echo, "--json", "--record", made)
    assert outcome.status == 0, outcome.stderr
    said = lines(outcome)
    heard = [line["extension"] for line in said if "extension" in line]
    assert heard[0]["type"] == "hello"
    assert heard[-4]["id"] == "d1"
    assert heard[-3]["type"] == "event_intercept_response"
    assert heard[-2]["content"][0]["text"] == "é"
    assert heard[-1] == {"type": "shutdown_ack"}
    assert zot.run("ext", "test", echo, made).status == 0


def test_driving_for_a_reader(zot, tmp_path):
    outcome = piped(zot, tmp_path, "/meter\nhelp\nquit\n/meter\n", "ext", "drive", EXAMPLES / "turn-meter")
    assert outcome.status == 0
    assert "\x1b" not in outcome.text
    assert outcome.text.count("command_invoked") == 1
    assert '"action": "display"' in outcome.text
    assert "tool NAME {json}" in outcome.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('tool ecko {"text": 1}', "no such tool: 'ecko'; did you mean 'echo'?"),
        ("tool echo {", "not JSON"),
        ("tool echo []", "must be a JSON object"),
        ("/x", "no such command: 'x'; there is none"),
        ("event", "event NAME {json}"),
        ('event turn_end {"step": "one"}', "bad event frame"),
        ("key", "key PANEL KEY"),
        ("resize a b c", "resize PANEL WIDTH HEIGHT"),
        ('{"id": "1"}', 'a frame needs a "type"'),
        ("tol echo", "no such command: 'tol'; did you mean 'tool'?"),
    ],
)
def test_what_cannot_be_sent(line, said):
    from cli.ext.drive.typed_commands import CommandError, Known, frame_for

    with pytest.raises(CommandError) as caught:
        frame_for(line, Known(tools={"echo"}), "d1")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("/note buy milk ", {"type": "command_invoked", "id": "d1", "name": "note", "args": "buy milk"}),
        ("/note", {"type": "command_invoked", "id": "d1", "name": "note"}),
        ("tool echo", {"type": "tool_call", "id": "d1", "name": "echo", "args": {}}),
        ("key list down", {"type": "panel_key", "panel_id": "list", "key": "down"}),
        ("key list x", {"type": "panel_key", "panel_id": "list", "key": "rune", "text": "x"}),
        ("resize list 80 24", {"type": "panel_resize", "panel_id": "list", "width": 80, "height": 24}),
        ("ping", {"type": "ping", "id": "d1"}),
        ("event session_start", {"type": "event", "event": "session_start"}),
        ('frame {"type": "odd"}', {"type": "odd"}),
    ],
)
def test_what_is_sent(line, frame):
    from cli.ext.drive.typed_commands import Known, frame_for

    assert frame_for(line, Known(tools={"echo"}, commands={"note"}), "d1") == frame


def test_an_answer_that_does_not_come(zot, tmp_path):
    mute = extension(tmp_path, "never_answers", timeouts=PATIENT)
    outcome = piped(zot, tmp_path, "tool hang {}\n", "ext", "drive", mute, "--wait", "0.05")
    assert outcome.status == 1
    assert "no tool_result within 0.05 s" in outcome.stderr
    assert outcome.leftovers == []


def test_driving_one_that_is_broken(zot, tmp_path):
    outcome = piped(zot, tmp_path, "ping\n", "ext", "drive", extension(tmp_path, "exits_before_hello"))
    assert outcome.status == 1
    assert "it exited before its hello (exit 3)" in outcome.stderr
    assert "cannot find my configuration" in outcome.stderr  # its own words
    assert outcome.stderr.count("zot ext drive:") == 1


def test_driving_by_hand(zot, tmp_path):
    """On a terminal: a prompt, a line editor, completion, and frames that come meanwhile."""
    ours, theirs = pty.openpty()
    late = folder(
        tmp_path,
        "late",
        [sys.executable, "-I", "-S", str(tmp_path / "late.py")],
        timeouts=PATIENT,
    )
    (tmp_path / "late.py").write_text(
        PRELUDE
        + """
hello("shout")
send(type="ready")
for frame in frames():
    result(frame, frame["args"]["text"].upper())
    send(type="notify", level="info", message="that was loud")
"""
    )
    env = {"TERM": "xterm-256color"}
    with zot.start("ext", "drive", late, stdin=theirs, stdout=theirs, env=env) as running:
        os.close(theirs)
        seen = Terminal(ours)
        seen.until("zot> ")
        os.write(ours, b"tool sh\t")
        seen.until("tool shout ")
        os.write(ours, '{"text": "né!"}'.encode() + b"\x1b[D\x1b[D\x7f\r")  # two to the left, and the mark is gone
        seen.until("NÉ")
        assert "NÉ!" not in seen.text
        seen.until("that was loud")
        assert "\x1b[36m" in seen.text  # colours
        os.write(ours, b"\x04")
        seen.until("shutdown_ack")
        outcome = running.finish()
    os.close(ours)
    assert outcome.status == 0
    assert outcome.leftovers == []


class Terminal:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.text = ""

    def until(self, wanted: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while wanted not in self.text:
            ready, _, _ = select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{wanted!r} did not come: {self.text!r}"
            self.text += os.read(self._fd, 65536).decode()


@pytest.mark.parametrize(
    ("typed", "lines"),
    [
        (b"abc\r", ["abc"]),
        (b"ac\x1b[Db\r", ["abc"]),
        (b"bc\x01a\x05d\r", ["abcd"]),
        (b"abc\x15d\r", ["d"]),
        (b"ab\x7fc\r", ["ac"]),
        ("é".encode()[:1], []),
        ("né\r".encode(), ["né"]),
        (b"one\rtwo\r\x1b[A\x1b[A\r", ["one", "two", "one"]),
        (b"one\rt\x1b[A\x1b[B!\r", ["one", "t!"]),
        (b"x\x04\r", ["x"]),
    ],
)
def test_the_line_editor(typed, lines):
    from cli.ext.drive.line_editor import LineEditor

    whole, in_pieces = LineEditor(), LineEditor()
    assert whole.feed(typed) == lines
    assert [line for byte in typed for line in in_pieces.feed(bytes([byte]))] == lines


def test_the_end_of_input_and_completion():
    from cli.ext.drive.line_editor import LineEditor, Typed

    editor = LineEditor(lambda text: [line for line in ("tool shout ", "tool shut ") if line.startswith(text)])
    assert editor.feed(b"t\t") == []
    assert (editor.text, editor.choices) == ("tool sh", ["tool shout ", "tool shut "])
    assert editor.feed(b"o\t") == []
    assert (editor.text, editor.choices) == ("tool shout ", [])
    assert editor.window(5) == ("out ", 4)
    editor.clear()
    assert editor.feed(b"\x04") == [Typed.END]


# --- doctor -------------------------------------------------------------------------------------------------


def installed(zot: Zot, child: str, *args: str, **manifest: Any) -> Path:
    return extension(zot.home / "extensions", child, *args, **{"timeouts": PATIENT, **manifest})


def faults(record: dict[str, Any]) -> set[str]:
    """What it is blamed for; a busy machine makes all of them slow to be ready."""
    return {one["topic"] for one in record["findings"] if one["level"] != "ok" and "to be ready" not in one["message"]}


def test_doctor_of_all_that_is_installed(zot):
    installed(zot, "echo")
    installed(zot, "junk_between", env=["NO_SUCH_VARIABLE"])
    installed(zot, "bad_tools")
    installed(zot, "no_ready", enabled=False)
    broken = zot.home / "extensions" / "broken"
    broken.mkdir()
    (broken / "extension.json").write_text("{")
    outcome = zot.run("ext", "doctor", "--json")
    assert outcome.status == 1
    assert outcome.leftovers == []
    found = {record["name"]: record for record in lines(outcome)}
    assert [found[name]["level"] for name in ("bad_tools", "broken")] == ["fail", "fail"]
    assert {name: faults(record) for name, record in found.items()} == {
        "echo": set(),
        "junk_between": {"stdout", "env"},
        "bad_tools": {"register", "frames"},
        "broken": {"manifest"},
        "ext-no_ready": set(),
    }
    assert found["ext-no_ready"]["skipped"] == "disabled"
    assert found["echo"]["tools"] == ["echo"]
    assert found["echo"]["exit"] == 0
    assert found["echo"]["shutdown_ack"] is True
    assert found["junk_between"]["missing_env"] == ["NO_SUCH_VARIABLE"]


def test_doctor_of_some(zot, tmp_path):
    installed(zot, "echo", enabled=False)
    mute = extension(tmp_path, "silent", timeouts={"hello": 0.2})
    outcome = zot.run("ext", "doctor", "echo", mute)
    assert outcome.status == 1
    assert "tool echo; guards tool_call" in outcome.text
    assert "said no hello within 0.2 s" in outcome.text
    assert outcome.text.splitlines()[-1].endswith(", 1 failed")
    assert zot.run("ext", "doctor", "ext-echo").status == 0  # by the folder's name
    unknown = zot.run("ext", "doctor", "ecko")
    assert unknown.status == 2
    assert "no such extension: 'ecko'; did you mean 'echo'?" in unknown.stderr


def test_doctor_leaves_what_is_not_trusted_alone(zot, tmp_path):
    """The project's extension would leave a mark if it was started."""
    mark = tmp_path / "mark"
    extension(zot.cwd / ".zot" / "extensions", "lives", str(mark), timeouts=PATIENT)
    outcome = zot.run("ext", "doctor")
    assert outcome.status == 0
    assert "not trusted" in outcome.text
    assert list(tmp_path.glob("mark*")) == []
    assert zot.run("ext", "doctor", zot.cwd / ".zot" / "extensions" / "ext-lives").status == 0  # named by its path
    assert list(tmp_path.glob("mark*")) != []


def test_doctor_examines_the_users_own_where_an_untrusted_one_has_its_name(zot, tmp_path):
    installed(zot, "echo")
    extension(zot.cwd / ".zot" / "extensions", "lives", str(tmp_path / "mark"), name="echo")
    records = lines(zot.run("ext", "doctor", "--json"))
    assert {(one["folder"], bool(one["skipped"])) for one in records} == {
        (str(zot.home / "extensions" / "ext-echo"), False),
        (str(zot.cwd / ".zot" / "extensions" / "ext-echo"), True),
    }


def test_a_name_means_what_is_installed_before_a_folder_that_lies_here(zot, tmp_path):
    mark = tmp_path / "mark"
    extension(zot.cwd, "lives", str(mark), timeouts=PATIENT).rename(zot.cwd / "echo")
    installed(zot, "echo")
    (record,) = lines(zot.run("ext", "doctor", "echo", "--json"))
    assert record["folder"] == str(zot.home / "extensions" / "ext-echo")
    assert list(tmp_path.glob("mark*")) == []
    (zot.cwd / "echo").rename(zot.cwd / "other")
    assert zot.run("ext", "doctor", "other").status == 0


def test_doctor_of_nothing(zot):
    outcome = zot.run("ext", "doctor")
    assert outcome.status == 0
    assert "no extensions are installed" in outcome.text


def test_what_doctor_makes_of_how_one_ends(tmp_path):
    from cli.doctor.checks import Level
    from cli.ext.author.doctor_findings import judge, worst
    from supervisor.harness.checkup import CheckupResult, Force
    from supervisor.harness.observed_handshake import Phase
    from supervisor.harness.script_runner import found_in
    from supervisor.process.child import ExitStatus

    found = found_in(folder(tmp_path, "x", ["./x"]))

    def topics(**facts: Any) -> dict[str, Level]:
        good: dict[str, Any] = {
            "phase": Phase.READY,
            "ready_s": 0.1,
            "hello_name": "x",
            "exit": ExitStatus(0, 0.0, 0),
            "stop_s": 0.01,
            "has_acked": True,
        }
        findings = judge(CheckupResult(found, **{**good, **facts}))
        assert all(one.advice for one in findings if one.level is not Level.OK and one.topic != "register")
        told = {one.topic: one.level for one in findings if one.level is not Level.OK}
        assert worst(findings) is (Level.FAIL if Level.FAIL in told.values() else Level.WARN if told else Level.OK)
        return told

    assert topics() == {}
    assert topics(has_acked=False, force=Force.CLOSED_STDIN) == {}
    assert topics(force=Force.SIGTERM, exit=ExitStatus(0, 0.0, 0)) == {"shutdown": Level.FAIL}
    assert topics(force=Force.SIGKILL, exit=ExitStatus(-9, 0.0, 0)) == {"shutdown": Level.FAIL}
    assert topics(exit=ExitStatus(3, 0.0, 0)) == {"shutdown": Level.WARN}
    assert topics(force=Force.NOTHING, exit=ExitStatus(0, 0.0, 0)) == {"shutdown": Level.FAIL}
    assert topics(left=2) == {"processes": Level.WARN}
    assert topics(hello_name="y") == {"name": Level.WARN}
    assert topics(phase=Phase.SILENT) == {"ready": Level.WARN}
    assert topics(ready_s=2.5) == {"ready": Level.WARN}
    assert topics(phase=Phase.FAILED, failure="said no hello", ready_s=None) == {"handshake": Level.FAIL}
    assert topics(spawn_error="no such file", exit=None) == {"start": Level.FAIL}
    assert topics(bad_frames=["bad hello frame"]) == {"frames": Level.FAIL}
    assert topics(unknown_frames=["weather"]) == {"frames": Level.WARN}
    assert topics(remarks=["subscribed to 'x', which is not offered; ignored"]) == {"register": Level.WARN}
    assert topics(is_mute=True) == {"stdout": Level.FAIL}
    assert topics(lines=5000) == {"stdout": Level.WARN}
