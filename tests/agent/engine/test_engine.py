"""Several prompts of one engine: they share the transcript, the extensions and the session file, and nothing else."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager

import pytest

from agent.abort import Abort
from agent.run.steer_queue import SteerRefusedError
from agent.sessions.file import SessionBusyError, SessionFile
from agent.sessions.load import SessionError, load
from agent.sessions.rows import Meta
from agent.skills.skill import Skill
from agent.transcript import Message, Text, ToolCall
from tests.support.extension_folder import folder
from tests.support.scripted_engine import engine_of
from tests.support.scripted_model import says
from wire import events
from wire.exit_codes import Status

TELLS_PID = """\
import json, os, sys
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="pid")
say(type="register_tool", name="pid", description="", schema={"type": "object"})
say(type="ready")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "tool_call":
        say(type="tool_result", id=asked["id"], content=[{"type": "text", "text": str(os.getpid())}])
    elif asked["type"] == "shutdown":
        break
"""


@pytest.fixture
def engine(tmp_path):
    @contextmanager
    def make(*replies, **options):
        records = []
        with engine_of(
            *replies, cwd=tmp_path, home=tmp_path / "home", records=records, discover=False, **options
        ) as made:
            made.records = records
            yield made

    return make


def messages_of(request):
    """The roles of the messages of a request, with the text of each that has one."""
    return [
        (message["role"], "".join(block.get("text", "") for block in message["content"]))
        for message in request["messages"]
    ]


def test_the_second_prompt_takes_up_the_conversation(engine):
    with engine(says("One."), says("Two.")) as made:
        first, second = made.prompt("first", Abort()), made.prompt("second", Abort())
        asked = made._provided.provider.asked
    assert (first.text, first.steps, second.text, second.steps) == ("One.", 1, "Two.", 1)
    assert messages_of(asked[1]) == [("user", "first"), ("assistant", "One."), ("user", "second")]


def test_each_result_has_the_use_of_its_prompt_and_the_records_have_the_sum(engine):
    with engine(says("One."), says("Two.")) as made:
        results = made.prompt("first", Abort()), made.prompt("second", Abort())
        sums = [record.cumulative.input for record in made.records if isinstance(record, events.Usage)]
    assert [result.usage.input for result in results] == [1, 1]
    assert sums == [1, 2]


def test_an_abort_ends_its_own_prompt_only(engine):
    running = ("t1", "bash", {"command": "echo up; exec sleep 600"})
    again = ("t2", "bash", {"command": "echo still here"})
    with engine(says("", running), says("", again), says("Done.")) as made:
        abort = Abort()

        def on_record(record):
            if isinstance(record, events.ToolProgress):
                abort.request(Status.INTERRUPTED, "enough")

        made._event_writer.readers.append(on_record)
        first, second = made.prompt("first", abort), made.prompt("second", Abort())
        transcript = made.conversation.transcript
    assert (first.status, second.status, second.text) == (Status.INTERRUPTED, Status.OK, "Done.")
    results = {block.call_id: block for message in transcript if message.role == "tool" for block in message.content}
    assert "still here" in results["t2"].content[0].text
    assert results["t1"].is_error


def test_extensions_live_through_all_prompts(engine, tmp_path):
    made_folder = folder(tmp_path, "pid", [sys.executable, "-I", "-S", "-c", TELLS_PID])
    call = ("t1", "pid", {})
    with engine(says("", call), says("A."), says("", call), says("B."), extensions=(str(made_folder),)) as made:
        made.prompt("first", Abort())
        made.prompt("second", Abort())
        pids = {record.content[0].text for record in made.records if isinstance(record, events.ToolResult)}
        owners = [
            record.extension for record in made.records if isinstance(record, events.ToolCall | events.ToolResult)
        ]
        started = [record for record in made.records if isinstance(record, events.Session)]
    assert len(pids) == 1
    assert owners == ["pid"] * 4
    assert len(started) == 1


def test_one_session_file_has_all_prompts(engine, tmp_path):
    with engine(says("One."), says("Two.")) as made:
        made.prompt("first", Abort())
        made.prompt("second", Abort())
    (file,) = (tmp_path / "home" / "sessions").rglob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["type"] for row in rows] == ["meta", "message", "usage", "message", "message", "usage", "message"]


def test_after_a_compaction_the_session_file_still_has_all_that_was_said(engine, tmp_path):
    replies = [says("One."), says("Two."), says("Three."), says("All of it."), says("Four.")]
    with engine(*replies) as made:
        for text in ("first", "second", "third"):
            made.prompt(text, Abort())
        ended = made.compact(Abort())
        made.prompt("fourth", Abort())
        asked = messages_of(made._provided.provider.asked[-1])
    assert (ended.status, ended.text, ended.steps, ended.usage.input) == (Status.OK, "All of it.", 0, 1)
    assert [role for role, _ in asked] == ["user", "user", "assistant", "user", "assistant", "user"]
    assert "All of it." in asked[0][1]
    (file,) = (tmp_path / "home" / "sessions").rglob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    said = [row["message"]["content"][0]["text"] for row in rows if row["type"] == "message"]
    assert said == ["first", "One.", "second", "Two.", "third", "Three.", "fourth", "Four."]
    assert [row["usage"]["input_tokens"] for row in rows if row["type"] == "usage"] == [1, 2, 3, 4, 5]


def test_a_message_is_for_the_prompt_that_runs_only(engine):
    with engine(says("One."), says("Two."), says("Three.")) as made:
        for _ in range(2):
            with pytest.raises(SteerRefusedError, match="send the message with prompt"):
                made.steer("too early")

            def steer_once(record):
                if isinstance(record, events.TextDelta) and record.delta == "One.":
                    made.steer("go on")

            made._event_writer.readers.append(steer_once)
            made.prompt("first", Abort())
            made._event_writer.readers.remove(steer_once)
        asked = [messages_of(request)[-1] for request in made._provided.provider.asked]
    assert asked == [("user", "first"), ("user", "go on"), ("user", "first")]


def test_a_skill_is_active_until_the_end_of_its_prompt(engine):
    skill = Skill(name="think", body="Think.", allowed=())
    load, look = ("t1", "skill", {"name": "think"}), ("t2", "bash", {"command": "true"})
    again = ("t3", "bash", {"command": "true"})
    with engine(says("", load, look), says("One."), says("", again), says("Two."), offered_skills=(skill,)) as made:
        made.prompt("first", Abort())
        made.prompt("second", Abort())
        results = [record for record in made.records if isinstance(record, events.ToolResult)]
        asked = made._provided.provider.asked
    assert [record.is_error for record in results] == [False, True, False]
    assert results[1].content[0].text.endswith("the skill think allows only skill")
    assert [tool["name"] for tool in asked[0]["tools"]] == ["bash", "edit", "read", "skill", "write"]


def test_without_skills_there_is_no_tool_for_them(engine):
    with engine(says("", ("t1", "skill", {"name": "think"})), says("One.")) as made:
        made.prompt("first", Abort())
        (result,) = [record for record in made.records if isinstance(record, events.ToolResult)]
    assert (result.is_error, result.content[0].text) == (True, 'unknown tool "skill"')


def test_a_session_goes_on_and_a_new_one_begins(tmp_path, engine):
    with engine(says("one"), says("two"), says("three"), says("four")) as e:
        assert e.prompt("first", Abort()).status is Status.OK
        path, first_id = e.conversation.path, e.session.id
        e.session.begin()
        assert (e.conversation.transcript, e.conversation.usage.input) == ([], 0)
        assert e.conversation.path != path
        assert e.session.id != first_id
        e.prompt("second", Abort())
        loaded = e.session.resume(path)
        assert (e.session.id, loaded.message_rows) == (first_id, 2)
        assert e.conversation.usage == loaded.usage
        e.prompt("third", Abort())
        assert [message.role for message in load(path).messages] == ["user", "assistant"] * 2
        e.session.resume(path, fork=True)
        assert e.session.id != first_id
        e.prompt("fourth", Abort())
        assert load(path).message_rows == 4
        assert load(e.conversation.path).message_rows == 6
        assert load(e.conversation.path).meta.parent == first_id
        assert messages_of(e._provided.provider.asked[-1])[0] == ("user", "first")


def test_a_session_that_cannot_be_resumed_leaves_the_conversation(tmp_path, engine):
    with engine(says("one"), says("two")) as e:
        e.prompt("first", Abort())
        before, path = list(e.conversation.transcript), e.conversation.path
        busy = SessionFile.new(tmp_path / "home", Meta(cwd="/elsewhere"))
        busy.message(Message("user", (Text("x"),), ""))
        for bad, error in ((tmp_path / "none", SessionError), (busy.path, SessionBusyError)):
            with pytest.raises(error):
                e.session.resume(bad)
            assert (e.conversation.transcript, e.conversation.path) == (before, path)
        busy.close()
        e.prompt("second", Abort())
        assert load(path).message_rows == 4


@pytest.mark.parametrize("broken", ["end", "middle"])
def test_a_conversation_is_repaired_before_a_prompt_and_its_file_has_the_same(engine, broken):
    with engine(says("one"), says("two")) as e:
        e.prompt("first", Abort())
        called = Message("assistant", (ToolCall("t1", "bash", b"{}"),), "")
        if broken == "end":
            e.conversation.append(called)
        else:
            e.conversation.transcript.insert(1, called)
        assert e.prompt("second", Abort()).status is Status.OK
        blocks = [
            block["type"] for message in e._provided.provider.asked[-1]["messages"] for block in message["content"]
        ]
        assert blocks.index("tool_result") == blocks.index("tool_use") + 1
        loaded = load(e.conversation.path)
        assert loaded.repairs == 0
        assert [message.content for message in loaded.messages] == [m.content for m in e.conversation.transcript]


@pytest.mark.parametrize("fork", [False, True])
def test_results_for_calls_at_the_end_of_a_file_are_written_with_the_first_prompt(engine, fork):
    with engine(says("one"), says("two")) as e:
        e.prompt("first", Abort())
        e.conversation.append(Message("assistant", (ToolCall("t1", "bash", b"{}"),), ""))
        path, before = e.conversation.path, e.conversation.path.read_bytes()
        e.session.begin()
        assert e.session.resume(path, fork=fork).repairs == 1
        assert path.read_bytes() == before
        assert e.prompt("second", Abort()).status is Status.OK
        assert (path.read_bytes() == before) is fork
        loaded = load(e.conversation.path)
        assert (loaded.repairs, loaded.messages) == (0, tuple(e.conversation.transcript))
