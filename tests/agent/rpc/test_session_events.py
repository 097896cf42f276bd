"""What observers hear of sessions, prompts and compactions, where one server has several of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.faulty_run import program
from tests.support.rpc_client import RpcClient, serve
from tests.support.scripted_model import ScriptedModel, says

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
