"""Functions of the client program as tools, guards, commands and observers, over a server in this process."""

from __future__ import annotations

import json

import pytest

from tests.support.extension_folder import extension
from tests.support.program_extension import CALL, ECHO, ProgramExtension, last_result, prompt, result_of, run
from tests.support.scripted_model import says

# --- what it can be -----------------------------------------------------------------------------------------


def guard(client, *, events=("tool_call",), name="mine", **manifest):
    return ProgramExtension(client, name, **manifest).guarding(*events).ready()


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        ({}, "up"),
        ({"block": True, "reason": "not here"}, "not here"),
        ({"modified_args": {"command": "echo down"}}, "down"),
    ],
)
def test_a_guard_allows_blocks_and_rewrites(verdict, told, tmp_path):
    def script(client):
        mine = guard(client)
        prompt(client)
        question = mine.next("event_intercept")
        assert (question["event"], question["tool_name"]) == ("tool_call", "bash")
        mine.verdict(question, **verdict)
        result = client.until("result")
        assert result["extensions"]["mine"]["blocks"] == int("block" in verdict)

    _, model = run(tmp_path, script, ECHO, says("Done."))
    assert told in result_of(model)


@pytest.mark.parametrize(("on_failure", "told"), [("allow", "up"), ("deny", "no answer within 0.05 s")])
def test_without_a_verdict_in_time_on_failure_decides(on_failure, told, tmp_path):
    def script(client):
        mine = guard(client, on_failure=on_failure, timeouts={"intercept": 0.05})
        for _ in range(5):  # a process would be ended after the third one
            prompt(client)
            late = mine.next("event_intercept")
            client.until("done")
        mine.verdict(late)
        stats = client.ask("ext_stats")["data"]["extensions"]["mine"]
        assert (stats["state"], stats["timeouts"]) == ("ready", 5)

    _, model = run(tmp_path, script, *[ECHO, says("Done.")] * 5)
    assert told in result_of(model)


def test_one_that_hangs_is_given_up_if_its_manifest_says_so(tmp_path):
    def script(client):
        guard(client, stall_after=2, on_failure="deny", timeouts={"intercept": 0.05})
        for _ in range(3):
            prompt(client)
            client.until("done")
        closed = [line for line in client.lines if line["type"] == "ext" and "closed" in line]
        assert "2 requests in a row without an answer" in closed[0]["closed"]
        refused = client.ask("ext", extension="mine", frame={"type": "ready"})
        assert "'mine' has ended: it hangs" in refused["error"]
        guard(client, events=()).next("hello_ack")  # it guards nothing more
        prompt(client)
        client.until("done")

    _, model = run(tmp_path, script, *[ECHO, says("Done.")] * 4)
    told = [asked["messages"][-1]["content"][0] for asked in model.asked[1::2]]
    assert ["up" in json.dumps(each) for each in told] == [False, False, False, True]


def test_prompts_and_answers_are_guarded(tmp_path):
    def script(client):
        mine = guard(client, events=("user_prompt", "assistant_message"))
        prompt(client, "secret")
        mine.verdict(mine.next("event_intercept"), replace_text="public")
        mine.verdict(mine.next("event_intercept"), replace_text="[hidden]")
        assert client.until("result")["text"] == "[hidden]"

    _, model = run(tmp_path, script, says("The answer."))
    assert "public" in json.dumps(model.asked[0]["messages"])


def test_a_command_notes_a_panel_and_observed_events(tmp_path):
    def script(client):
        mine = ProgramExtension(client)
        mine.say("register_command", name="hi", description="Greets.")
        mine.say("subscribe", events=["tool_call", "turn_end"])
        mine.ready()
        client.send("run_command", id=1, name="/hi", args="you")
        asked = mine.next("command_invoked")
        assert (asked["name"], asked["args"]) == ("hi", "you")
        mine.say("command_response", id=asked["id"], action="display", display="hi you")
        assert client.until("response", id=1)["data"] == {"extension": "mine", "action": "display", "text": "hi you"}
        client.send("run_command", id=2, name="hi")
        mine.say(
            "command_response",
            id=mine.next("command_invoked")["id"],
            action="open_panel",
            open_panel={"id": "p", "title": "T", "lines": ["one"]},
        )
        client.until("panel_open", extension="mine", lines=["one"])
        client.ask("panel_key", extension="mine", panel_id="p", key="up")
        client.ask("panel_resize", extension="mine", panel_id="p", width=80, height=24)
        got = [line["frame"]["type"] for line in client.lines if line["type"] == "ext"]
        assert got[-2:] == ["panel_key", "panel_resize"]
        mine.say("panel_render", panel_id="p", lines=["two"])
        client.until("panel_render", lines=["two"])
        mine.say("notify", level="info", message="here")
        client.until("ext_notify", extension="mine", message="here")
        mine.say("log", level="info", message="kept")
        prompt(client)
        assert [mine.next("event")["event"] for _ in range(3)] == ["tool_call", "turn_end", "turn_end"]
        client.until("done")
        mine.close()
        client.until("panel_close", extension="mine", panel_id="p")

    run(tmp_path, script, ECHO, says("Done."))
    assert "kept" in (tmp_path / "home" / "logs" / "ext-mine.log").read_text()


