"""Faults of the run, the disk or another run, and the session that is left: at most the message that is being
written is lost, and the next run goes on."""

from __future__ import annotations

import itertools
import json
import os
import random
import select
import signal
import time

import msgspec
import pytest

from agent.sessions.load import load
from tests.support.messages_server import text_block, text_reply, tool_reply
from tests.support.messages_server.replies import Reply, Send, http_error, message_events, sse
from tests.support.mounts import within
from tests.support.replay_script import Script, ok
from tests.support.zot_process import check_transcript, rows
from wire import events
from wire.exit_codes import Status

SEED = int(os.environ.get("ZOT_TEST_SEED", "0")) or random.randrange(1, 10**6)
MOMENTS = pytest.mark.parametrize("moments", [3, pytest.param(12, marks=pytest.mark.slow)])
KEY = {"ANTHROPIC_API_KEY": "k"}


def faults_of(messages) -> list[str]:
    """Why the model's API would refuse these messages."""
    found = []
    if messages[0]["role"] != "user":
        found.append("the first message is not the user's")
    waiting: list[str] = []
    for number, message in enumerate(messages):
        blocks = message["content"]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            found.append(f"messages.{number}: results of {results}, but the calls before are {waiting}")
        if not blocks or any(block["type"] == "text" and not block["text"] for block in blocks):
            found.append(f"messages.{number}: empty")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return [*found, f"calls without results: {waiting}"] if waiting else found


@pytest.fixture
def strict(server):
    """A model that calls two tools and then answers, and that takes only what the API takes."""
    server.refused = []
    count = itertools.count()

    def otherwise(request):
        messages = request.body["messages"]
        if faults := faults_of(messages):
            server.refused += faults
            return http_error(400, faults[0])
        number = next(count)
        if messages[-1]["content"][0]["type"] == "tool_result":
            words = text_block(f"answer {number} " + "word " * 200, chunks=200)
            return Reply(tuple(Send(sse(event)) for event in message_events([words])))
        return tool_reply([("bash", {"command": "sleep 0.02"}), ("read", {"path": "a"})], text=f"calls {number} ")

    server.otherwise = otherwise
    return server


def run_for(zot, seconds: float, *flags) -> bytes:
    """A run that is killed after so long; returns what it has said."""
    with zot.start("--json", "--no-ext", *flags, env=KEY) as running:
        stdout, said = running.process.stdout, b""
        end = time.monotonic() + seconds
        while select.select([stdout], [], [], max(0.0, end - time.monotonic()))[0]:
            if not (data := os.read(stdout.fileno(), 1 << 16)):
                break
            said += data
        running.process.kill()
        running.process.wait()
        while data := os.read(stdout.fileno(), 1 << 16):
            said += data
        return said


def texts_seen(said: bytes) -> list[str]:
    """The texts of the assistant in the whole lines of a stream."""
    found = [events.decode(line) for line in said.splitlines(keepends=True) if line.endswith(b"\n")]
    return [
        part.text
        for record in found
        if isinstance(record, events.AssistantMessage)
        for part in record.content
        if getattr(part, "text", "")
    ]


@MOMENTS
def test_a_run_is_killed_at_any_moment_and_the_next_one_goes_on(zot, strict, moments):
    print("seed", SEED)
    chance = random.Random(SEED)
    (zot.cwd / "a").write_text("a")
    seen: list[str] = []
    before = b""
    for number in range(moments):
        flags = ["--base-url", strict.base_url, *(["-c"] if zot.session_files() else []), f"prompt {number}"]
        seen += texts_seen(run_for(zot, chance.uniform(0.05, 1.2), *flags))
        if not (files := zot.session_files()):
            continue
        (path,) = files
        data = path.read_bytes()
        assert data.startswith(before), "what was written stays"
        kept = data[len(before) :].split(b"\n")
        for line in kept[:-1]:
            msgspec.json.decode(line)
        before = data
        loaded = load(path)
        written = [block.text for message in loaded.messages for block in message.content if hasattr(block, "text")]
        assert [text for text in seen if text not in written] == []
        assert loaded.fault_count <= moments
    assert not strict.refused
    outcome = zot.run("--json", "--no-ext", "--base-url", strict.base_url, "-c", "the end", env=KEY)
    outcome.check(Status.OK)
    assert not strict.refused
    (path,) = zot.session_files()
    assert load(path).repairs <= moments
    assert faults_of(strict.requests[-1].body["messages"]) == []
    print(f"{load(path).message_rows} messages, {load(path).repairs} repairs, {len(seen)} answers seen")


def test_a_run_that_did_not_come_to_its_end_goes_on(zot, server):
    flags = ("--json", "--no-ext", "--base-url", server.base_url)
    server.add(tool_reply([("bash", {"command": "echo begun; sleep 600"}), ("bash", {"command": "echo x"})]))
    with zot.start(*flags, "go", env=KEY) as running:
        running.wait_for(events.ToolProgress)
        running.signal(signal.SIGINT)
        running.finish().check(Status.INTERRUPTED)
    server.add(text_reply("Going on."))
    outcome = zot.run(*flags, "-c", "next", env=KEY).check(Status.OK)
    assert outcome.stderr == ""
    assert faults_of(server.requests[-1].body["messages"]) == []
    check_transcript(zot.session_rows())


