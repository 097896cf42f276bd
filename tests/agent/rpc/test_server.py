"""A server of zot rpc in this process, with a client in a thread: how prompts begin and end, and how it ends itself."""

from __future__ import annotations

import json
import os
import sys

import pytest

from agent.model.provider import ProviderUnavailable, Stream
from tests.support.extension_folder import folder
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel, fails, says
from tests.support.zot_process import wait_until
from wire.exit_codes import Status

SLEEP = ("t1", "bash", {"command": "echo up; exec sleep 600"})
TURN = ["turn_start", "assistant_start", "text_delta", "usage", "assistant_message", "turn_end"]
END = ["result", "done"]


def test_a_prompt_is_answered_on_receipt_and_its_records_name_it(tmp_path):
    served = serve(tmp_path, ScriptedModel(says("Hi.")), lambda client: client.prompt("go"))
    (started,) = served.responses
    assert started["data"] == {"started": True, "prompt": "p1", "position": 0}
    assert [line["type"] for line in served.lines[:2]] == ["response", "session"]
    assert served.kinds("p1") == ["user_message", *TURN, *END]
    assert served.lines[-2]["status"] == "ok"
    assert (served.status, served.stderr) == (0, "")


def test_nothing_comes_before_the_first_response(tmp_path):
    served = serve(tmp_path, ScriptedModel(), lambda _client: None)
    assert (served.status, served.lines) == (0, [])


@pytest.mark.parametrize("quiet", [False, True])
def test_stderr_says_nothing_that_a_record_says_to_a_quiet_client(tmp_path, quiet):
    program = 'import json, sys\ndef say(**frame): print(json.dumps(frame), flush=True)\nsay(type="hello", name="n")\n'
    program += 'say(type="subscribe", events=["turn_start"])\nsay(type="ready")\n'
    program += (
        'for line in sys.stdin:\n  if "turn_start" in line: say(type="notify", level="warn", message="hear"); break\n'
    )
    made = folder(tmp_path, "n", [sys.executable, "-I", "-S", "-c", program])

    def script(client):
        client.ask("hello", quiet=quiet)
        client.ask("prompt", message="go")  # its end may come before or after the note
        client.until("ext_notify", message="hear")
        client.until("extension", event="exited")

    served = serve(tmp_path, ScriptedModel(fails(message="gone")), script, extensions=(str(made),), extension_wait=30.0)
    said = ("[n] warn: hear", "extension n: it ended", "gone")
    assert [line in served.stderr for line in said] == [not quiet] * 3
    assert {"ext_notify", "extension", "error"} <= {line["type"] for line in served.lines}


def test_notes_of_the_start_wait_for_the_first_response(tmp_path):
    program = 'import json, sys\ndef say(**frame): print(json.dumps(frame), flush=True)\nsay(type="hello", name="n")\n'
    program += 'say(type="notify", level="info", message="here")\nsay(type="ready")\nsys.stdin.read()\n'
    made = folder(tmp_path, "n", [sys.executable, "-I", "-S", "-c", program])
    served = serve(
        tmp_path,
        ScriptedModel(),
        lambda client: (client.ask("ping"), client.until("ext_notify", message="here")),
        extensions=(str(made),),
    )
    assert [line["type"] for line in served.lines[:2]] == ["response", "session"]
    assert all("prompt" not in line for line in served.lines)


def test_prompts_are_carried_out_in_order(tmp_path):
    def script(client):
        for text in ("a", "b", "c"):
            client.send("prompt", message=text)
        client.until("done", prompt="p3")

    served = serve(tmp_path, ScriptedModel(says("A."), says("B."), says("C.")), script)
    assert [answer["data"]["position"] for answer in served.responses] == [0, 1, 2]
    told = [line["content"][0]["text"] for line in served.lines if line["type"] == "user_message"]
    assert told == ["a", "b", "c"]
    order = [line["prompt"] for line in served.lines if "prompt" in line]
    assert order == sorted(order)


def test_an_abort_that_directly_follows_its_prompt_works(tmp_path):
    def script(client):
        client.send_bytes(b'{"type":"prompt","message":"go"}\n{"type":"abort"}\n')
        client.until("done", prompt="p1")
        assert client.ask("get_state")["data"]["message_count"] == 0

    served = serve(tmp_path, ScriptedModel(), script)
    assert served.kinds("p1") == ["turn_end", *END]
    (ended,) = [line for line in served.lines if line["type"] == "turn_end"]
    assert (ended["stop"], ended["error"]) == ("aborted", "aborted by the client")
    assert [answer["success"] for answer in served.responses] == [True] * 3


def test_an_abort_ends_the_stream_and_the_next_prompt_runs(tmp_path):
    def script(client):
        client.send("prompt", message="a")
        client.send("prompt", message="b")
        client.until("text_delta", prompt="p1")
        assert client.ask("abort")["success"]
        client.until("done", prompt="p2")

    model = ScriptedModel(BEGUN, says("B."))
    served = serve(tmp_path, model, script)
    assert served.kinds("p1")[-4:] == ["assistant_message", "turn_end", *END]
    assert [line["status"] for line in served.lines if line["type"] == "result"] == ["interrupted", "ok"]
    assert not [line for line in served.lines if line["type"] == "error"]
    assert model.cancelled == 1
    assert served.status == 0


