"""An extension calls the agent's own tools through its host: in a run, and in rpc while no prompt runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.callers import argv_of, call, text_of
from tests.support.extension_folder import extension, folder
from tests.support.faulty_run import Observed, observe, program
from tests.support.pictures import png
from tests.support.rpc_client import serve
from tests.support.scripted_model import ScriptedModel, says
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=[False, True], ids=["python", "node"])
def node(request: pytest.FixtureRequest) -> bool:
    return request.param


def caller(place: Path, name: str = "caller", *tools: str, node: bool = False) -> Path:
    return folder(place, name, argv_of(place, name, *(tools or ("ask",)), node=node), timeouts={"tool_call": 60})


def got(seen: Observed, call_id: str = "t1.0") -> list[dict[str, Any]]:
    """The results that the caller has got."""
    text, is_error = seen.answer_of(call_id)
    assert not is_error, text
    return json.loads(text)


def texts(seen: Observed, call_id: str = "t1.0") -> dict[str, str]:
    return {each["id"]: text_of(each) for each in got(seen, call_id)}


def records(seen: Observed) -> list[tuple[str, str, str | None, str | None]]:
    """The records of calls and results: kind, id, extension of the tool and of the caller."""
    return [
        (record.__struct_config__.tag, record.id, record.extension or None, record.origin_extension or None)
        for record in seen.records
        if isinstance(record, events.ToolCall | events.ToolResult)
    ]


def test_it_gets_what_the_agents_tools_give_and_readers_see_that_it_has_called_them(tmp_path: Path, node: bool):
    say = [
        call("write", "w", path="a.txt", content="one\n"),
        call("read", "r", path="a.txt"),
        call("bash", "b", command="cat a.txt; exit 3"),
        call("edit", "e", path="a.txt", edits=[{"oldText": "one", "newText": "two"}]),
        call("echo", "x", text="hi"),
    ]
    seen = observe(tmp_path, caller(tmp_path, node=node), batches=[[("ask", {"say": [each]})] for each in say])
    assert seen.result.status == "ok"
    results = [got(seen, f"t{number}.0")[0] for number in range(1, 6)]
    assert [bool(each["is_error"]) for each in results] == [False, False, True, False, False]
    assert "one" in text_of(results[1])
    assert "one\n\n[exit 3]" in text_of(results[2])
    assert (tmp_path / "project" / "a.txt").read_text() == "two\n"
    assert text_of(results[4]) == "hi"
    assert [row for row in records(seen) if "/" in row[1]] == [
        row
        for number in range(1, 6)
        for row in (
            ("tool_call", f"t{number}.0/{number}", "echo" if number == 5 else None, "caller"),
            ("tool_result", f"t{number}.0/{number}", "echo" if number == 5 else None, "caller"),
        )
    ]
    assert seen.result.extensions["caller"].calls_made == 5
    said = [block for message in seen.requests[-1]["messages"] for block in message["content"]]
    uses = [block["id"] for block in said if isinstance(block, dict) and block["type"] == "tool_use"]
    assert uses == [f"t{number}.0" for number in range(1, 6)], "the conversation has the calls of the model alone"


def test_an_image_that_the_agent_reads_is_passed_on(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(png(8, 8))
    say = [call("read", path=str(tmp_path / "a.png"))]
    seen = observe(tmp_path, caller(tmp_path), batches=[[("ask", {"say": say})]])
    (result,) = got(seen)
    assert [block["type"] for block in result["content"]][-1] == "image"
    shown = seen.records[[getattr(record, "id", "") for record in seen.records].index("t1.0/1") + 1]
    assert isinstance(shown, events.ToolResult)
    assert isinstance(shown.content[-1], events.ImageContent)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (call("bask", command="true"), "no such tool: 'bask'; did you mean 'ask' or 'bash'?"),
        (call("read"), "path is required"),
        (call("bash", command=""), "command is required"),
        (call("skill", name="x"), 'skill: no skill named "x"'),
        (call("bash", command="true") | {"args": []}, "invalid args: must be a JSON object, not []"),
    ],
)
def test_a_faulty_call_of_a_tool_of_the_agent_is_an_error_for_the_extension(
    tmp_path: Path, said: dict[str, Any], why: str
):
    seen = observe(tmp_path, caller(tmp_path), batches=[[("ask", {"say": [said]})]])
    (result,) = got(seen)
    assert result["is_error"] is True
    assert why in text_of(result)


def test_a_guard_of_the_run_judges_it(tmp_path: Path):
    guard = program(
        tmp_path,
        "guard",
        """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    block = frame["tool_name"] == "bash"
    send(type="event_intercept_response", id=frame["id"], block=block, reason=f"no {frame.get('origin_extension')}")
