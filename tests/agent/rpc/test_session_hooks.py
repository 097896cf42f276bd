"""Guards of the start and end of sessions, where one server has several sessions."""

from __future__ import annotations

import json

from agent.sessions.reading.history import read_history
from tests.support.faulty_run import program
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel, says

GUARD = """
hello(intercept=["session_start", "session_end"])
send(type="ready")
with open(sys.argv[1], "a") as log:
    for frame in frames():
        log.write(json.dumps(frame) + "\\n")
        log.flush()
        answer = {"session_summary": "of " + frame.get("text", "")} if frame["event"] == "session_end" else {}
        send(type="event_intercept_response", id=frame["id"], **answer)
"""


def test_each_session_of_a_server_begins_and_ends_once(tmp_path):
    log = tmp_path / "asked"
    guard = program(tmp_path, "guard", GUARD, log)
    paths = []

    def script(client):
        client.prompt("one")
        client.prompt("more of one")
        first = client.ask("get_state")["data"]["session"]
        assert client.ask("clear")["success"]
        assert client.ask("clear")["success"], "a session that never began has no end"
        client.prompt("two")
        second = client.ask("get_state")["data"]["session"]
        assert client.ask("resume", session=first["id"])["success"]
        client.prompt("one again")
        paths.extend((first["path"], second["path"]))

    model = ScriptedModel(says("A."), says("B."), says("C."), says("D."))
    given = {"extensions": (str(guard),), "extension_wait": 30.0, "keep_session": True, "drain_s": 30.0}
    served = serve(tmp_path, model, script, **given)
    assert served.status == 0, served.stderr
    frames = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(frame["event"], frame.get("source") or frame["reason"], frame["text"]) for frame in frames] == [
        ("session_start", "startup", "one"),
        ("session_end", "user_exit", "B."),
        ("session_start", "new", "two"),
        ("session_end", "user_exit", "C."),
        ("session_start", "resume", "one again"),
        ("session_end", "user_exit", "D."),
    ]
    assert [read_history(path).summary for path in paths] == ["of D.", "of C."]
