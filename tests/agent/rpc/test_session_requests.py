"""Requests about session files, as a client of a server in this process sees them."""

from __future__ import annotations

import fcntl
import json
import os

import pytest

from agent.sessions.fork import keep
from agent.sessions.load import load
from agent.sessions.rows import Meta
from agent.transcript import Message, Text, ToolCall
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel, says
from wire.events import Totals

USED = Totals(10, 20, 0, 0, 0.5)


def say(text, role="user"):
    return Message(role, (Text(text),), "2026-01-02T03:04:05+00:00")


TALK = (say("hello"), say("Hi.", "assistant"), say("and now?"), say("Nothing.", "assistant"))


@pytest.fixture
def session(tmp_path):
    """A session file of the server's folder, with these messages."""

    def made(*messages, cwd=tmp_path, **meta):
        about = Meta(cwd=str(cwd), provider="anthropic", model="old", version="0", **meta)
        return keep(tmp_path / "home", about, messages or TALK, USED)

    return made


def identity(path):
    return load(path).meta.id


def said(path):
    return ["".join(block.text for block in message.content) for message in load(path).messages]


def run(tmp_path, script, *replies, **given):
    model = ScriptedModel(*replies)
    served = serve(tmp_path, model, script, **given)
    assert served.status == 0, served.stderr
    return model


def ask(client, kind, **members):
    answer = client.ask(kind, **members)
    assert answer["success"], answer
    return answer["data"]


def refused(client, kind, **members):
    answer = client.ask(kind, **members)
    assert not answer["success"], answer
    return answer["error"]


def test_sessions_are_listed_by_folder(session, tmp_path):
    mine, elsewhere = session(title="mine"), session(cwd="/elsewhere")
    hidden = session(hide_from_sessions=True)

    def script(client):
        (found,) = ask(client, "list_sessions")["sessions"]
        assert found["id"] == identity(mine)
        assert (found["path"], found["title"], found["message_count"]) == (str(mine), "mine", 4)
        assert (found["cwd"], found["model"], found["in_use"]) == (str(tmp_path), "old", False)
        assert found["usage"]["input"] == 10
        every = ask(client, "list_sessions", all=True)["sessions"]
        assert {each["id"] for each in every} == {identity(mine), identity(elsewhere)}
        assert identity(hidden) not in {each["id"] for each in every}

    run(tmp_path, script)


