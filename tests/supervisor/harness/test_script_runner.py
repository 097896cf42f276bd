"""One extension is held to a script, and every difference is shown."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from supervisor.harness.harness import Harness, HarnessInterruptedError
from supervisor.harness.result import recording
from supervisor.harness.script import Script, ScriptHeader, Side, parse_script
from supervisor.harness.script_runner import collect, find_extension, play, record
from tests.support.calling_extension import calling_extension
from tests.support.extension_folder import extension, folder
from tests.support.host import PRELUDE
from tests.support.script_runs import run_script

PATIENT = {"hello": 20.0, "ready": 20.0}


def script(*steps: tuple[str, dict], **about: object) -> Script:
    lines = [{"about": about}, *({side: frame} for side, frame in steps)]
    return parse_script("\n".join(map(json.dumps, lines)).encode(), "script")


def call(text: str, number: str = "1") -> tuple[str, dict]:
    return "host", {"type": "tool_call", "id": number, "name": "echo", "args": {"text": text}}


def result(text: str, number: str = "1") -> tuple[str, dict]:
    return "extension", {"type": "tool_result", "id": number, "content": [{"type": "text", "text": text}]}


def program(tmp_path: Path, code: str, **manifest) -> Path:
    source = tmp_path / "x.py"
    source.write_text(PRELUDE + code)
    return folder(tmp_path, "x", [sys.executable, "-I", "-S", str(source)], **{"timeouts": PATIENT, **manifest})


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    return extension(tmp_path, "echo", timeouts=PATIENT)


def failure(outcome) -> str:
    assert outcome.failure is not None
    return "\n".join(outcome.failure.lines())


def test_a_conversation_as_it_should_be(echo):
    outcome = run_script(echo, script(call("hi"), result("hi"), call("ho", "2"), result("${any}", "2")))
    assert outcome.failure is None
    assert (outcome.steps, outcome.done, outcome.exit) == (4, 4, "exit 0")


def test_without_a_script_only_the_handshake_and_the_end_are_tried(echo):
    outcome = run_script(echo, Script("none", ()))
    assert outcome.has_passed
    assert [said.frame["type"] for said in outcome.said][-2:] == ["shutdown", "shutdown_ack"]


def test_a_difference_is_shown_with_its_place(echo):
    outcome = run_script(echo, script(call("hi"), result("hi"), call("hi", "2"), result("ho", "2")))
    assert failure(outcome).splitlines() == [
        "line 5: expected tool_result; this tool_result is different",
        '  - content[0].text: "ho"',
        '  + content[0].text: "hi"',
    ]
    assert outcome.done == 3


def test_another_frame_is_shown_whole(echo):
    outcome = run_script(echo, script(call("hi"), ("extension", {"type": "notify"})))
    assert failure(outcome).splitlines()[0] == "line 3: expected notify, and it said another frame"
    assert '  - {"type": "notify"}' in failure(outcome)
    assert '  + {"type": "tool_result"' in failure(outcome)


def test_what_is_not_expected_is_a_failure(echo):
    outcome = run_script(echo, script(call("hi"), result("hi"), call("more", "2")))
    assert "it said more than the script expects" in failure(outcome)
    assert "more" in failure(outcome)


def test_frames_that_are_to_be_ignored(tmp_path):
    chatty = program(
        tmp_path,
        """
hello("echo")
send(type="ready")
for frame in frames():
    send(type="log", message="called")
    result(frame, "done")
    send(type="log", message="answered")
