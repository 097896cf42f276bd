"""A run whose extension has deferred tools, structured results, and a tool that waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.abort import Abort
from agent.run import compaction
from agent.sessions.choice import open_session
from agent.transcript import Message, Text, ToolResult, now
from tests.support.faulty_run import observe, program
from tests.support.scripted_engine import engine_of
from tests.support.scripted_model import says
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from agent.engine.engine import Engine

LOADER = """
send(type="hello", name="x")
send(type="register_tool", name="load")
send(type="register_tool", name="weather", deferred=True, output_schema={"type": "object"})
send(type="register_tool", name="ask_user", interactive=True)
send(type="ready")
for frame in frames():
    more = {"activate_tools": ["weather"]} if frame["name"] == "load" else {"structured_content": {"degrees": 20}}
    send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": frame["name"]}], **more)
"""


def test_the_model_is_offered_a_deferred_tool_from_the_request_after_its_activation(tmp_path: Path):
    loader = program(tmp_path, "x", LOADER)
    seen = observe(tmp_path, loader, batches=[[("weather", {})], [("load", {})], [("weather", {})]])
    assert ["weather" in seen.offered(turn) for turn in (1, 2, 3, 4)] == [False, False, True, True]
    why = 'unknown tool "weather": extension x has it deferred; a call of its loader offers it'
    assert seen.answer_of("t1.0") == (why, True)
    assert seen.answer_of("t3.0") == ("weather", False)
    assert seen.lines_about("x") == []


def test_readers_get_structured_content_and_the_model_does_not(tmp_path: Path):
    loader = program(tmp_path, "x", LOADER)
    seen = observe(tmp_path, loader, batches=[[("load", {})], [("weather", {})]])
    result = next(record for record in seen.records if isinstance(record, events.ToolResult) and record.id == "t2.0")
    assert bytes(result.structured_content) == b'{"degrees": 20}'
    assert "degrees" not in str(seen.requests)


REDACTS = """
hello(intercept=["tool_result"])
send(type="ready")
for frame in frames():
    send(type="event_intercept_response", id=frame["id"],
         modified_result={"content": [{"type": "text", "text": "[redacted]"}]})
"""


def test_a_result_that_a_guard_has_replaced_has_no_structured_content(tmp_path: Path):
    extensions = program(tmp_path, "x", LOADER), program(tmp_path, "guard", REDACTS)
    seen = observe(tmp_path, *extensions, batches=[[("load", {})], [("weather", {})]])
    assert seen.answer_of("t2.0") == ("[redacted]", False)
    assert "degrees" not in str(seen.records)


def test_a_headless_run_refuses_a_call_that_waits_for_a_person(tmp_path: Path):
    seen = observe(tmp_path, program(tmp_path, "x", LOADER), batches=[[("ask_user", {})]])
    text, is_error = seen.answer_of("t1.0")
    assert (text.partition(",")[0], is_error) == ("ask_user of extension x failed: it waits for a person", True)
    assert seen.result.status == "ok"


def test_a_new_conversation_has_no_active_tools_and_the_old_one_keeps_no_structure(tmp_path: Path):
    loader = program(tmp_path, "x", LOADER)
    replies = says("", ("t1", "load", {})), says("", ("t2", "weather", {})), says("One."), says("Two."), says("Three.")
    with engine_of(
        *replies, cwd=tmp_path, home=tmp_path / "home", records=[], extensions=(str(loader),), discover=False
    ) as engine:
        engine.prompt("first", Abort())
        results = [
            block
            for message in engine.conversation.transcript
            for block in message.content
            if isinstance(block, ToolResult)
        ]
        engine.prompt("second", Abort())
        engine.session.begin()
        engine.prompt("third", Abort())
        asked = engine._provided.provider.asked
    offered = ["weather" in {tool["name"] for tool in request["tools"]} for request in asked]
    assert offered == [False, True, True, True, False]
    assert [result.structured for result in results] == [b"", b""]


def asked_of(engine: Engine) -> list[dict[str, Any]]:
    return engine._provided.provider.asked


def offered(engine: Engine) -> list[bool]:
    """Whether each request has offered the deferred tool."""
    return ["weather" in {tool["name"] for tool in request.get("tools", ())} for request in asked_of(engine)]


def test_a_resumed_session_offers_the_tools_that_it_has_activated(tmp_path: Path):
    loader = str(program(tmp_path, "x", LOADER))
    home = tmp_path / "home"
    place: dict[str, Any] = {"cwd": tmp_path, "home": home, "records": [], "extensions": (loader,), "discover": False}
    first = says("", ("t1", "load", {})), says("One."), says("Two."), says("Three."), says("Summary."), says("Four.")
    with engine_of(*first, **place) as engine:
        engine.prompt("first", Abort())
        path = engine.conversation.path
        engine.session.begin()
        engine.prompt("second", Abort())
        engine.session.resume(path)
        engine.prompt("third", Abort())
        for _ in range(compaction.KEPT):  # its messages hide the result that has activated the tool
            engine.conversation.append(Message("user", (Text("filler"),), now()))
        assert engine.compact(Abort()).status is Status.OK
        engine.prompt("fourth", Abort())
    assert offered(engine) == [False, True, False, True, False, True], "the fifth asks for the summary"
    opened = open_session(path, home=home, cwd=str(tmp_path), fork=False)
    with engine_of(says("Five."), session=opened, **place) as engine:
        engine.prompt("fifth", Abort())
    assert offered(engine) == [True], "also after a compaction, in another process"
