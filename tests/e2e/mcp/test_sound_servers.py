"""Abilities of sound MCP servers, through a host, in both eras; and a call in each language."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.host import Host
from tests.support.mcp_servers import add_server

if TYPE_CHECKING:
    from supervisor.calls.command_call import CommandAnswer

TIMES = {"hello": 30, "ready": 30, "tool_call": 30}


@pytest.fixture(params=["legacy", "modern"])
def host(request, tmp_path):
    flags = f"--era {request.param} --instructions Count.twice. --pages 2"
    with Host(tmp_path) as host:
        add_server(host, "ref", f"reference.py {flags}", timeouts=TIMES)
        host.start()
        assert host.notices == [("ref", "started", "ready")]
        yield host


def tool(host: Host, name: str, /, **args: Any) -> str:
    return host.text(f"mcp__ref__{name}", **args)


def command(host: Host, name: str, args: str) -> CommandAnswer:
    answers: list[CommandAnswer] = []
    host.begin_command(name, args, answers.append)
    host.until(lambda: answers)
    return answers[0]


def test_results_and_instructions(host):
    assert host.extension("ref").instructions == "Count.twice."
    assert tool(host, "echo", text='q"\\ {}[], \n\té') == 'q"\\ {}[], \n\té'
    assert json.loads(tool(host, "add", a=1, b=2)) == {"sum": 3}
    assert json.loads(tool(host, "structured")) == {"answer": [1, 2, {"deep": None}]}
    assert tool(host, "nothing") == ""
    failed = host.call("mcp__ref__fail", text="no").frame
    assert (failed.is_error, failed.content[0].text) == (True, "no")
    refused = host.call("mcp__ref__refuse").frame
    assert refused.is_error
    assert "MCP error -32602: the arguments do not fit" in refused.content[0].text
    (picture,) = host.call("mcp__ref__picture", kind="png").frame.content
    assert (picture.type, picture.mime_type) == ("image", "image/png")
    links = tool(host, "links")
    assert "file:///notes.txt (notes, text/plain)" in links
    assert "a memo" in links
    assert "application/zip" in links
    assert "audio/wav" in links


def test_prompts_are_commands(host):
    assert set(host.supervisor.registrations.commands()) == {"mcp__ref__greet", "mcp__ref__rules"}
    greeting = command(host, "mcp__ref__greet", "Ada tone=warmly").frame
    assert greeting.prompt == "Greet Ada, warmly."
    rules = command(host, "mcp__ref__rules", "").frame
    assert rules.prompt.index("First rule.") < rules.prompt.index("Understood.") < rules.prompt.index("Second rule.")


def test_a_call_that_is_taken_back_is_cancelled(host):
    answers: list[Any] = []
    call = host.begin_call("mcp__ref__slow", b"{}", answers.append)
    call.cancel("not needed any more")
    host.until(lambda: json.loads(tool(host, "cancelled")))
    (cancelled,) = json.loads(tool(host, "cancelled"))
    assert isinstance(cancelled["id"], int)


def test_progress_and_log(host):
    assert tool(host, "progress", steps=3) == "3 steps"
    tool(host, "log", level="critical", data="fire")
    host.until(lambda: "fire" in host.log("ref"))


def test_the_list_of_tools_changes(host):
    tool(host, "grow", name="ivy")
    host.until(lambda: "mcp__ref__ivy" in host.tools())
    assert tool(host, "ivy") == "grown"


def test_questions_to_the_user_are_nobodys(tmp_path):
    with Host(tmp_path) as host:
        add_server(host, "ref", "reference.py", timeouts=TIMES)
        host.start()
        asked = json.loads(tool(host, "ask", method="elicitation/create", params={"message": "Which colour?"}))
        assert asked == {"result": {"action": "cancel"}}
        assert json.loads(tool(host, "ask", method="roots/list"))["error"]["code"] == -32601


def test_several_rounds_and_a_question_of_the_modern_era(tmp_path):
    with Host(tmp_path) as host:
        add_server(host, "ref", "reference.py --era modern", timeouts=TIMES)
        host.start()
        assert tool(host, "rounds", times=4) == "4 rounds"
        answer = host.call("mcp__ref__question").frame
        assert answer.is_error
        assert "Which colour?" in answer.content[0].text


def test_a_server_of_both_eras_that_sends_much_before_its_answer(tmp_path):
    with Host(tmp_path) as host:
        add_server(host, "ref", "reference.py --era both --early --pings 5000 --changes 3", timeouts=TIMES)
        host.start()
        assert tool(host, "pongs") == "5000"
        assert len(host.tools()) == 20


@pytest.mark.parametrize("file", ["reference.py", "reference.sh", "reference.js", "reference.c"])
def test_a_call_in_each_language(file, tmp_path, request):
    if file == "reference.js" and not shutil.which("node"):
        pytest.skip("no node here")
    with Host(tmp_path) as host:
        if file == "reference.c":
            host._add("ref", [str(request.getfixturevalue("compiled")("mcp/reference"))], {"dialect": "mcp"})
        else:
            add_server(host, "ref", file, timeouts=TIMES)
        host.start()
        for text in ("", 'q"\\ {}[], \n\té', "x" * 200_000):
            assert tool(host, "echo", text=text) == text
        host.stop()
        assert host.cost("ref").exit_status == "exit 0"