@pytest.mark.parametrize("how", ["id", "prefix", "name", "path", "relative path"])
def test_a_session_goes_on_and_what_follows_is_written_to_its_file(session, tmp_path, how):
    path = session()
    named = {
        "id": identity(path),
        "prefix": identity(path)[:6],
        "name": path.name,
        "path": str(path),
        "relative path": os.path.relpath(path, tmp_path),
    }[how]

    def script(client):
        found = ask(client, "resume", session=named)
        assert found == {
            "session": identity(path), "path": str(path), "message_count": 4, "model": "old", "title": "hello",
            "repairs": 0,
        }  # fmt: skip
        state = ask(client, "get_state")
        assert (state["message_count"], state["usage"]["input"]) == (4, 10)
        client.prompt("go on")

    model = run(tmp_path, script, says("Yes."))
    assert [message["role"] for message in model.asked[0]["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert said(path) == ["hello", "Hi.", "and now?", "Nothing.", "go on", "Yes."]
    assert load(path).usage.input == 11


def test_a_call_without_a_result_is_repaired(session, tmp_path):
    path = session(say("go"), Message("assistant", (ToolCall("t1", "bash", b"{}"),), "t"))

    def script(client):
        found = ask(client, "resume", session=str(path))
        assert (found["message_count"], found["repairs"]) == (3, 1)
        client.prompt("go on")

    model = run(tmp_path, script, says("Yes."))
    assert model.asked[0]["messages"][2]["content"][0]["tool_use_id"] == "t1"


def test_what_cannot_be_resumed_says_which_file_and_why(session, tmp_path):
    path = session()
    (tmp_path / "notes.txt").write_text("no session\n")

    def script(client):
        assert "there is no session 'ffffffff'" in refused(client, "resume", session="ffffffff")
        assert f"{tmp_path}/none/x.jsonl: there is no such file" in refused(client, "resume", session="none/x.jsonl")
        assert "notes.txt: no session" in refused(client, "resume", session="./notes.txt")
        assert refused(client, "resume", session=" ") == "session: the id is empty"
        assert refused(client, "resume", session="a/\0") == "session: the id has a NUL character"
        assert "too short" in refused(client, "resume", session=identity(path)[:2])
        assert ask(client, "get_state")["message_count"] == 0
        assert ask(client, "resume", session=str(path)) == ask(client, "resume", session=identity(path))

    run(tmp_path, script)


def test_a_session_of_another_run_is_busy_and_can_be_copied(session, tmp_path):
    path = session()

    def script(client):
        with path.open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            answer = client.ask("resume", session=identity(path))
            assert (answer["success"], answer["code"]) == (False, "busy")
            assert str(path) in answer["error"]
            copied = ask(client, "fork", session=identity(path))
            assert {each["id"]: each["in_use"] for each in ask(client, "list_sessions")["sessions"]} == {
                identity(path): True,
                copied["session"]: False,
            }
        assert said(copied["path"]) == said(path)
        assert ask(client, "get_state")["message_count"] == 0
        ask(client, "resume", session=path.name)

    run(tmp_path, script)


@pytest.mark.parametrize("kind", ["resume", "fork"])
@pytest.mark.parametrize("busy", ["prompt", "compact"])
def test_the_conversation_is_not_exchanged_under_a_prompt_or_a_compaction(session, tmp_path, kind, busy):
    path = session(*TALK, *TALK)

    def script(client):
        ask(client, "resume", session=str(path))
        client.send(busy, **({"message": "go"} if busy == "prompt" else {}))
        if busy == "prompt":
            client.until("text_delta")
        members = {"session": str(path)} if kind == "resume" else {}
        assert "busy: a " in refused(client, kind, **members)
        ask(client, "fork", session=str(path))
        ask(client, "list_sessions")
        ask(client, "export", format="json")
        client.send("abort")
        client.until("done")

    run(tmp_path, script, BEGUN)


def test_a_conversation_without_a_file_is_kept_from_its_fork_on(tmp_path):
    kept = []

    def script(client):
        assert "no messages" in refused(client, "fork")
        client.prompt("hello")
        made = ask(client, "fork")
        kept.append(made["path"])
        assert (made["parent"], made["message_count"]) == ("", 2)
        assert ask(client, "list_sessions")["sessions"][0]["id"] == made["session"]
        client.prompt("again")

    run(tmp_path, script, says("Hi."), says("Yes."))
    assert said(kept[0]) == ["hello", "Hi.", "again", "Yes."]
    loaded = load(kept[0])
    assert (loaded.meta.cwd, loaded.usage.input) == (str(tmp_path), 2)


def test_a_fork_of_a_session_goes_on_beside_its_original(session, tmp_path):
    path = session()
    kept = []

    def script(client):
        ask(client, "resume", session=str(path))
        assert "no fork at 9: there are 4 messages" in refused(client, "fork", at=9)
        assert ask(client, "get_state")["message_count"] == 4
        made = ask(client, "fork", at=2)
        kept.append(made["path"])
        assert (made["parent"], made["message_count"]) == (identity(path), 2)
        assert ask(client, "get_state")["message_count"] == 2
        client.prompt("rather this")
        (branch,) = ask(client, "tree")["branches"]
        assert branch["id"] == identity(path)
        assert [child["id"] for child in branch["children"]] == [made["session"]]

    run(tmp_path, script, says("Yes."))
    assert said(kept[0]) == ["hello", "Hi.", "rather this", "Yes."]
    assert said(path) == ["hello", "Hi.", "and now?", "Nothing."]


@pytest.mark.parametrize("form", ["markdown", "html", "json", "zotsession"])
def test_a_session_is_exported_as_a_text_and_as_a_file(session, tmp_path, form):
    path = session()

    def script(client):
        named = {"session": identity(path), "format": form}
        found = ask(client, "export", **named)
        assert found["path"] is None
        assert "Nothing." in found["text"]
        target = tmp_path / ("out.zotsession" if form == "zotsession" else "out")
        written = ask(client, "export", **named, path=target.name)
        assert written == {"path": str(target), "text": None}
        assert target.read_text() == found["text"]
        assert target.stat().st_mode & 0o777 == 0o600
        ask(client, "export", **named, path=target.name)
        os.mkfifo(pipe := tmp_path / "pipe.zotsession")
        assert f"{pipe}: cannot be written: not a file" in refused(client, "export", **named, path=str(pipe))

    run(tmp_path, script)


def test_the_conversation_itself_is_exported_with_a_file_or_without(session, tmp_path):
    path = session()

    def script(client):
        assert "no messages" in refused(client, "export")
        client.prompt("hello there")
        assert "hello there" in ask(client, "export")["text"]
        assert ask(client, "list_sessions")["sessions"] != []
        ask(client, "resume", session=str(path))
        client.prompt("go on")
        assert json.loads(ask(client, "export", format="json")["text"])["id"] == identity(path)
        assert "go on" in ask(client, "export")["text"]

    run(tmp_path, script, says("Hi."), says("Yes."))


@pytest.mark.parametrize("form", ["markdown", "html", "json", "zotsession"])
def test_an_export_never_takes_the_place_of_a_session(session, tmp_path, form):
    path = session()
    before = path.read_bytes()
    (tmp_path / "copy.zotsession").write_bytes(before)

    def script(client):
        for target in (str(path), str(path.parent / "new")):
            assert "is where sessions are kept" in refused(
                client, "export", session=str(path), format=form, path=target
            )
        own = {"session": "./copy.zotsession", "path": "copy.zotsession"}
        assert "is where sessions are kept" in refused(client, "export", format=form, **own)

    run(tmp_path, script)
    assert [path.read_bytes(), (tmp_path / "copy.zotsession").read_bytes()] == [before] * 2
    assert len(list(path.parent.iterdir())) == 1


def test_an_export_that_is_too_long_for_an_answer_needs_a_path(session, tmp_path):
    path = session(say("x" * 17_000_000))

    def script(client):
        assert "give a path" in refused(client, "export", session=str(path), format="zotsession")
        assert ask(client, "export", session=str(path), format="zotsession", path="out")["path"]

    run(tmp_path, script)


def test_an_imported_session_can_be_resumed(session, tmp_path):
    path = session(cwd="/elsewhere", title="theirs")
    (tmp_path / "notes.txt").write_text("no session\n")

    def script(client):
        exported = ask(client, "export", session=identity(path), format="zotsession", path="theirs")["path"]
        made = ask(client, "import", path=os.path.basename(exported))
        assert made["session"] != identity(path)
        (found,) = ask(client, "list_sessions")["sessions"]
        assert (found["id"], found["title"], found["cwd"]) == (made["session"], "theirs", str(tmp_path))
        assert ask(client, "get_state")["message_count"] == 0
        assert ask(client, "resume", session=made["session"])["message_count"] == 4
        assert "notes.txt: no session" in refused(client, "import", path="notes.txt")
        assert "No such file" in refused(client, "import", path="none")

    run(tmp_path, script)


def test_answers_hold_paths_that_are_not_unicode(tmp_path):
    folder = tmp_path / os.fsdecode(b"h\xffme")
    path = keep(folder, Meta(cwd=str(tmp_path)), TALK, USED)

    def script(client):
        (found,) = ask(client, "list_sessions")["sessions"]
        assert "h\ufffdme" in found["path"]
        ask(client, "resume", session=found["id"])

    run(tmp_path, script, home=folder)
    assert path.exists()
