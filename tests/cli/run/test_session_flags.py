"""`-c`, `-r`, `--session` and `--fork`: which session a run goes on with, what it sends, and what it writes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import uuid

import pytest

from agent.sessions.load import load
from agent.sessions.places import folder_of
from tests.support.messages_server import text_reply
from tests.support.mounts import without_privileges
from tests.support.zot_process import rows
from wire import events
from wire.exit_codes import Status

KEY = {"ANTHROPIC_API_KEY": "k"}


@pytest.fixture
def ask(zot, server):
    """Runs `zot --json` with these flags; the server answers with `reply`."""

    def run(*flags, reply="ok", prompt="go", **popen):
        if reply:
            server.add(text_reply(reply))
        command = ("--json", "--no-ext", "--base-url", server.base_url, *flags, prompt)
        return zot.run(*command, env={**KEY, **popen.pop("env", {})}, **popen)

    return run


def kept(zot, text="first", *, cwd=None, model="claude-sonnet-4-5", provider="anthropic", mtime=None):
    """A session file of a folder, with one exchange."""
    folder = folder_of(zot.home, str(cwd or zot.cwd))
    folder.mkdir(parents=True, exist_ok=True)
    number = str(uuid.uuid4())
    path = folder / f"20260101-000000-{number[:8]}.jsonl"
    time = "2026-01-01T00:00:00Z"
    meta = {"id": number, "cwd": str(cwd or zot.cwd), "model": model, "provider": provider, "started": time}
    said = [
        {"type": "message", "message": {"role": role, "content": [{"text": words}], "time": time}}
        for role, words in (("user", text), ("assistant", f"answer to {text}"))
    ]
    totals = {"input_tokens": 100, "output_tokens": 10, "cache_read_tokens": 0, "cache_write_tokens": 0}
    usage = {"type": "usage", "usage": totals, "cumulative": {**totals, "cost_usd": 0.5}}
    lines = [{"type": "meta", "meta": {**meta, "version": "1"}}, *said, usage]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path


def texts(request):
    return [block["text"] for message in request.body["messages"] for block in message["content"]]


def test_the_newest_session_goes_on_with_its_model_its_use_and_its_id(zot, server, ask):
    kept(zot, "older", mtime=1000)
    path = kept(zot, "newer", mtime=2000, model="claude-haiku-4-5")
    outcome = ask("-c").check(Status.OK)
    (asked,) = server.requests
    assert texts(asked) == ["newer", "answer to newer", "go"]
    assert asked.body["model"] == "claude-haiku-4-5"
    (session,) = outcome.of(events.Session)
    assert (session.id, session.resumed, session.model) == (load(path).meta.id, 2, "claude-haiku-4-5")
    (usage,) = outcome.of(events.Usage)
    assert usage.cumulative.input == 100 + usage.input
    assert outcome.result.usage.input == usage.input, "the result has what this run has used"
    assert outcome.stderr == ""
    found = load(path)
    assert [message.content[0].text for message in found.messages] == ["newer", "answer to newer", "go", "ok"]
    assert found.usage == usage.cumulative
    assert [row["type"] for row in rows(path.read_bytes())].count("meta") == 1
    assert len(zot.session_files()) == 2


def test_another_model_is_written_before_the_next_message(zot, server, ask):
    path = kept(zot)
    ask("-c", "-m", "claude-opus-4-5").check(Status.OK)
    assert server.requests[0].body["model"] == "claude-opus-4-5"
    assert [row["type"] for row in rows(path.read_bytes())] == [
        "meta", "message", "message", "usage", "meta", "message", "usage", "message",
    ]  # fmt: skip
    assert load(path).meta.model == "claude-opus-4-5"


def test_a_session_is_found_by_its_id_also_in_another_folder(zot, server, ask):
    other = zot.folder / "other"
    other.mkdir()
    path = kept(zot, "there", cwd=other)
    kept(zot, "here")
    number = load(path).meta.id
    for flags in (("-r", number[:8]), ("-r", number), ("-r", path.stem), (f"--resume={number[:4]}",)):
        outcome = ask(*flags).check(Status.OK)
        assert texts(server.requests[-1])[0] == "there"
        assert f"this session's folder was {other}" in outcome.stderr
    assert len(zot.session_files()) == 2


def test_a_copy_goes_on_and_the_session_stays_as_it_is_also_while_it_is_in_use(zot, server, ask):
    path = kept(zot)
    before = path.read_bytes()
    with path.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        busy = ask("-c", reply="")
        assert "another run uses this session" in busy.refusal()
        assert "--fork" in busy.stderr
        assert str(path) in busy.stderr
        outcome = ask("-c", "--fork").check(Status.OK)
    assert path.read_bytes() == before
    (copy,) = set(zot.session_files()) - {path}
    found, original = load(copy), load(path)
    assert (found.meta.parent, found.meta.fork_point) == (original.meta.id, 2)
    assert found.meta.id == outcome.of(events.Session)[0].id != original.meta.id
    assert [row["type"] for row in rows(copy.read_bytes())].count("meta") == 1
    assert [message.content[0].text for message in found.messages] == ["first", "answer to first", "go", "ok"]
    assert found.usage.input > 100
    assert len(os.listdir(copy.parent)) == 2


@pytest.mark.slow
def test_a_session_that_cannot_be_written_can_be_copied(zot, ask):
    path = kept(zot)
    path.chmod(0o400)
    command = without_privileges(zot.command)
    refusal = ask("--session", str(path), command=command, reply="").refusal()
    assert "cannot be opened for writing: Permission denied; resume a copy (--fork)" in refusal
    ask("--session", str(path), "--fork", command=command).check(Status.OK)
    assert len(zot.session_files()) == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-c"], "there is no session of"),
        (["-r"], "--resume without an ID needs a terminal"),
        (["-r", "1f3c5a9e"], "--resume: there is no session '1f3c5a9e'"),
        (["--resume=abc"], "--resume: 'abc' is too short: give 4 characters"),
        (["--session", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["--session", "notes.txt"], "notes.txt: no session"),
        (["--session", "."], "Is a directory"),
        (["--session", ""], "--session is empty"),
        (["-c", "--session", "x"], "exclude each other"),
        (["-c", "--resume=abcd"], "exclude each other"),
        (["-c", "--no-session"], "--no-session excludes"),
        (["--fork"], "--fork copies a session"),
        (["--save-session"], "--save-session has no effect without --rpc"),
    ],
)
def test_what_cannot_be_gone_on_with_is_a_usage_error(zot, ask, flags, said):
    (zot.cwd / "notes.txt").write_text("notes\n")
    assert said in ask(*flags, stdin=-3).refusal()
    assert not zot.session_files()


def test_rpc_keeps_a_session_if_asked(zot, server):
    server.add(text_reply("one"))
    lines = b'{"type":"prompt","message":"go"}\n'
    command = ("rpc", "--no-ext", "--base-url", server.base_url)

    def run(*flags):
        source, sink = os.pipe()
        os.write(sink, lines)
        os.close(sink)
        try:
            return zot.run(*command, *flags, env=KEY, stdin=source)
        finally:
            os.close(source)

    assert run().status == 0
    assert not zot.session_files()
    for flags in (("--save-session",), ("-c",)):
        server.add(text_reply("two"))
        assert run(*flags).status == 0
    (path,) = zot.session_files()
    assert load(path).message_rows == 4
    assert "exclude each other" in run("--no-session", "--save-session").stderr


def on_terminal(zot, server, answers):
    """`zot -p -r go` on a terminal where a person types; returns the status and what is seen."""
    server.add(text_reply("ok"))
    master, slave = pty.openpty()
    environment = {**zot.env, **KEY}
    pid = os.fork()
    if not pid:
        os.close(master)
        os.login_tty(slave)
        os.chdir(zot.cwd)
        command = [*zot.command, "-p", "--no-ext", "--base-url", server.base_url, "-r", "go"]
        os.execve(command[0], command, environment)
    os.close(slave)
    seen = b""
    try:
        for answer in answers:
            while not seen.endswith(b"leaves] "):
                seen += os.read(master, 4096)
            os.write(master, answer)
            seen += b"\n"
        while data := os.read(master, 4096):
            seen += data
    except OSError:
        pass
    finally:
        os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="os.login_tty is new in Python 3.11")
def test_on_a_terminal_a_session_is_chosen(zot, server):
    kept(zot, "old\x1b[31m words", mtime=1000)
    kept(zot, "new words", mtime=2000)
    status, seen = on_terminal(zot, server, [b"9\n", b"x\n", b"2\n"])
    assert status == 0
    assert "1  2026-01-01 00:00     2 messages  new words" in seen
    assert "old" in seen
    assert "\x1b[31m words" not in seen
    assert texts(server.requests[0])[0].startswith("old")
    assert on_terminal(zot, server, [b"q\n"])[0] == Status.INTERRUPTED.exit_code
    assert on_terminal(zot, server, [b"\x04"])[0] == Status.INTERRUPTED.exit_code
    assert len(server.requests) == 1
