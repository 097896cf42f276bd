"""Very large and odd input, and system calls that fail: the run names the fault and its files stay complete."""

from __future__ import annotations

import base64
import json

from tests.support.extension_folder import folder
from tests.support.messages_server import events_reply, message_events, text_reply, tool_block
from tests.support.replay_script import Script, ok
from tests.support.zot_process import check_transcript, rows
from wire.events import ImageContent, ToolResult
from wire.exit_codes import Status

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_huge_odd_prompt_and_an_unknown_model_are_passed_on(zot, server):
    """The prompt has 5 MB and a NUL; only the price of the model is unknown."""
    server.add(text_reply("Long."))
    prompt = "a\0b" + "0123456789" * 500_000
    (zot.folder / "prompt").write_text(prompt)
    flags = ["--base-url", server.base_url, "--model", "llama-99b"]
    with (zot.folder / "prompt").open("rb") as stdin:
        outcome = zot.run("--json", *flags, "-", stdin=stdin).check(Status.OK)
    body = server.requests[0].body
    assert body["messages"][0]["content"][0]["text"] == prompt
    assert outcome.records[1].content[0].text == prompt
    check_transcript(zot.session_rows())

    assert body["model"] == "llama-99b"
    assert outcome.result.cost_usd is None
    assert outcome.result.usage.cost_usd is None
    assert outcome.result.usage.input == 10
    assert outcome.stdout.count(b'"cost_usd":null') == outcome.stdout.count(b'"cost_usd"') == 1


def test_images_go_to_the_model_whole_and_to_the_reader_by_size(zot, server):
    (zot.cwd / "dot.png").write_bytes(PNG)
    data = base64.b64encode(PNG).decode()
    source = f"""
import json, sys
def send(**frame): print(json.dumps(frame), flush=True)
send(type="hello", name="eye")
send(type="register_tool", name="look", schema={{"type": "object"}})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        good = {{"type": "image", "mime_type": "image/png", "data": "{data}"}}
        send(type="tool_result", id=frame["id"], content=[good, {{**good, "data": "%%%"}}, {{"type": "\\x1b[1msmell"}}])
    elif frame["type"] == "shutdown":
        break
"""
    import sys

    eye = folder(zot.folder, "eye", [sys.executable, "-I", "-S", "-c", source])
    calls = [tool_block("read", '{"path": "dot.png"}'), tool_block("look", "{}")]
    server.add(events_reply(message_events(calls, stop_reason="tool_use")), text_reply("A dot."))
    outcome = zot.run("--json", "--base-url", server.base_url, "-e", eye, "go").check(Status.OK)
    shown = [part for result in outcome.of(ToolResult) for part in result.content if isinstance(part, ImageContent)]
    assert shown == [ImageContent("image/png", len(PNG))] * 2
    assert data not in outcome.text
    read, look = server.requests[1].body["messages"][2]["content"]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    assert image in read["content"]
    assert look["content"][0] == image
    assert "undecodable image" in look["content"][1]["text"]
    assert '[unknown block type "smell" from' in look["content"][2]["text"]
    assert look["is_error"] is True


def test_a_session_can_be_read_at_any_moment(zot):
    script = Script(zot.cwd).call(("bash", {"command": "true"}), results=[ok("$ true\n\n[exit 0]  Took 0.0s")])
    script.call(("bash", {"command": "cat ../home/sessions/*/*.jsonl > seen"}))
    zot.replay(script, "--max-steps", "2").check(Status.MAX_STEPS)
    seen = rows((zot.cwd / "seen").read_bytes())
    kinds = [row["message"]["role"] if row["type"] == "message" else row["type"] for row in seen]
    assert kinds == ["meta", "user", "usage", "assistant", "tool", "usage", "assistant"]


def test_parallel_runs_share_a_home(zot):
    flags = zot.replay_flags(Script(zot.cwd).answer("Hi"))
    running = [zot.start(*flags, "go") for _ in range(6)]
    outcomes = []
    for process in running:
        with process:
            outcomes.append(process.finish().check(Status.OK))
    files = zot.session_files()
    assert len(files) == len({outcome.result.session for outcome in outcomes}) == 6
    for path in files:
        check_transcript(rows(path.read_bytes()))


def test_each_flag_about_the_request_changes_the_request(zot, server):
    server.add(text_reply("Hi"))
    flags = ["--model", "claude-haiku-4-5", "--system-prompt", "Be brief.", "--append-system-prompt", "One.",
             "--append-system-prompt", "Two.", "--reasoning", "low", "--tools", "read,bash", "--no-skill"]  # fmt: skip
    zot.run("--json", "--base-url", server.base_url, *flags, "go").check(Status.OK)
    body = server.requests[0].body
    stable, changing = (block["text"] for block in body["system"])
    assert (stable, changing[:16]) == ("Be brief.\n\nOne.\n\nTwo.", "\n\nCurrent date: ")
    assert [tool["name"] for tool in body["tools"]] == ["bash", "read"]
    assert body["thinking"]["type"] == "enabled"
    assert body["max_tokens"] > body["thinking"]["budget_tokens"]


def test_without_tools_none_is_offered_and_without_a_session_none_is_kept(zot):
    script = Script(zot.cwd, tools=(), skills=False).answer("Hi")
    assert "tools" not in script.params()
    zot.replay(script, "--no-tools", "--no-skill", "--no-session").check(Status.OK)
    assert zot.session_files() == []


def test_text_of_the_model_passes_through_unchanged(zot):
    text = "\ufeffbom \x1b[31mred\x1b[0m \x07 bell\nline\u2028separator a\0b"
    outcome = zot.replay(Script(zot.cwd).answer(text)).check(Status.OK)
    assert outcome.result.text == text
    assert json.loads(outcome.stdout.splitlines()[-2])["text"] == text


def test_a_parent_that_ignores_sigpipe_changes_nothing(zot):
    flags = zot.replay_flags(Script(zot.cwd).call(("bash", {"command": "yes | head -n 1"})))
    shell = ["/bin/sh", "-c", 'trap "" PIPE; exec "$@"', "sh", *zot.command]
    outcome = zot.run(*flags, "--max-steps", "1", "go", command=shell).check(Status.MAX_STEPS)
    assert "\n\ny\n\n[exit 0]" in outcome.tool_texts()[0]