def test_an_abort_cancels_a_call(tmp_path):
    def script(client):
        mine = ProgramExtension(client).with_tool().ready()
        prompt(client)
        call = mine.next("tool_call")
        client.send("abort")
        cancelled = mine.next("cancel")
        assert cancelled["id"] == call["id"]
        assert client.until("result")["status"] == "interrupted"
        mine.result(call, "too late")
        assert client.ask("ext_stats")["data"]["extensions"]["mine"]["state"] == "ready"

    run(tmp_path, script, CALL)


# --- what it may do wrong -----------------------------------------------------------------------------------


def test_the_end_of_an_extension_fails_its_call_at_once_and_frees_its_name(tmp_path):
    def script(client):
        mine = guard(client, events=("user_prompt",), on_failure="deny").with_tool()
        prompt(client)
        mine.verdict(mine.next("event_intercept"))
        mine.next("tool_call")
        mine.close()
        assert mine.until_closed() == "its program has ended it"
        client.until("done")
        assert [tool for tool in client.ask("list_tools")["data"]["tools"] if tool["extension"]] == []
        gone = client.ask("ext", extension="mine", closed=True)
        assert "'mine' has ended: its program has ended it" in gone["error"]
        other = ProgramExtension(client, "other").with_tool().ready()  # the tool's name is free, too
        prompt(client)
        other.result(other.next("tool_call"), "2")
        client.until("done")
        again = ProgramExtension(client).with_tool("sub").ready()
        again.next("hello_ack")
        result = client.ask("ext_stats")["data"]["extensions"]["mine"]
        assert (result["state"], result["calls"]) == ("ready", 2)  # what it has cost before is kept

    served, model = run(tmp_path, script, CALL, says("Ended."), CALL, says("Two."))
    failed = model.asked[1]["messages"][-1]["content"][0]
    assert "its program has ended it" in json.dumps(failed)
    assert result_of(model) == "2"
    assert served.stderr == ""


def test_garbage_is_counted_and_harms_nobody(tmp_path):
    def script(client):
        mine = ProgramExtension(client).with_tool().ready()
        mine.next("hello_ack")
        for frame in ({}, {"type": 5}, {"type": "dance"}, {"type": "tool_result"}, {"type": "hello", "name": "x"}):
            client.send("ext", extension="mine", frame=frame)
        prompt(client)
        call = mine.next("tool_call")
        mine.say("tool_result", id=call["id"], content="no list")
        client.until("done")
        stats = client.ask("ext_stats")["data"]["extensions"]["mine"]
        assert (stats["state"], stats["junk_lines"]) == ("ready", 4)

    _, model = run(tmp_path, script, CALL, says("Done."))
    assert last_result(model)["is_error"]
    assert "content" in result_of(model)


@pytest.mark.parametrize("frame", [{"type": "hello"}, {"type": "hello", "name": ""}])
def test_a_faulty_hello_ends_it_with_a_reason(frame, tmp_path):
    def script(client):
        client.send("ext", extension="mine", frame=frame)
        assert "name" in client.until("ext", extension="mine")["closed"]
        ProgramExtension(client).ready().next("hello_ack")

    run(tmp_path, script)


def test_a_line_over_the_limit_fails_its_call_with_an_error(tmp_path):
    def script(client):
        mine = ProgramExtension(client).with_tool().ready()
        prompt(client)
        call = mine.next("tool_call")
        mine.result(call, "x" * (17 << 20))
        refused = client.until("response", command="ext")
        assert "over the limit of 16 MiB" in refused["error"]
        client.until("done")

    _, model = run(tmp_path, script, CALL, says("Done."))
    assert last_result(model)["is_error"]
    assert "is over the limit of" in result_of(model)