def test_a_call_at_the_end_without_its_result_is_told_once(zot, strict):
    (zot.cwd / "a").write_text("a")
    flags = ("--json", "--no-ext", "--base-url", strict.base_url)
    zot.run(*flags, "one", env=KEY).check(Status.OK)
    (path,) = zot.session_files()
    lines = path.read_bytes().splitlines(keepends=True)
    called = next(number for number, line in enumerate(lines) if b'"role":"assistant"' in line)
    cut = b"".join(lines[: called + 1])
    path.write_bytes(cut)
    zot.run(*flags, "-c", "/nothing", env=KEY)
    assert path.read_bytes() == cut, "a run that adds nothing writes nothing"
    told = zot.run(*flags, "-c", "two", env=KEY).check(Status.OK).stderr
    assert "the conversation was cut off or edited: 1 message is changed, added or dropped" in told
    assert path.read_bytes().startswith(cut)
    check_transcript(zot.session_rows())
    outcome = zot.run(*flags, "-c", "three", env=KEY).check(Status.OK)
    assert outcome.stderr == ""
    assert not strict.refused
    assert load(path).repairs == 0
    check_transcript(zot.session_rows())


def shell(script: Script, command: str, output: str = "") -> Script:
    """The script with a call of bash, and what it prints."""
    printed = f"{output}\n\n" if output else ""
    return script.call(("bash", {"command": command}), results=[ok(f"$ {command}\n\n{printed}[exit 0]  Took 0.0s")])


WORDY = ("head -c 9000 /dev/zero | tr '\\0' y", "y" * 9000)
"""A command whose result takes more than what is left of a page of the disk."""


def test_a_full_disk_keeps_whole_rows_and_the_next_run_goes_on(zot, tmp_path):
    """A real disk of 1 MiB, which the run fills, and empties again."""
    saved = tmp_path / "saved.jsonl"
    script = Script(zot.cwd)
    shell(script, f"cat /dev/zero > {zot.home}/filler 2> /dev/null; true")
    shell(script, *WORDY)
    shell(script, f"rm {zot.home}/filler; cp {zot.home}/sessions/*/*.jsonl {saved}")
    outcome = zot.replay(script.answer("Done."), command=within(zot.home, "size=1m", zot.command)).check(Status.OK)
    (told,) = outcome.warnings
    assert "the session is no longer recorded: " in told
    assert "No space left on device" in told
    whole = rows(saved.read_bytes())
    assert [row["type"] for row in whole][:2] == ["meta", "message"]
    assert {row["message"]["role"] for row in whole if row["type"] == "message"} == {"user", "assistant", "tool"}
    assert (load(saved).fault_count, load(saved).repairs) == (0, 1)


def test_a_file_size_limit_is_as_a_full_disk(zot, strict):
    script = shell(Script(zot.cwd), *WORDY)
    outcome = zot.replay(script.answer("Done."), command=zot.with_file_limit(8)).check(Status.OK)
    assert len([line for line in outcome.warnings if "no longer recorded" in line]) == 1
    whole = zot.session_rows()
    assert [row["message"]["role"] for row in whole if row["type"] == "message"] == ["user", "assistant"]
    strict.add(text_reply("Later."))
    flags = ("--json", "--no-ext", "--base-url", strict.base_url, "-c")
    assert "1 message is changed" in zot.run(*flags, "go", env=KEY).check(Status.OK).stderr
    assert faults_of(strict.requests[-1].body["messages"]) == []


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        ("rm $ZOT_HOME/sessions/*/*", True),
        ("chmod 0400 F", False),
        ("truncate -s 0 F", True),
    ],
)
def test_a_file_that_is_touched_in_mid_run(zot, command, is_told):
    command = command.replace("F", "$(echo $ZOT_HOME/sessions/*/2*.jsonl)")
    script = Script(zot.cwd).call(("bash", {"command": command}), results=[ok(f"$ {command}\n\n[exit 0]  Took 0.0s")])
    outcome = zot.replay(script.answer("Done.")).check(Status.OK)
    told = [line for line in outcome.warnings if "the session is no longer recorded" in line]
    assert len(told) == is_told, outcome.warnings
    if not is_told:
        check_transcript(zot.session_rows())


def test_lines_that_cannot_be_read_are_named_and_left(zot, strict):
    flags = ("--json", "--no-ext", "--base-url", strict.base_url)
    strict.add(text_reply("one"))
    zot.run(*flags, "go", env=KEY).check(Status.OK)
    (path,) = zot.session_files()
    lines = path.read_bytes().splitlines(keepends=True)
    edited = [b"\xef\xbb\xbf" + lines[0], b"{edited by hand\r\n", b"\0\0\n", b'{"type":"new","x":1}\n', *lines[1:]]
    path.write_bytes(b"".join(edited) + b'{"type":"mess')
    strict.add(text_reply("two"))
    outcome = zot.run(*flags, "-c", "again", env=KEY).check(Status.OK)
    (told,) = outcome.warnings
    assert told.startswith(f"zot: {path}:2: this line cannot be read and is skipped (the first of 3 such lines)")
    assert [message["content"][0]["text"] for message in strict.requests[-1].body["messages"]] == ["go", "one", "again"]
    assert path.read_bytes().startswith(b"".join(edited) + b'{"type":"mess\n{"type":"message"')
    assert load(path).message_rows == 4


def test_a_slash_command_leaves_no_file_and_touches_none(zot, strict):
    outcome = zot.run("--json", "--no-ext", "--base-url", strict.base_url, "/nothing", env=KEY)
    assert outcome.status != 0
    assert not zot.session_files()
    strict.add(text_reply("one"))
    zot.run("--json", "--no-ext", "--base-url", strict.base_url, "go", env=KEY).check(Status.OK)
    (path,) = zot.session_files()
    path.write_bytes(path.read_bytes() + b'{"torn')
    before = path.read_bytes()
    for fork in ([], ["--fork"]):
        zot.run("--json", "--no-ext", "--base-url", strict.base_url, "-c", *fork, "-m", "other", "/nothing", env=KEY)
        assert zot.session_files() == [path]
        assert path.read_bytes() == before
    assert json.loads(before.splitlines()[0])["type"] == "meta"