def test_requests_are_answered_while_the_model_is_never_slow(tmp_path):
    """A replayed model, for example; and the client reads at once."""

    class Endless(Stream):
        def take(self):
            self.feed(self._lines[-1])
            return super().take()

    model = ScriptedModel()
    model.request = lambda _params: Endless(BEGUN)

    def script(client):
        client.ask("prompt", message="go")
        client.until("text_delta")
        assert client.ask("ping")["success"]
        client.ask("abort")
        client.until("done")

    served = serve(tmp_path, model, script)
    assert served.lines[-2]["status"] == "interrupted"


def test_an_abort_during_tools_stops_the_remaining_tools(tmp_path):
    def script(client):
        client.send("prompt", message="go")
        client.until("tool_progress")
        client.send("abort")
        client.until("done")

    calls = (SLEEP, ("t2", "bash", {"command": "touch made"}))
    served = serve(tmp_path, ScriptedModel(says("", *calls)), script)
    results = [line for line in served.lines if line["type"] == "tool_result"]
    assert [line["is_error"] for line in results] == [True, True]
    assert served.kinds("p1")[-3:] == ["turn_end", *END]
    assert not (tmp_path / "made").exists()


def test_an_abort_while_a_guard_judges_the_answer_is_an_abort(tmp_path):
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    program = f"""
import json, sys
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="slow")
say(type="subscribe", intercept=["assistant_message"])
say(type="ready")
for line in sys.stdin:
    if json.loads(line)["type"] == "event_intercept": open({str(asked)!r}, "w").write("yes")
"""
    made = folder(tmp_path, "slow", [sys.executable, "-I", "-S", "-c", program])

    def script(client):
        client.send("prompt", message="go")
        asked.read_text()
        client.ask("abort")
        client.until("done")

    served = serve(tmp_path, ScriptedModel(says("Hi.")), script, extensions=(str(made),), extension_wait=30.0)
    (ended,) = [line for line in served.lines if line["type"] == "turn_end"]
    assert (ended["stop"], ended["error"]) == ("aborted", "aborted by the client")
    (result,) = [line for line in served.lines if line["type"] == "result"]
    assert (result["status"], result["text"]) == ("interrupted", "")
    assert served.kinds("p1")[-2:] == END


SIX = [
    {"role": role, "content": [{"type": "text", "text": text}]}
    for text, role in zip("abcdef", ("user", "assistant") * 3, strict=True)
]
"""Messages of which some can be compacted."""
KINDS = pytest.mark.parametrize("kind", ["prompt", "compact"])


def send(client, kind):
    """A prompt, or a compaction, which waits and ends as prompts do."""
    client.send(kind, **({"message": "b"} if kind == "prompt" else {}))


@KINDS
def test_what_waits_is_aborted_by_its_id_and_keeps_its_place(tmp_path, kind):
    def script(client):
        client.send("prompt", message="a")
        send(client, kind)
        client.send("prompt", message="c")
        client.until("text_delta", prompt="p1")
        client.ask("abort", prompt="p2")
        prompts = client.ask("queue")["data"]["prompts"]
        assert [(one["prompt"], one["running"], one["aborted"]) for one in prompts] == [
            ("p1", True, False), ("p2", False, True), ("p3", False, False),
        ]  # fmt: skip
        client.ask("abort", prompt="p9")
        client.ask("abort", prompt="p1")
        client.until("done", prompt="p3")

    served = serve(tmp_path, ScriptedModel(BEGUN, says("C.")), script)
    assert served.kinds("p2") == ["turn_end", *END[kind == "compact" :]]
    statuses = [line["status"] for line in served.lines if line["type"] == "result"]
    assert statuses == ["interrupted", *["interrupted"] * (kind == "prompt"), "ok"]