""",
    )
    assert "expected tool_result" in failure(run_script(chatty, script(call("a"), result("done"))))
    assert run_script(chatty, script(call("a"), result("done"), ignore=["log"])).has_passed
    with_log = script(call("a"), ("extension", {"type": "log"}), result("done"), ignore=["log"])
    assert run_script(chatty, with_log).has_passed


def test_silence_has_a_deadline(tmp_path):
    mute = extension(tmp_path, "never_answers", timeouts=PATIENT)
    steps = ("host", {"type": "tool_call", "id": "1", "name": "hang", "args": {}}), result("x")
    outcome = run_script(mute, script(*steps), wait_s=0.05)
    assert failure(outcome).startswith("line 3: expected tool_result within 0.05 s, and it said nothing more")


@pytest.mark.parametrize(
    ("child", "said"),
    [
        ("silent", "said no hello within 0.2 s"),
        ("first_frame_not_hello", "its first frame must be hello, not register_tool"),
    ],
)
def test_a_handshake_that_fails(tmp_path, child, said):
    hello_s = 0.2 if child == "silent" else 20.0
    outcome = run_script(extension(tmp_path, child, timeouts={"hello": hello_s}), script(call("x")))
    assert said in failure(outcome)


def test_the_last_words_of_an_extension_that_dies_are_shown(tmp_path):
    dying = extension(tmp_path, "dies_in_call", timeouts=PATIENT)
    outcome = run_script(
        dying, script(("host", {"type": "tool_call", "id": "1", "name": "die", "args": {}}), result("x"))
    )
    assert failure(outcome).startswith('line 3: expected tool_result, but it has ended (exit 7): "')
    assert outcome.stderr


def test_an_extension_that_cannot_be_started_fails(tmp_path):
    outcome = run_script(folder(tmp_path, "x", ["./nix"]), Script("s", ()))
    assert "no such file" in failure(outcome)
    assert outcome.exit == ""


def test_lines_that_are_no_frames_are_failures(tmp_path):
    outcome = run_script(extension(tmp_path, "junk_between", timeouts=PATIENT), script(call("hi"), result("hi")))
    assert "it wrote a line that is no frame" in failure(outcome)


def test_an_extension_that_talks_without_end_is_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr("supervisor.harness.recorded_process.HEARD_LIMIT", 50)
    code = """
hello()
send(type="ready")
for number in range(100):
    send(type="log", message=str(number))
list(frames())
"""
    outcome = run_script(program(tmp_path, code), Script("s", ()))
    assert "more than 50 lines; the rest is not heard" in failure(outcome)
    assert len(outcome.said) < 60


def test_a_frame_that_no_host_takes(tmp_path):
    odd = program(
        tmp_path,
        """
hello("echo")
send(type="ready")
for frame in frames():
    send(type="tool_result", id=frame["id"], content="text")
""",
    )
    outcome = run_script(odd, script(call("a"), ("extension", {"type": "tool_result"})))
    assert "no host takes this: bad tool_result frame" in failure(outcome)


def test_the_exit_status_counts(tmp_path):
    code = """
hello()
send(type="ready")
list(frames())
sys.exit(3)
"""
    failing = program(tmp_path, code)
    assert failure(run_script(failing, Script("s", ()))) == "after the shutdown it ended with exit 3, not 0"
    assert run_script(failing, script(exit=3)).has_passed


def test_a_script_may_lead_the_handshake_itself(tmp_path):
    told = program(
        tmp_path,
        """
send(type="hello", name="x")
ack = json.loads(sys.stdin.readline())
send(type="notify", level="info", message=f"{ack['model']} in {ack['cwd']}, {ack['data_dir']}, {os.getcwd()}")
for frame in frames():
    pass
