"""The files of a sent prompt: read by the file tools, under the guards of `read`."""

from __future__ import annotations

import pytest

from tests.support.pictures import png
from tests.support.scripted_model import says
from wire import events

SENDS = """\
hello()
want("SendPrompt", text={text!r}, files={files!r})
for _ in heard(): pass
"""
GUARD = """\
hello(intercept=["tool_call", "tool_result"])
for kind, host in heard():
    if kind == "ask":
        block = {"block": "not that one"} if ".env" in json.dumps(host.get("tool_args")) else {}
        say("verdict", id=host["id"], **block, **({"context": "checked"} if host["event"] == "tool_result" else {}))
"""


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    (made / "src").mkdir(parents=True)
    (made / "src" / "a.txt").write_text("alpha\n")
    (made / ".env").write_text("SECRET=1\n")
    return made


def sent(ran):
    return [
        part["text"] if part["type"] == "text" else part["type"]
        for part in ran.model.asked[1]["messages"][-1]["content"]
    ]


def sends(*files, text="look"):
    return {"sender": SENDS.format(text=text, files=list(files))}


def test_the_text_of_each_file_stands_behind_the_prompt_under_its_name(run, project):
    files = ("src/a.txt", str(project / "src" / "a.txt"))
    ran = run(says("One."), says("Two."), programs=sends(*files))
    assert sent(ran) == ["look", "[file src/a.txt]\nalpha\n", f"[file {files[1]}]\nalpha\n"]
    (_, message) = ran.of(events.UserMessage)
    assert [part.text for part in message.content] == sent(ran)
    assert ran.of(events.ToolCall) == []


def test_an_image_is_an_image(run, project):
    (project / "dot.png").write_bytes(png(2, 2))
    ran = run(says("One."), says("Two."), programs=sends("dot.png", text=""))
    name, image = sent(ran)[-2:]
    assert name.startswith("[file dot.png]")
    assert image == "image"


def test_what_cannot_be_read_says_so_in_its_place_and_the_prompt_runs(run, project):
    ran = run(says("One."), says("Two."), programs=sends("none.txt", "src", "src/a.txt"))
    missing, folder, file = sent(ran)[1:]
    assert missing.startswith("[file none.txt: not read: ")
    assert folder == f"[file src: not read: {project / 'src'} is a directory]"
    assert file.endswith("alpha\n")
    assert ran.result.sent[0].status == "ok"


def test_guards_of_read_judge_each_file_and_what_is_in_it(run, project):
    ran = run(says("One."), says("Two."), programs={"guard": GUARD, **sends(".env", "src/a.txt")})
    assert sent(ran)[1:] == ["[file .env: not read: not that one\nchecked]", "[file src/a.txt]\nalpha\n\nchecked"]


def test_without_the_tool_read_no_file_is_read_nor_an_extension_asked_that_has_one_of_that_name(run, project):
    reader = 'hello(tools=["read"])\nfor kind, _ in heard():\n    if kind == "call": say("note", text=\'"asked"\')\n'
    programs = {"reader": reader, **sends("src/a.txt")}
    ran = run(says("One."), says("Two."), programs=programs, tools=frozenset({"bash"}))
    assert sent(ran)[1:] == ["[file src/a.txt: not read: the tool read is off in this run]"]
    assert ran.notes == []


def test_a_prompt_that_a_guard_blocks_reads_no_file(run, project):
    guard = """\
hello(intercept=["user_prompt", "tool_call"])
for kind, host in heard():
    if kind == "ask":
        if host["event"] == "tool_call": say("note", text='"asked about a file"')
        say("verdict", id=host["id"], **({"block": "no"} if host.get("sender") else {}))
"""
    ran = run(says("One."), programs={"guard": guard, **sends("src/a.txt")})
    assert ran.result.sent[0].status == "blocked"
    assert ran.notes == []
