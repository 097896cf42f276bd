"""An extension of the SDK under the real supervisor."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from supervisor.discovery.found_extension import FoundExtension, Scope
from tests.support.host import Host
from wire.frames import Event, Raw
from wire.manifest import parse_manifest

ROOT = Path(__file__).parents[2]
SOURCE = """
from zotext import *
ext = Extension("sample", "1.0.0")

@ext.tool(read_only=True, timeout_s=120)
def weather(city: str, days: int = 1, *, ctx: ToolContext) -> Result:
    "Tell the weather."
    print("not for the host")
    ctx.progress("looking")
    ext.log("asked", city=city)
    ext.notify("success", f"looked up {city}")
    return Result([f"{city}: {days} sunny days", Image(b"GIF89a")])

@ext.tool
def broken() -> None:
    raise ValueError("boom")

@ext.tool(timeout_s=1)
def slow(ctx: ToolContext) -> None:
    if ctx.wait(120):
        ext.notify("warn", "nobody waits: " + ctx.reason)

@ext.intercept_tool_call(tools=["read"])
def guard(call: ToolCall) -> RewriteArgs | Block:
    return rewrite_args({"path": "b"}) if call.args["path"] == "a" else block("not that")

@ext.intercept_tool_call(tools=["write"])
def careless(call: ToolCall) -> None:
    raise KeyError(call.name)

@ext.on("turn_end")
def ended(event: Event) -> None:
    (ext.host.data_dir if ext.host.features else ext.host.extension_dir).joinpath("ended").write_text(event.stop)
    ext.notify("info", "turn_end " + event.stop)

ext.run()
"""


@pytest.fixture
def host(tmp_path: Path):
    (tmp_path / "main.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{SOURCE}")
    manifest = b'{"name": "sample", "exec": "%s", "args": ["main.py"], "watchdog_s": 0.2}'
    with Host(tmp_path) as supervised:
        text = manifest % os.fsencode(sys.executable)
        supervised.found.append(FoundExtension(tmp_path, parse_manifest(text), Scope.EXPLICIT, 0))
        supervised.start()
        yield supervised


def test_an_extension_of_the_sdk_runs_under_the_real_supervisor(host: Host):
    assert host.tools() == {"weather", "broken", "slow"}
    answer = host.call("weather", city="Oslo", days=2)
    assert answer.frame is not None
    assert answer.frame.content is not None
    assert [block.type for block in answer.frame.content] == ["text", "image"]
    assert host.text("weather", city="Oslo").startswith("Oslo: 1 sunny days")
    broken = host.call("broken").frame
    assert broken is not None
    assert broken.content is not None
    assert (broken.is_error, broken.content[0].text) == (True, "ValueError: boom")
    assert host.ask().args == b'{"path":"b"}'
    assert host.ask(tool_args=Raw(b'{"path": "c"}')).reason == "not that"
    assert host.ask(tool_name="write").reason == "guard 'careless' failed: KeyError: 'write'"
    late = host.call("slow")
    assert late.frame is None
    host.until(lambda: any(text.startswith("nobody waits: ") for _, _, text in host.notes))
    host.supervisor.tell(Event("turn_end", stop="end_turn"))
    host.until(lambda: ("sample", "info", "turn_end end_turn") in host.notes)
    assert ("sample", "success", "looked up Oslo") in host.notes
    host.stop()
    assert [kind for kind, _ in host.said_of("sample")] == ["warning"]  # of the slow tool
    log = host.log("sample")
    for text in ("not for the host", "asked", "ValueError: boom", "ended: exit 0"):
        assert text in log
    cost = host.cost("sample")
    assert (cost.errors, cost.timeouts, cost.junk_lines) == (1, 1, 0)
