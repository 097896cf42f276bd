"""Extensions of both SDKs in whole runs, with what zot has learned."""

from __future__ import annotations

import json
import re
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import folder
from tests.support.extension_scripts import PATIENT
from tests.support.messages_server import text_reply, tool_reply
from tests.support.sdk_program import PRELUDE, PYTHON
from wire.events import PanelOpen, ToolCall, ToolResult, UserMessage
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SOURCES = {
    "python": """
import sys
sys.path.insert(0, ROOT)
from zotext import AgentStart, Event, Extension, Result, Text

ext = Extension("helper", late_prompts=True)
late = []

@ext.intercept_before_agent_start
def prompt(start: AgentStart) -> str:
    return f"{start.system_prompt[:3]}... for {start.model} in {start.cwd}"

@ext.on("session_start")
@ext.on("tool_result")
@ext.on("session_end")
def told(event: Event) -> None:
    ext.log(f"{event.name} {event.tool_name} {event.status} {event.reason}", sequence=event.sequence,
            cwd=event.cwd, session=event.session_id)

@ext.tool
def measure(path: str) -> str:
    result = ext.call_tool("read", {"path": path})
    return f"error: {result.text}" if result.is_error else f"{len(result.text)} characters"

@ext.tool
async def wait() -> str:
    return (await ext.call_tool_async("bash", {"command": "sleep 600"})).text

@ext.tool
def itself() -> str:
    return ext.call_tool("itself").text

SIZE = {"type": "object", "properties": {"bytes": {"type": "integer"}}}

@ext.tool(deferred=True, output_schema=SIZE)
def size(text: str) -> dict:
    return {"bytes": len(text)}

@ext.tool
def offer() -> Result:
    return Result(Text("*size* is there", markdown=True), activate=["size", "bash"])

@ext.command
def follow(text: str) -> None:
    ext.submit(text)
    ext.open_panel("p", ["one"], title="A panel")
    late.append("and later?")

@ext.on("idle")
def idle() -> None:
    if late:
        ext.submit(late.pop())

@ext.command
def show(path: str) -> str:
    return ext.call_tool("read", {"path": path}).text

ext.run()
""",
    "typescript": """
import { extension, text } from SDK;

const ext = extension('helper', '1.0.0', { latePrompts: true });
const late = [];
ext.interceptBeforeAgentStart(({ systemPrompt, model, cwd }) =>
  `${systemPrompt.slice(0, 3)}... for ${model} in ${cwd}`);
const told = ({ event, toolName = '', status = '', reason = '', sequence, cwd, sessionId: session }) =>
  ext.log('info', `${event} ${toolName} ${status} ${reason}`, { sequence, cwd, session });
ext.on('session_start', told).on('tool_result', told).on('session_end', told);
ext.tool('measure', {}, async ({ path }) => {
  const { text, isError } = await ext.callTool('read', { path });
  return isError ? `error: ${text}` : `${text.length} characters`;
});
ext.tool('wait', {}, async () => (await ext.callTool('bash', { command: 'sleep 600' })).text);
ext.tool('itself', {}, async () => (await ext.callTool('itself')).text);
const outputSchema = { type: 'object', properties: { bytes: { type: 'integer' } } };
ext.tool('size', { deferred: true, outputSchema }, ({ text }) => ({ bytes: text.length }));
ext.tool('offer', {}, () => ({ content: [text('*size* is there', { markdown: true })], activate: ['size', 'bash'] }));
ext.command('follow', '', async (prompt) => {
  await ext.submit(prompt);
  await ext.openPanel('p', { lines: ['one'], title: 'A panel' });
  late.push('and later?');
});
ext.on('idle', () => late.length > 0 && ext.submit(late.pop()));
ext.command('show', '', async (path) => (await ext.callTool('read', { path })).text);
await ext.run();
""",
}
SDKS = ["python", pytest.param("typescript", marks=pytest.mark.skipif(not shutil.which("node"), reason="no node"))]


@pytest.fixture(params=SDKS)
def helper(request: Any, tmp_path: Path) -> Callable[..., Path]:
    """Makes the extension `helper` of one SDK, with this manifest."""
    language = request.param

    def make(**manifest: Any) -> Path:
        index = (ROOT / "sdk" / "typescript" / "dist" / "index.js").as_uri()
        code = SOURCES[language].replace("ROOT", repr(str(ROOT))).replace("SDK", json.dumps(index))
        source = tmp_path / ("main.py" if language == "python" else "main.mjs")
        source.write_text(code)
        run = PYTHON if language == "python" else ["node"]
        return folder(tmp_path, "helper", [*run, str(source)], **{"timeouts": PATIENT, **manifest})

    return make


TOLD = re.compile(r"(\w+(?: \w+)*) +sequence=(\d+) cwd=(\S+) session=(\S+)")


GUARD = """
@ext.intercept_tool_call(tools=["read"])
def guard(call: ToolCall) -> Block:
    return block("not that file")
ext.run()
"""


def told(zot: Any) -> list[tuple[str, ...]]:
    """The events in its log: each with its number, the folder and the session."""
    found = TOLD.findall((zot.home / "logs" / "ext-helper.log").read_text())
    return [tuple(" ".join(part.split()) for part in row) for row in found]


