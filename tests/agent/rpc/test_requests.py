"""The answer to each request, in each state of the server. The transcripts are in `transcripts/STATE.txt`.

After a wanted change `python -m tests.agent.rpc.test_requests` writes them anew; read the difference.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.extension_folder import extension
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel, says
from wire import schema
from wire.rpc.requests import COMMANDS

TRANSCRIPTS = Path(__file__).with_name("transcripts")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
RELOAD = {"type": "reload_ext", "name": "commands"}
CALL = {"type": "call_tool", "name": "read", "args": {"path": "kept.zotsession", "limit": 1}}
REQUESTS = [
    {"type": "hello"},
    {"type": "ping"},
    {"type": "get_state"},
    {"type": "queue"},
    {"type": "get_messages"},
    {"type": "get_models"},
    {"type": "set_model", "model": ""},
    {"type": "set_model", "model": "m"},
    {"type": "set_reasoning", "reasoning": "hihg"},
    {"type": "set_reasoning", "reasoning": "max"},
    {"type": "list_commands"},
    {"type": "list_tools"},
    {"type": "list_skills"},
    {"type": "ext_stats"},
    {"type": "get_schema"},
    {"type": "get_schema", "name": "event.done"},
    {"type": "get_schema", "name": "event.don"},
    {"type": "panel_key", "extension": "commands", "panel_id": "p", "key": "up"},
    {"type": "panel_resize", "extension": "commands", "panel_id": "p", "width": 80, "height": 24},
    {"type": "panel_close", "extension": "commands", "panel_id": "p"},
    {"type": "prompt"},
    {"type": "prompt", "message": "go", "images": [{"mime_type": "image/png", "data": "no base64"}]},
    {"type": "clear"},
    {"type": "set_messages", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
    {"type": "get_messages", "full": True},
    {"type": "resume", "session": "f0f0f0f0"},
    {"type": "resume", "session": "./kept.zotsession"},
    {"type": "fork", "at": 3},
    {"type": "fork"},
    {"type": "fork", "session": "./kept.zotsession", "at": 1},
    {"type": "list_sessions"},
    {"type": "tree", "all": True},
    {"type": "export", "session": "./kept.zotsession", "format": "zotsession"},
    {"type": "export", "format": "pdf"},
    {"type": "export", "session": "./kept.zotsession", "format": "markdown", "path": "written.md"},
    {"type": "import", "path": "kept.zotsession"},
    {"type": "import", "path": "none.zotsession"},
    {"type": "run_command", "name": "/display", "args": "now"},
    {"type": "run_command", "name": "dispaly"},
    CALL,
    {"type": "call_tool", "name": "raed", "args": {}},
    {"type": "call_tool", "name": "read", "args": []},
    {"type": "reload_ext", "name": "comands"},
    RELOAD,
    {"type": "allow", "permission": "q1"},
    {"type": "deny", "permission": "q1", "reason": 5},
    {"type": "steer", "message": "rather this"},
    {"type": "steer"},
    {"type": "compact", "instructions": 5},
    {"type": "compact"},
    {"type": "ext", "extension": "mine", "closed": True},
    {"type": "prompt", "message": "more"},
    {"type": "abort"},
]
WITH_A_PANEL = [
    {"type": "run_command", "name": "open_panel"},
    {"type": "panel_resize", "extension": "commands", "panel_id": "p", "width": 80, "height": 24},
    {"type": "panel_key", "extension": "commands", "panel_id": "p", "key": "up"},
    {"type": "panel_close", "extension": "commands", "panel_id": "p"},
]
REPLIES = {
    "starting": [],
    "idle": [says("Hi.")],
    "streaming": [BEGUN],
    "tools": [says("", ("t1", "bash", {"command": "echo up; exec sleep 600"}))],
    "queued": [BEGUN],
    "compacting": [says("Hi."), BEGUN],
    "closing": [BEGUN, says("More.")],
}
"""Replies of the model in each state of the server; to prompts after the requests it begins to answer.
`closing`: the requests come together with the end of stdin, while a prompt runs. In `locked`, which has no model, the
token has not been said."""
STATES = [*REPLIES, "locked"]
KEPT = [
    {"role": role, "content": [{"type": "text", "text": text}]}
    for text, role in zip("abcde", ("user", "assistant") * 3, strict=False)
]

SESSION = b"""\
{"type":"meta","meta":{"id":"0a0a0a0a","cwd":"","model":"m","provider":"p","started":"2026-01-02T03:04:05Z","version":"1"}}
{"type":"message","message":{"role":"user","content":[{"text":"a"}],"time":"2026-01-02T03:04:05Z"}}
{"type":"message","message":{"role":"assistant","content":[{"text":"b"}],"time":"2026-01-02T03:04:05Z"}}
"""


def transcript(state: str, folder: Path) -> str:
    """The requests and responses in this state, without what differs from run to run."""
    if state == "locked":
        return _locked(folder)
    made = _commands(folder, is_late=state == "starting")
    (folder / "kept.zotsession").write_bytes(SESSION)
    lines: list[str] = []

    def script(client):
        _enter(state, client)
        exchanges = _all_with_the_end_of_stdin(client) if state == "closing" else _one_by_one(state, client)
        lines.extend(_written(request, answer, folder) for request, answer in exchanges)
        if state == "starting":
            (folder / "gate").write_text("\n")
        if state not in ("idle", "closing"):
            client.until("done")

    model = ScriptedModel(*REPLIES[state], *[BEGUN] * 3)
    serve(folder, model, script, extensions=(made,), extension_wait=30.0, drain_s=30.0 if state == "closing" else 0.0)
    return "".join(lines)


def _written(request, answer, folder: Path) -> str:
    return f"> {json.dumps(request)}\n< {json.dumps(_without_noise(answer, folder))}\n"


def _one_by_one(state: str, client):
    for request in [*REQUESTS, *(WITH_A_PANEL if state == "idle" else ())]:
        if state == "starting" and request in (RELOAD, CALL):
            continue  # they would wait for the start
        yield request, client.ask(request["type"], **{name: each for name, each in request.items() if name != "type"})
        if state == "idle" and request == {"type": "compact"}:
            client.until("done")  # one message is too little to compact


def _commands(folder: Path, *, is_late: bool) -> str:
    """The extension `commands`; a late one starts when a line comes into `gate`."""
    made = extension(folder, "commands")
    if is_late:
        os.mkfifo(folder / "gate")
        manifest = json.loads((made / "extension.json").read_text())
        argv = ["-c", f'read _ < {folder / "gate"}; exec "$@"', "sh", manifest["exec"], *manifest["args"]]
        (made / "extension.json").write_text(json.dumps({**manifest, "exec": "/bin/sh", "args": argv}))
    return str(made)


def _enter(state: str, client) -> None:
    if state in ("idle", "compacting"):
        client.prompt("go")
    if state == "compacting":
        client.ask("set_messages", messages=KEPT)
        client.ask("compact", instructions="keep the paths")
        while not client.ask("queue")["data"]["prompts"][0]["running"]:
            pass
    if state in ("streaming", "tools", "queued", "closing"):
        client.send("prompt", message="go")
        client.until("tool_progress" if state == "tools" else "text_delta")
    if state == "queued":
        client.ask("prompt", message="then this")


def _all_with_the_end_of_stdin(client):
    """Sends all requests at once and ends stdin. Returns them with their answers."""
    numbered = [{**request, "id": number} for number, request in enumerate(REQUESTS)]
    client.send_bytes(b"".join(json.dumps(request).encode() + b"\n" for request in numbered))
    client.close_stdin()
    answers = [line for line in client.rest() if line["type"] == "response"]
    return zip(REQUESTS, sorted(answers, key=lambda answer: answer["id"]), strict=True)


def _locked(folder: Path) -> str:
    """One request of each command, each the first one of a server."""
    lines = []
    for request in {request["type"]: request for request in REQUESTS}.values():
        line = json.dumps(request)
        served = serve(folder, ScriptedModel(), lambda client, line=line: client.send_bytes(line.encode()), token="s")
        (answer,) = served.lines
        assert served.status == 1
        lines.append(_written(request, answer, folder))
    return "".join(lines)


def _without_noise(answer, folder):
    said = {name: value for name, value in answer.items() if name not in ("type", "id")}
    data = said.get("data")
    match said["command"], data:
        case ("get_models", {"models": models}):
            data["models"] = models[:1]
        case ("list_tools", {"tools": tools}):
            data["tools"] = [f"{tool['name']} of {tool['extension'] or 'zot'}" for tool in tools]
        case ("ext_stats", {"extensions": stats}):
            data["extensions"] = {name: sorted(each)[:2] for name, each in stats.items()}
        case ("list_sessions", {"sessions": found}) | ("tree", {"branches": found}):
            titles = [f"{each['title']}: {each['message_count']} of {each['parent'] and 'a session'}" for each in found]
            data.update({name: sorted(titles) for name in data})
        case ("fork" | "import", {"session": _}):
            data.update(session="<id>", path=os.path.relpath(os.path.dirname(data["path"]), folder / "home")[:9])
        case ("get_schema", {"names": [_, *_]}):
            data["names"] = sorted(data["names"])[:1]
        case ("get_messages", {"messages": messages}):
            for message in messages:
                message["time"] = bool(message["time"])
    return json.loads(json.dumps(said).replace(str(folder), "<cwd>"))


@pytest.mark.parametrize("state", STATES)
def test_each_request_in_each_state(state, tmp_path):
    assert transcript(state, tmp_path) == (TRANSCRIPTS / f"{state}.txt").read_text()


def test_there_is_a_transcript_for_each_state():
    assert sorted(path.stem for path in TRANSCRIPTS.glob("*.txt")) == sorted(STATES)


@pytest.mark.parametrize("state", STATES)
def test_each_command_is_in_the_transcript_of_each_state(state):
    asked = {request["type"] for request, _ in _exchanges(state)}
    assert set(COMMANDS) - asked == set(), f"transcripts/{state}.txt: add these to REQUESTS"


def test_each_command_succeeds_in_some_transcript():
    """But for `ext`, which needs an extension in the client program: see `test_program_extensions.py`; and for `allow`
    and `deny`, which need a question of a guard: see `test_permissions.py`."""
    done = {"ext", "allow", "deny"} | {
        answer["command"] for state in STATES for _, answer in _exchanges(state) if answer["success"]
    }
    assert done == {*COMMANDS}


def _exchanges(state):
    said = [json.loads(line[2:]) for line in (TRANSCRIPTS / f"{state}.txt").read_text().splitlines()]
    return list(zip(said[::2], said[1::2], strict=True))


# --- the conversation ---------------------------------------------------------------------------------------


def test_an_image_reaches_the_model_and_is_shown_by_its_size(tmp_path):
    model = ScriptedModel(says("A dot."))
    image = {"mime_type": "image/png", "data": base64.b64encode(PNG).decode()}
    served = serve(tmp_path, model, lambda client: client.prompt("what is this?", images=[image]))
    asked = model.asked[0]["messages"][0]["content"]
    assert [block["type"] for block in asked] == ["text", "image"]
    assert asked[1]["source"]["data"] == image["data"]
    (told,) = [line["content"] for line in served.lines if line["type"] == "user_message"]
    assert told[1] == {"type": "image", "mime_type": "image/png", "bytes": len(PNG)}


def test_the_model_is_changed_for_the_next_turn_of_a_running_prompt(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def script(client):
        client.send("prompt", message="go")
        client.until("tool_call")
        assert client.ask("set_model", model="claude-sonnet-5-5")["data"] == {"model": "claude-sonnet-5-5"}
        gate.write_text("\n")
        client.until("done")
        assert client.ask("hello")["data"]["model"] == "claude-sonnet-5-5"

    model = ScriptedModel(says("", ("t1", "bash", {"command": f"cat {gate}"})), says("Done."))
    serve(tmp_path, model, script)
    assert [(asked["model"], asked["max_tokens"]) for asked in model.asked] == [
        ("m", 100), ("claude-sonnet-5-5", 32_000),
    ]  # fmt: skip


def test_extensions_that_start_later_are_told_of_the_new_model(tmp_path):
    told = tmp_path / "told"
    program = (
        "import json, sys\nprint(json.dumps({'type': 'hello', 'name': 'once'}), flush=True)\n"
        f"with open({str(told)!r}, 'a') as file: file.write(json.loads(sys.stdin.readline())['model'] + '\\n')\n"
        "print(json.dumps({'type': 'ready'}), flush=True)\n"
        "print(json.dumps({'type': 'register_command', 'name': 'end'}), flush=True)\n"
        "for line in sys.stdin:\n"
        "    if json.loads(line)['type'] == 'command_invoked': sys.exit(1)\n"
        "    if json.loads(line)['type'] == 'shutdown': break\n"
    )
    made = tmp_path / "ext-once"
    made.mkdir()
    manifest = {"name": "once", "exec": sys.executable, "args": ["-I", "-S", "-c", program], "language": "python"}
    (made / "extension.json").write_text(json.dumps(manifest))

    def script(client):
        client.ask("ping")
        client.until("extension", event="started")
        client.ask("set_model", model="other")
        while not client.ask("list_commands")["data"]["commands"]:
            pass
        client.ask("run_command", name="end")
        client.until("extension", event="restarted")

    serve(tmp_path, ScriptedModel(), script, extensions=(str(made),), extension_wait=30.0)
    assert told.read_text().split() == ["m", "other"]


def test_messages_that_were_kept_are_restored_with_all_they_had(tmp_path):
    kept = []
    call = ("t1", "bash", '{"command":\n"echo hi"}')

    def first(client):
        client.prompt("go", images=[{"mime_type": "image/png", "data": base64.b64encode(PNG).decode()}])
        kept.extend(client.ask("get_messages", full=True)["data"]["messages"])

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    served = serve(tmp_path / "one", ScriptedModel(says("", call), says("Done.")), first)
    assert all(b"\n" not in json.dumps(line["args"]).encode() for line in served.lines if line["type"] == "tool_call")

    def second(client):
        assert client.ask("set_messages", messages=kept)["data"] == {"message_count": 4}
        assert client.ask("get_messages", full=True)["data"]["messages"] == kept
        client.prompt("and now?")

    model = ScriptedModel(says("Yes."))
    serve(tmp_path / "two", model, second)
    asked = model.asked[0]["messages"]
    assert [block["type"] for block in asked[0]["content"]] == ["text", "image"]
    assert [message["role"] for message in asked] == ["user", "assistant", "user", "assistant", "user"]


def test_a_schema_is_made_once(tmp_path, monkeypatch):
    made = []
    generate = schema.generate
    monkeypatch.setattr(schema, "generate", lambda name: made.append(name) or generate(name))

    def script(client):
        for name in ("event", "rpc.ext", "event"):
            assert client.ask("get_schema", name=name)["data"]["schema"]["title"]

    serve(tmp_path, ScriptedModel(), script)
    assert made == ["event", "rpc.ext"]


def test_clear_drops_the_messages_and_keeps_the_use(tmp_path):
    def script(client):
        client.prompt("go")
        assert client.ask("clear")["success"]
        state = client.ask("get_state")["data"]
        assert (state["message_count"], state["usage"]["input"]) == (0, 1)

    serve(tmp_path, ScriptedModel(says("Hi.")), script)


if __name__ == "__main__":
    TRANSCRIPTS.mkdir(exist_ok=True)
    for each in STATES:
        with tempfile.TemporaryDirectory() as made_folder:
            (TRANSCRIPTS / f"{each}.txt").write_text(transcript(each, Path(made_folder)))
