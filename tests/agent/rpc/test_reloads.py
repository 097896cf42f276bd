"""Extensions are reloaded for a client, in any state of the server; each request is answered once."""

from __future__ import annotations

import json
import os
import sys

import pytest

from agent.rpc.requests import reload_answer
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel, says
from wire.control import ReloadOutcome

PROGRAM = """
import json, sys
def send(**frame): print(json.dumps(frame), flush=True)
send(type="hello", name={name!r})
send(type="register_command", name={command!r})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="display", display={command!r})
    if frame["type"] == "shutdown":
        break
"""


class Extension:
    """A folder whose program a test writes anew."""

    def __init__(self, parent, name="one"):
        self.name = name
        self.folder = parent / f"ext-{name}"
        self.folder.mkdir()
        self.program = self.folder / "x.py"
        self.began = parent / f"{name}-began"
        fields = {"name": name, "exec": sys.executable, "args": ["-I", "-S", str(self.program)]}
        (self.folder / "extension.json").write_text(json.dumps({**fields, "timeouts": {"hello": 30.0}}))
        self.write("old")

    def write(self, command):
        self.program.write_text(PROGRAM.format(name=self.name, command=command))

    def never_greets(self):
        """The program makes the file `began` when it runs; from then on, writing a new program does not change it."""
        self.program.write_text(f"import sys\nopen({str(self.began)!r}, 'w').close()\nsys.stdin.read()\n")


@pytest.fixture
def one(tmp_path):
    return Extension(tmp_path)


def served(tmp_path, script, *extensions, replies=(), **given):
    folders = tuple(str(each.folder) for each in extensions)
    return serve(tmp_path, ScriptedModel(*replies), script, extensions=folders, extension_wait=30.0, **given)


def started(client, count=1):
    client.ask("ping")
    for _ in range(count):
        client.until("extension", event="started")


def commands(client):
    return [each["name"] for each in client.ask("list_commands")["data"]["commands"]]


def of(*names):
    return {"stopped": [*names], "loaded": [*names], "ready": [*names], "errors": []}


def test_one_extension_is_read_anew(tmp_path, one):
    def script(client):
        started(client, 2)
        one.write("new")
        assert client.ask("reload_ext", name="one")["data"] == of("one")
        assert commands(client) == ["new", "two"]
        assert client.ask("run_command", name="new")["data"]["text"] == "new"

    two = Extension(tmp_path, "two")
    two.write("two")
    served(tmp_path, script, one, two)


def test_a_version_that_does_not_start_is_told_and_the_old_one_goes_on(tmp_path, one):
    def script(client):
        started(client)
        one.program.write_text("raise SystemExit(3)\n")
        data = client.ask("reload_ext")["data"]
        (error,) = data.pop("errors")
        assert data == {"stopped": [], "loaded": [], "ready": ["one"]}
        assert (error["name"], "exit 3" in error["reason"]) == ("one", True), error
        assert client.ask("run_command", name="old")["data"]["text"] == "old"

    served(tmp_path, script, one)


def test_reloads_at_the_same_time_are_each_answered(tmp_path, one):
    def script(client):
        started(client, 2)
        one.write("new")
        for id_, name in enumerate(["one", None, "two", None, None, "none", "one"]):
            client.send("reload_ext", id=id_, name=name)
        answers = {}
        while len(answers) < 7:
            answer = client.until("response")
            answers[answer["id"]] = answer["success"]
        assert answers == {id_: id_ != 5 for id_ in range(7)}
        assert commands(client)[0] == "new"

    done = served(tmp_path, script, one, Extension(tmp_path, "two"))
    assert sum(answer["command"] == "reload_ext" for answer in done.responses) == 7


def test_a_reload_goes_on_beside_a_prompt_and_an_abort_does_not_end_it(tmp_path, one):
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def script(client):
        client.send("prompt", message="go")
        client.until("text_delta")
        one.program.write_text(f"open({str(gate)!r}).read()\n" + PROGRAM.format(name="one", command="new"))
        client.send("reload_ext", id="r")
        client.ask("abort")
        client.until("done")
        gate.write_text("")
        assert client.until("response", id="r")["data"] == of("one")
        client.prompt("and now?")

    done = served(tmp_path, script, one, replies=[BEGUN, says("Hi.")])
    assert [line["status"] for line in done.lines if line["type"] == "result"] == ["interrupted", "ok"]


def test_a_reload_during_the_start_replaces_what_starts(tmp_path, one):
    one.never_greets()

    def script(client):
        while not one.began.exists():
            client.ask("ping")
        assert client.ask("get_state")["data"]["starting"]
        one.write("new")
        assert client.ask("reload_ext")["data"] == of("one")
        assert commands(client) == ["new"]
        client.prompt("go")

    assert served(tmp_path, script, one, replies=[says("Hi.")]).status == 0


def test_a_reload_is_answered_after_the_end_of_stdin(tmp_path, one):
    def script(client):
        started(client)
        client.send("reload_ext")

    done = served(tmp_path, script, one, drain_s=30.0)
    assert done.responses[-1]["data"] == of("one")
    assert done.status == 0


def test_a_reload_that_takes_longer_than_the_drain_timeout_is_given_up(tmp_path, one):
    def script(client):
        started(client)
        one.never_greets()
        client.send("reload_ext")

    done = served(tmp_path, script, one, drain_s=0.1)
    assert "--drain-timeout" in done.responses[-1]["error"]
    assert done.status == 0


def test_the_words_of_each_outcome():
    outcomes = [ReloadOutcome(kind, kind, "why") for kind in ("reloaded", "started", "stopped", "kept", "skipped")]
    told_of = reload_answer(outcomes, {"reloaded", "started", "kept", "another"})
    assert told_of.stopped == ("reloaded", "stopped")
    assert told_of.loaded == ("reloaded", "started")
    assert told_of.ready == ("reloaded", "started", "kept")
    assert [(error.name, error.reason) for error in told_of.errors] == [("kept", "why"), ("skipped", "why")]