def test_a_frame_over_the_limit_of_its_kind_fails_its_call(tmp_path):
    def script(client):
        mine = ProgramExtension(client).with_tool().ready()
        prompt(client)
        mine.result(mine.next("tool_call"), "x" * (7 << 20))
        client.until("done")

    _, model = run(tmp_path, script, CALL, says("Done."))
    assert "over the limit of 6291456 bytes" in result_of(model)


@pytest.mark.parametrize(("on_failure", "told"), [("allow", "up"), ("deny", "closed the connection")])
def test_at_the_end_of_stdin_its_calls_fail_and_its_guards_have_crashed(on_failure, told, tmp_path):
    def script(client):
        mine = guard(client, on_failure=on_failure)
        prompt(client)
        mine.next("event_intercept")
        client.close_stdin()
        client.until("done")

    served, model = run(tmp_path, script, ECHO, says("Done."))
    assert told in result_of(model)
    assert [line["closed"] for line in served.lines if line["type"] == "ext" and "closed" in line] == [
        "the client program has closed the connection"
    ]


def test_an_answer_to_nothing_and_one_that_comes_twice_are_ignored(tmp_path):
    def script(client):
        mine = ProgramExtension(client).with_tool().ready()
        mine.result({"id": "99"}, "nobody asked")
        prompt(client)
        call = mine.next("tool_call")
        mine.result(call, "2")
        mine.result(call, "3")
        client.until("done")

    _, model = run(tmp_path, script, CALL, says("Done."))
    assert result_of(model) == "2"


# --- beside others ------------------------------------------------------------------------------------------


def test_two_of_the_program_and_a_process_are_asked_in_order(tmp_path):
    def script(client):
        second = guard(client, name="second")
        third = guard(client, name="third")
        prompt(client)
        second.verdict(second.next("event_intercept"), modified_args={"command": "echo a"})
        question = third.next("event_intercept")
        assert question["tool_args"] == {"command": "echo a"}
        third.verdict(question, modified_args={"command": "echo ab"})
        result = client.until("result")
        assert list(result["extensions"]) == ["echo", "second", "third"]
        assert [result["extensions"][name]["calls"] for name in ("echo", "second", "third")] == [1, 1, 1]
        for cost in (result["extensions"]["second"], client.ask("ext_stats")["data"]["extensions"]["second"]):
            assert cost["frames_in"] == 4
            assert cost["bytes_in"] > 0 < cost["bytes_out"]
            assert cost["p50_ms"] > 0
        stats = client.ask("ext_stats")["data"]["extensions"]
        assert (stats["second"]["in_client"], stats["second"]["pids"], stats["second"]["rss_bytes"]) == (True, [], 0)
        assert not stats["echo"]["in_client"]
        assert stats["echo"]["pids"]

    made = (str(extension(tmp_path, "echo")),)
    _, model = run(tmp_path, script, ECHO, says("Done."), extensions=made, extension_wait=30.0)
    assert "ab" in result_of(model)


def test_a_reload_keeps_it(tmp_path):
    def script(client):
        mine = ProgramExtension(client).with_tool().ready()
        mine.next("hello_ack")
        one = client.ask("reload_ext", name="mine")["data"]
        assert one["ready"] == ["mine"]
        assert [fault["name"] for fault in one["errors"]] == ["mine"]
        assert "only that program can restart it" in one["errors"][0]["reason"]
        every = client.ask("reload_ext")["data"]
        assert (every["stopped"], every["loaded"]) == (["echo"], ["echo"])
        prompt(client)
        mine.result(mine.next("tool_call"), "2")
        client.until("done")

    made = (str(extension(tmp_path, "echo")),)
    _, model = run(tmp_path, script, CALL, says("Done."), extensions=made, extension_wait=30.0)
    assert result_of(model) == "2"


def test_a_tool_of_another_name_holder_is_hidden(tmp_path):
    def script(client):
        ProgramExtension(client, "first").with_tool().ready()
        ProgramExtension(client, "second").with_tool().ready()
        client.send("list_tools")
        hidden = client.until("extension", extension="second", event="warning")
        assert "hidden: extension first has that name" in hidden["message"]

    run(tmp_path, script)


def test_the_number_of_names_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr("agent.rpc.program_extensions.EXTENSIONS_LIMIT", 2)

    def script(client):
        for name in ("a", "b"):
            ProgramExtension(client, name).ready().close()
        refused = client.ask("ext", extension="c", frame={"type": "hello", "name": "c"})
        assert "there were 2 names already" in refused["error"]
        ProgramExtension(client, "a").ready().next("hello_ack")

    run(tmp_path, script)