def run(zot: Any, server: Any, *args: Any, prompt: str = "go") -> Any:
    flags = ("--json", "--base-url", server.base_url, "-m", "claude-haiku-4-5")
    return zot.run(*flags, *args, prompt, env={"ANTHROPIC_API_KEY": "sk-ant"})


def test_a_guard_of_the_system_prompt_and_observers(zot, server, helper):
    server.add(tool_reply([("bash", {"command": "true"})]), text_reply("Done."))
    outcome = run(zot, server, "-e", helper()).check(Status.OK)
    systems = ["".join(block["text"] for block in asked.body["system"]) for asked in server.requests]
    assert systems == [f"You... for claude-haiku-4-5 in {zot.cwd}"] * 2
    (said,) = [line for line in outcome.warnings if "replaced the system prompt" in line]
    assert said.startswith("zot: extension helper: replaced the system prompt (")
    assert [(event, int(number) > 0, cwd) for event, number, cwd, _ in told(zot)] == [
        ("session_start", True, str(zot.cwd)),
        ("tool_result bash completed", True, str(zot.cwd)),
        ("session_end shutdown", True, str(zot.cwd)),
    ]
    numbers, sessions = [int(row[1]) for row in told(zot)], {row[3] for row in told(zot)}
    assert (numbers, sessions) == (sorted(set(numbers)), {outcome.records[0].id})


def test_a_tool_calls_tools_of_the_agent_under_all_guards(zot, server, helper):
    (zot.cwd / "a.txt").write_text("0123456789\n")
    server.add(tool_reply([("measure", {"path": "a.txt"}), ("itself", {})]), text_reply("Done."))
    outcome = run(zot, server, "-e", helper()).check(Status.OK)
    measured, of_itself = outcome.tool_texts()[-2:]
    assert measured == "11 characters"
    assert of_itself == "it is its own tool; an extension calls only tools of others"
    (nested,) = [record for record in outcome.of(ToolCall) if record.name == "read"]
    assert (nested.origin_extension, bytes(nested.args)) == ("helper", b'{"path":"a.txt"}')


def test_a_guard_judges_the_calls_of_an_extension_too(zot, server, helper):
    guard = folder(zot.folder, "guard", [*PYTHON, str(zot.folder / "guard.py")], timeouts=PATIENT)
    (zot.folder / "guard.py").write_text(PRELUDE.replace('"child"', '"guard"') + GUARD)
    (zot.cwd / "a.txt").write_text("0123456789\n")
    server.add(tool_reply([("measure", {"path": "a.txt"})]), text_reply("Done."))
    outcome = run(zot, server, "-e", helper(), "-e", guard).check(Status.OK)
    assert outcome.tool_texts()[-1] == "error: refused by the guard guard: not that file"


def test_a_command_calls_a_tool(zot, helper):
    (zot.cwd / "a.txt").write_text("0123456789\n")
    outcome = zot.run("-p", "-e", helper(), "/show a.txt")
    assert (outcome.status, outcome.text) == (0, "0123456789\n\n")


def test_a_run_that_ends_ends_the_calls_of_its_extensions(zot, server, helper):
    server.add(tool_reply([("wait", {})]))
    flags = ("--json", "--base-url", server.base_url, "-m", "claude-haiku-4-5")
    with zot.start(*flags, "-e", helper(), "go", env={"ANTHROPIC_API_KEY": "sk-ant"}) as process:
        process.wait_for(ToolCall, name="bash")
        process.signal(signal.SIGINT)
        outcome = process.finish().check(Status.INTERRUPTED)
    assert [record.is_error for record in outcome.of(ToolResult)] == [True, True]
    assert outcome.result.extensions["helper"].exit_status == "exit 0"


def test_a_deferred_tool_is_offered_once_a_result_names_it(zot, server, helper):
    server.add(tool_reply([("offer", {})]), tool_reply([("size", {"text": "abc"})]), text_reply("Done."))
    outcome = run(zot, server, "-e", helper()).check(Status.OK)
    offered = [["size" in {tool["name"] for tool in asked.body["tools"]}] for asked in server.requests]
    assert offered == [[False], [True], [True]]
    assert [json.loads(text) if text[0] == "{" else text for text in outcome.tool_texts()] == [
        "*size* is there", {"bytes": 3}
    ]  # fmt: skip
    assert bytes(outcome.of(ToolResult)[1].structured_content) == b'{"bytes":3}'
    (said,) = [line for line in outcome.warnings if "activates" in line]
    assert said == "zot: extension helper: its tool 'offer' activates 'bash', not among its own tools; ignored"


def test_prompts_and_a_panel_at_any_time(zot, server, helper):
    server.add(text_reply("I follow."), text_reply("I follow again."))
    outcome = run(zot, server, "-e", helper(), prompt="/follow and then?").check(Status.OK, user_messages=2)
    sent = [(message.extension, message.content[0]) for message in outcome.of(UserMessage)]
    assert [(sender, block.text) for sender, block in sent] == [("helper", "and then?"), ("helper", "and later?")]
    (panel,) = outcome.of(PanelOpen)
    assert (panel.panel_id, panel.title, panel.lines) == ("p", "A panel", ("one",))
    assert "zot: extension helper sends prompt 2 of 10: and later?" in outcome.warnings