""",
    )
    steps = script(
        ("extension", {"type": "hello", "name": "x"}),
        ("host", {"type": "hello_ack", "model": "model-x"}),
        ("extension", {"type": "notify", "message": "model-x in ${cwd}, ${data_dir}, ${extension_dir}"}),
        ("host", {"type": "shutdown"}),
        ("extension", {"type": "shutdown_ack"}),
    )
    outcome = run_script(told, steps)
    assert outcome.failure is None, failure(outcome)
    assert not Path(outcome.places.data_dir).exists()  # it was a temporary folder


def test_a_recording_passes(echo):
    with Harness() as room:
        outcome = record(
            room, find_extension(echo), script(call("hi"), ("host", {"type": "event", "event": "turn_end"}))
        )
        assert outcome.failure is None
        text = recording(outcome, ScriptHeader())
        again = play(room, find_extension(echo), parse_script(text, "recording"))
    assert again.failure is None, failure(again)
    assert recording(again, ScriptHeader()) == text
    steps = parse_script(text, "recording").steps
    assert [(step.side, step.frame["type"]) for step in steps[:2]] == [
        (Side.EXTENSION, "hello"),
        (Side.HOST, "hello_ack"),
    ]
    assert steps[1].frame["data_dir"] == "${data_dir}"
    assert [step.frame["type"] for step in steps[-5:]] == [
        "tool_call", "tool_result", "event", "shutdown", "shutdown_ack",
    ]  # fmt: skip


def test_a_recording_of_an_extension_that_does_not_answer_fails(tmp_path):
    mute = extension(tmp_path, "never_answers", timeouts=PATIENT)
    with Harness() as room:
        asked = script(("host", {"type": "tool_call", "id": "1", "name": "hang", "args": {}}))
        outcome = record(room, find_extension(mute), asked, wait_s=0.05)
    assert failure(outcome).startswith("line 2: no tool_result within 0.05 s")


def test_secrets_are_kept_from_the_extension(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    asked = "host", {"type": "tool_call", "id": "1", "name": "env", "args": {}}
    with Harness() as room:
        outcome = record(room, find_extension(extension(tmp_path, "env_dump", timeouts=PATIENT)), script(asked))
    (answer,) = (said.frame for said in outcome.said if said.frame["type"] == "tool_result")
    assert "ANTHROPIC_API_KEY" not in json.loads(answer["content"][0]["text"])
    assert "ZOT_EXTENSION" in json.loads(answer["content"][0]["text"])


def test_closing_the_harness_ends_all_processes(tmp_path):
    stubborn = extension(tmp_path, "ignores_shutdown", timeouts=PATIENT)
    with Harness() as room:
        actor = room.start(find_extension(stubborn))
        assert room.wait(lambda: any(said.frame["type"] == "ready" for said in actor.heard), 20.0)
    assert actor.exit is not None
    assert actor.exit.code == -signal.SIGKILL


def test_a_signal_ends_the_wait(echo):
    with Harness(owns_process=True) as room:
        actor = room.start(find_extension(echo))
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(HarnessInterruptedError):
            room.wait(lambda: False, 20.0)
    assert actor.exit is not None


NESTED = ("host", {"type": "tool_call", "id": "n", "name": "nested", "args": {"name": "read", "args": {"path": "a"}}})


def asked(number: int, **more: object) -> tuple[str, dict]:
    return "extension", {"type": "call_tool", "id": str(number), **more}


def answered(number: int, text: str, **more: object) -> tuple[str, dict]:
    content = [{"type": "text", "text": text}]
    return "host", {"type": "tool_result", "id": str(number), "name": "read", "content": content, **more}


def given(text: str, number: str = "n", **more: object) -> tuple[str, dict]:
    return "extension", {"type": "tool_result", "id": number, "content": [{"type": "text", "text": text}], **more}


def test_a_script_answers_the_tools_that_the_extension_calls(tmp_path):
    steps = [
        NESTED, asked(1, name="read", args={"path": "a"}, parent_id="n"), answered(1, "the file"), given("the file"),
        NESTED, asked(2), answered(2, "no such file", is_error=True), given("no such file", is_error=True),
        NESTED, asked(3), ("host", {"type": "tool_cancel", "id": "n"}),
        ("extension", {"type": "call_tool_cancel", "id": "3"}), given("cancelled", is_error=True), answered(3, "late"),
        ("host", {"type": "command_invoked", "id": "c", "name": "twice", "args": "read"}),
        asked(4, parent_id=None), answered(4, "one"), asked(5), answered(5, "two"),
        ("extension", {"type": "command_response", "id": "c", "display": "one and two"}),
    ]  # fmt: skip
    outcome = run_script(calling_extension(tmp_path), script(*steps, ignore=["call_tool_cancel"]))
    assert outcome.failure is None, failure(outcome)


def test_a_recording_stops_waiting_for_an_answer_where_the_script_has_the_next_word(tmp_path):
    with Harness() as room:
        found = find_extension(calling_extension(tmp_path))
        outcome = record(room, found, script(NESTED, answered(1, "the file")))
        assert outcome.failure is None, failure(outcome)
        text = recording(outcome, ScriptHeader())
        again = play(room, found, parse_script(text, "recording"))
    assert again.failure is None, failure(again)
    assert [step.frame["type"] for step in parse_script(text, "recording").steps[-6:]] == [
        "tool_call", "call_tool", "tool_result", "tool_result", "shutdown", "shutdown_ack",
    ]  # fmt: skip


def test_a_script_that_answers_no_call_says_which_one_waits(tmp_path):
    with Harness() as room:
        found = find_extension(calling_extension(tmp_path))
        outcome = collect(room, found, script(NESTED), wait_s=0.3)
    assert failure(outcome).startswith(
        "line 2: no tool_result within 0.3 s: it has called read, and the script has no tool_result of the host"
    )


def test_a_call_of_a_tool_without_the_capability_is_a_fault_of_the_extension(tmp_path):
    code = """
hello()
send(type="ready")
for frame in frames():
    if frame["type"] == "event":
        send(type="call_tool", id="1", name="read", args={})
"""
    outcome = run_script(program(tmp_path, code), script(("host", {"type": "event", "event": "idle"}), asked(1)))
    said = "no host takes this: its call of a tool is refused: its hello lacks the capability call_tool"
    assert said in failure(outcome)