def test_requests_are_answered_while_extensions_start_and_prompts_wait(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    slow = f'read _ < {gate}; printf \'{{"type":"hello","name":"slow"}}\\n{{"type":"ready"}}\\n\'; exec cat'
    made = folder(tmp_path, "slow", ["/bin/sh", "-c", slow])

    def script(client):
        client.send("prompt", message="go")
        assert client.ask("get_state")["data"]["starting"]
        gate.write_text("\n")
        client.until("done")
        assert not client.ask("get_state")["data"]["starting"]

    served = serve(tmp_path, ScriptedModel(says("Hi.")), script, extensions=(str(made),), extension_wait=30.0)
    assert [line["type"] for line in served.lines[:4]] == ["response", "response", "session", "extension"]
    assert served.kinds("p1")[-1] == "done"


# --- failures -----------------------------------------------------------------------------------------------


def test_without_a_credential_the_server_runs_and_each_prompt_fails(tmp_path):
    def script(client):
        client.prompt("a")
        client.prompt("b")
        assert client.ask("hello")["data"]["provider"] == "none"

    served = serve(tmp_path, ProviderUnavailable(Status.AUTHENTICATION, "no key"), script)
    assert served.kinds("p1") == served.kinds("p2") == ["error", *END]
    assert {line["status"] for line in served.lines if line["type"] == "result"} == {"authentication"}
    assert served.status == 0


def test_a_required_extension_that_is_missing_ends_the_server(tmp_path):
    made = folder(tmp_path, "lost", ["/bin/sh", "-c", "exit 3"], required=True, restart={"policy": "temporary"})
    served = serve(tmp_path, ScriptedModel(), lambda client: client.rest(), extensions=(str(made),))
    assert served.status == 9
    assert "extension lost is required" in served.stderr


def test_a_prompt_that_waits_for_a_required_extension_gets_its_end(tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    made = folder(
        tmp_path, "lost", ["/bin/sh", "-c", f"read _ < {gate}; exit 3"], required=True, restart={"policy": "temporary"}
    )

    def script(client):
        client.ask("prompt", message="go")
        gate.write_text("\n")
        client.until("done")

    served = serve(tmp_path, ScriptedModel(), script, extensions=(str(made),), extension_wait=30.0)
    assert served.kinds("p1") == ["error", *END]
    assert served.status == 9


@KINDS
def test_the_timeout_holds_for_each(tmp_path, kind):
    def script(client):
        client.ask("set_messages", messages=SIX)
        send(client, kind)
        client.until("done")
        client.prompt("b")

    served = serve(tmp_path, ScriptedModel(BEGUN, says("B.")), script, timeout=0.2)
    ended = served.kinds("p1")
    assert ended[ended.index("turn_end") :] == ["turn_end", "error", *END[kind == "compact" :]]
    assert f"the {'prompt' if kind == 'prompt' else 'compaction'} took longer than 0.2 s" in served.stderr
    assert served.kinds("p2")[-2:] == END


# --- the end ------------------------------------------------------------------------------------------------


@KINDS
def test_after_stdin_the_first_is_finished_and_those_behind_are_aborted(tmp_path, kind):
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def script(client):
        client.send("prompt", message="a")
        send(client, kind)
        client.until("tool_call")
        client.close_stdin()
        wait_until(client.has_no_more_to_say)
        gate.write_text("\n")

    waits = ("t1", "bash", {"command": f"cat {gate}"})
    served = serve(tmp_path, ScriptedModel(says("", waits), says("A.")), script, drain_s=60.0)
    results = [line["status"] for line in served.lines if line["type"] == "result"]
    assert results == ["ok", *["interrupted"] * (kind == "prompt")]
    assert [line.get("error") for line in served.lines if line["type"] == "turn_end"] == [None, None, "stdin has ended"]
    assert served.kinds("p2") == ["turn_end", *END[kind == "compact" :]]
    assert served.status == 0


def test_after_stdin_a_compaction_is_finished_too(tmp_path):
    def script(client):
        client.ask("set_messages", messages=SIX)
        client.send("compact")

    served = serve(tmp_path, ScriptedModel(says("So.")), script, drain_s=60.0)
    assert served.kinds("p1") == ["usage", "compact_done", "done"]
    assert served.status == 0


def test_what_is_not_done_within_the_drain_timeout_is_aborted(tmp_path):
    def script(client):
        client.send("prompt", message="a")
        client.until("text_delta")

    served = serve(tmp_path, ScriptedModel(BEGUN), script, drain_s=0.1)
    (ended,) = [line for line in served.lines if line["type"] == "turn_end"]
    assert "--drain-timeout" in ended["error"]
    assert served.lines[-1]["type"] == "done"
    assert served.status == 0


def test_a_client_that_goes_ends_the_server(tmp_path):
    def script(client):
        client.send("prompt", message="a")
        client.until("text_delta")
        client.close_stdout()

    served = serve(tmp_path, ScriptedModel(BEGUN), script, drain_s=60.0)
    assert served.status == 130


@pytest.mark.parametrize(
    "first",
    [
        {"type": "ping", "id": "x"},
        {"type": "hello"},
        {"type": "hello", "token": "other"},
        {"type": "hello", "token": 5},
        "garbage",
    ],
    ids=str,
)
def test_without_the_token_there_is_one_error_and_no_more(tmp_path, first):
    def script(client):
        client.send_bytes((first if isinstance(first, str) else json.dumps(first)).encode() + b"\n")
        client.send("hello", token="secret")

    served = serve(tmp_path, ScriptedModel(), script, token="secret", drain_s=60.0)
    (answer,) = served.lines
    assert not answer["success"]
    assert "secret" not in json.dumps(served.lines) + served.stderr
    assert served.status == 1


def test_with_the_token_the_client_is_served(tmp_path):
    def script(client):
        client.send_bytes(b'{"type":"hello","token":"se\\u00e9cret"}\n{"type":"prompt","message":"right behind it"}\n')
        client.until("done")
        assert client.ask("ping")["data"] == {"pong": True}
        client.send("hello", token="other")
        client.send("hello", id=2)
        client.until("response", id=2)

    served = serve(tmp_path, ScriptedModel(says("Hi.")), script, token="se\u00e9cret")
    assert [answer["success"] for answer in served.responses] == [True] * 5
    assert served.kinds("p1")[-2:] == END
    assert served.status == 0
