"""Events about sessions, prompts and compactions, where one server has several of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faulty_run import program
from tests.support.rpc_client import RpcClient, serve
from tests.support.scripted_model import ScriptedModel, fails, says

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OBSERVER = """
hello("pid", events=%r)
send(type="ready")
with open(sys.argv[1], "a") as log:
    print(json.dumps({"event": "life", "pid": os.getpid()}), file=log)
    for frame in frames():
        print(json.dumps(frame), file=log, flush=True)
"""


def heard(place: Path, model: ScriptedModel, script: Callable[[RpcClient], None], *events: str, **given: Any) -> Any:
    """The events that an extension has observed while a server carried out the script."""
    log = place / "heard"
    observer = program(place, "observer", OBSERVER % (list(events),), log)
    options = {"extensions": (str(observer),), "extension_wait": 30.0, "drain_s": 30.0, **given}
    served = serve(place, model, script, **options)
    assert served.status == 0, served.stderr
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert told.pop(0)["event"] == "life"
    assert "life" not in [frame["event"] for frame in told], "no process was started for another session"
    return told


@pytest.mark.parametrize("keeps", [True, False])
def test_each_conversation_of_a_server_has_its_own_start_and_end(tmp_path: Path, keeps: bool):
    ids: list[str] = []

    def current(client: RpcClient) -> str:
        kept = client.ask("get_state")["data"]["session"]
        return "" if kept is None else kept["id"]

    def script(client: RpcClient) -> None:
        client.prompt("one")
        ids.append(current(client))
        assert client.ask("clear")["success"]
        ids.append(current(client))
        assert client.ask("set_messages", messages=[])["success"]
        ids.append(current(client))
        if keeps:
            assert client.ask("resume", session=ids[0])["success"]
            assert client.ask("resume", session=ids[0])["success"], "the current one: no switch"
            ids.append(current(client))
            assert client.ask("fork")["success"]
            ids.append(current(client))

    model = ScriptedModel(says("A."))
    told = heard(tmp_path, model, script, "session_start", "session_end", keep_session=keeps)
    starts = [frame["session_id"] for frame in told if frame["event"] == "session_start"]
    assert len(starts) == len(ids)
    assert len(set(starts)) == (4 if keeps else 3), "a resumed conversation has its old id"
    if keeps:
        assert starts == ids
    assert [frame["event"] for frame in told] == ["session_start", "session_end"] * len(ids)
    assert [frame["session_id"] for frame in told[::2]] == [frame["session_id"] for frame in told[1::2]]
    reasons = [frame["reason"] for frame in told[1::2]]
    assert reasons == ["session_switch"] * (len(ids) - 1) + ["shutdown"]


def words(count: int) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[number % 2], "content": [{"type": "text", "text": f"text {number}"}]}
        for number in range(count)
    ]


def test_each_compaction_that_the_client_asks_for_begins_and_ends(tmp_path: Path):
    def compact(client: RpcClient) -> None:
        client.ask("compact")
        client.until("done")

    def script(client: RpcClient) -> None:
        compact(client)
        client.ask("set_messages", messages=words(6))
        compact(client)
        compact(client)

    model = ScriptedModel(says("So."), fails("server", "broken", 500))
    told = heard(tmp_path, model, script, "pre_compact", "post_compact")
    for before, after in zip(told[::2], told[1::2], strict=True):
        assert (before["event"], after["event"]) == ("pre_compact", "post_compact")
        assert before["compaction_id"] == after["compaction_id"]
    empty = "nothing to compact: the conversation is empty"
    assert [
        (before["message_count"], after["message_count"], after["status"], after.get("error"))
        for before, after in zip(told[::2], told[1::2], strict=True)
    ] == [(0, 0, "failed", empty), (6, 5, "completed", None), (5, 5, "failed", "broken")]
    assert (told[0]["token_estimate"], told[2]["token_estimate"]) == (0, 6 * len("text 0") // 4)


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="


def test_each_prompt_of_the_client_is_told_once_when_it_is_accepted(tmp_path: Path):
    """Also one that never runs. No guard has judged it."""
    image = {"mime_type": "image/png", "data": PNG}
    may_end: list[bool] = []

    def script(client: RpcClient) -> None:
        client.send("prompt", message="first")
        client.until("turn_start")
        client.ask("prompt", message="", images=[image, image])
        never = client.ask("prompt", message="never")["data"]["prompt"]
        client.ask("compact")
        assert client.ask("steer", message="and this")["success"]
        client.ask("abort", prompt=never)
        assert not client.ask("prompt", message=" ")["success"]
        may_end.append(True)
        for number in ("p1", "p2", "p3", "p4"):
            client.until("done", prompt=number)
        client.prompt("last")

    model = ScriptedModel(says("A."), otherwise=says("B."))
    model.may_reply = lambda _number: bool(may_end)
    told = heard(tmp_path, model, script, "user_prompt_submit", "user_prompt")
    assert [
        (frame.get("text"), frame.get("queued"), frame.get("image_count"))
        for frame in told
        if frame["event"] == "user_prompt_submit"
    ] == [
        ("first", None, None),
        (None, True, 2),
        ("never", True, None),
        ("and this", True, None),
        ("last", None, None),
    ]
    assert [frame["event"] for frame in told][:3] == ["user_prompt_submit", "user_prompt", "user_prompt_submit"]


def test_prompts_that_come_before_extensions_are_up_are_told_to_them(tmp_path: Path):
    def script(client: RpcClient) -> None:
        for message in ("one", "two"):
            client.send("prompt", message=message)
        client.until("done", prompt="p2")

    told = heard(tmp_path, ScriptedModel(otherwise=says("A.")), script, "user_prompt_submit")
    assert [(frame["text"], frame.get("queued")) for frame in told] == [("one", None), ("two", True)]