""",
    )
    say = [call("bash", command="touch made")]
    seen = observe(tmp_path, guard, caller(tmp_path), batches=[[("ask", {"say": say})]])
    (result,) = got(seen)
    assert (text_of(result), result["is_error"]) == ("refused by the guard guard: no caller", True)
    assert not (tmp_path / "project" / "made").exists()
    assert "zot: guard refused bash for extension caller: no caller" in seen.stderr


def skill(place: Path, name: str, text: str) -> None:
    made = place / "home" / "skills" / name
    made.mkdir(parents=True)
    (made / "SKILL.md").write_text(text)


def test_a_skill_of_the_model_binds_the_extension_and_one_of_the_extension_binds_nobody(tmp_path: Path):
    skill(tmp_path, "narrow", "---\nname: narrow\ndescription: d\nallowed-tools: Read ask\n---\nRead only.\n")
    say = [call("skill", name="narrow")]
    batches = [
        [("ask", {"say": say})],
        [("ask", {"say": [call("bash", command="echo free")]})],
        [("skill", {"name": "narrow"})],
        [("ask", {"say": [call("bash", command="echo bound")]})],
    ]
    seen = observe(tmp_path, caller(tmp_path), batches=batches, user_skills=True)
    assert "Read only." in texts(seen)["c"]
    assert "free" in texts(seen, "t2.0")["c"]
    (bound,) = got(seen, "t4.0")
    assert bound["is_error"] is True
    assert "the skill narrow allows only" in text_of(bound)


def test_a_guard_of_errors_may_end_the_prompt_after_such_a_call(tmp_path: Path):
    guard = program(
        tmp_path,
        "guard",
        """
hello(intercept=["error"])
send(type="ready")
for frame in frames():
    send(type="event_intercept_response", id=frame["id"], error_handling="abort")
""",
    )
    say = [call("bash", command="exit 3")]
    seen = observe(tmp_path, guard, caller(tmp_path), batches=[[("ask", {"say": say})], [("ask", {"say": []})]])
    assert seen.result.status == Status.BLOCKED.value
    assert seen.result.reason.startswith("guard guard ends the prompt after an error of bash: ")
    assert len(seen.requests) == 1


def test_the_end_of_a_run_ends_the_command_that_an_extension_has_started(tmp_path: Path):
    say = [call("bash", command="echo up > up; sleep 600")]
    seen = observe(tmp_path, caller(tmp_path), batches=[[("ask", {"say": say})]], timeout=3.0)
    assert seen.result.status == Status.TIMEOUT.value
    assert seen.seconds < 30
    assert (tmp_path / "project" / "up").exists()
    ended = [record for record in seen.records if isinstance(record, events.ToolResult)]
    assert [(record.id, record.is_error) for record in ended] == [("t1.0/1", True), ("t1.0", True)]
    assert [part.text for part in ended[0].content if isinstance(part, events.TextContent)] == [
        "aborted: timeout: the run took longer than 3 s"
    ]


def test_calls_of_files_and_commands_run_beside_each_other(tmp_path: Path):
    say = [
        call("bash", "b", command="until [ -e go ]; do sleep 0.01; done; echo seen"),
        *(call("write", f"w{number}", path=f"f{number}", content=str(number)) for number in range(20)),
        call("write", "go", path="go", content=""),
    ]
    seen = observe(tmp_path, caller(tmp_path), batches=[[("ask", {"say": say})]])
    assert "seen" in texts(seen)["b"]
    assert [(tmp_path / "project" / f"f{number}").read_text() for number in range(20)] == [
        str(number) for number in range(20)
    ]


def test_in_rpc_it_may_call_tools_while_no_prompt_runs(tmp_path: Path):
    def script(client):
        client.ask("ping")
        client.until("extension", event="started", extension="caller")
        said = json.dumps({"say": [call("bash", parent=None, command="echo idle")]})
        answer = client.ask("run_command", name="go", args=said)["data"]
        (result,) = json.loads(answer["text"])
        assert "idle" in text_of(result)

    extensions = (str(caller(tmp_path)), str(extension(tmp_path, "echo")))
    served = serve(
        tmp_path, ScriptedModel(), script, extensions=extensions, extension_wait=30.0, tools=frozenset({"bash"})
    )
    made = [line for line in served.lines if line["type"] in ("tool_call", "tool_result")]
    assert [(line["type"], line["id"], line["origin_extension"]) for line in made] == [
        ("tool_call", "caller/1", "caller"), ("tool_result", "caller/1", "caller"),
    ]  # fmt: skip
    assert all("prompt" not in line for line in made)


def test_in_rpc_an_abort_of_the_prompt_ends_the_call(tmp_path: Path):
    def script(client):
        client.ask("ping")
        client.until("extension", event="started", extension="caller")
        client.send("prompt", message="go")
        client.until("tool_call", origin_extension="caller")
        client.ask("abort")
        ended = client.until("tool_result", origin_extension="caller")
        assert ended["is_error"] is True
        client.until("done")

    say = [call("bash", command="sleep 600")]
    served = serve(
        tmp_path, ScriptedModel(says("", ("t1", "ask", {"say": say}))), script, extensions=(str(caller(tmp_path)),),
        extension_wait=30.0, tools=frozenset({"bash"}),
    )  # fmt: skip
    (result,) = [line for line in served.lines if line["type"] == "tool_result" and "origin_extension" in line]
    assert result["content"][0]["text"].startswith("aborted: ")
