"""What zot has learned, used by an extension in each SDK, in whole runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import folder
from tests.support.extension_scripts import PATIENT
from tests.support.messages_server import text_reply, tool_reply
from tests.support.sdk_program import PYTHON
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SOURCES = {
    "python": """
import sys
sys.path.insert(0, ROOT)
from zotext import AgentStart, Event, Extension

ext = Extension("helper")

@ext.intercept_before_agent_start
def prompt(start: AgentStart) -> str:
    return f"{start.system_prompt[:3]}... for {start.model} in {start.cwd}"

@ext.on("session_start")
@ext.on("tool_result")
@ext.on("session_end")
def told(event: Event) -> None:
    ext.log(f"{event.name} {event.tool_name} {event.status} {event.reason}", sequence=event.sequence,
            cwd=event.cwd, session=event.session_id)

ext.run()
""",
    "typescript": """
import { extension } from SDK;

const ext = extension('helper');
ext.interceptBeforeAgentStart(({ systemPrompt, model, cwd }) => `${systemPrompt.slice(0, 3)}... for ${model} in ${cwd}`);
const told = ({ event, toolName = '', status = '', reason = '', sequence, cwd, sessionId: session }) =>
  ext.log('info', `${event} ${toolName} ${status} ${reason}`, { sequence, cwd, session });
ext.on('session_start', told).on('tool_result', told).on('session_end', told);
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


def told(zot: Any) -> list[tuple[str, ...]]:
    """What its log has of each event: the event, its number, the folder, the session."""
    found = TOLD.findall((zot.home / "logs" / "ext-helper.log").read_text())
    return [tuple(" ".join(part.split()) for part in row) for row in found]


def run(zot: Any, server: Any, *args: Any) -> Any:
    flags = ("--json", "--base-url", server.base_url, "-m", "claude-haiku-4-5")
    return zot.run(*flags, *args, "go", env={"ANTHROPIC_API_KEY": "sk-ant"})


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
