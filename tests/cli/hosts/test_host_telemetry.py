"""`zot host --otel` and `zot mcp serve --otel` with a collector, and without the extra."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.otlp_receiver import OtlpReceiver, answers
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).parents[3]
EXTENSION = """
import json, os, sys
def send(**frame):
    print(json.dumps(frame), flush=True)
send(type="hello", name="said")
send(type="register_tool", name="context", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        said = json.dumps([os.environ.get("TRACEPARENT"), frame.get("traceparent")])
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": said}])
    elif frame["type"] == "shutdown":
        break
"""


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    folder = tmp_path / "said"
    folder.mkdir()
    (folder / "said.py").write_text(EXTENSION)
    (folder / "extension.json").write_text(json.dumps({"name": "said", "exec": "python3", "args": ["said.py"]}))
    return folder


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACE"))}
    return {**kept, "ZOT_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}


def zot(*words: object) -> list[str]:
    return [sys.executable, "-m", "pyzot", *map(str, words)]


def serve(extension: Path, environ: dict[str, str], *lines: object) -> tuple[list[dict], str]:
    """Runs `zot mcp serve --otel` with these messages. Returns its answers and its stderr."""
    hello = {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    said = "".join(
        json.dumps(line) + "\n" for line in (hello, {"jsonrpc": "2.0", "method": "notifications/initialized"}, *lines)
    )
    command = zot("mcp", "serve", "--otel", "--no-ext", "-e", extension)
    done = subprocess.run(
        command, input=said, env=environ, cwd=extension, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "context", "arguments": {}}}


def test_a_served_call_has_spans_that_its_extension_goes_on_with(extension, environ):
    with OtlpReceiver() as receiver:
        answered, stderr = serve(extension, {**environ, **receiver.environment}, CALL)
    assert "otel" not in stderr
    assert sorted(receiver.tree(), key=str) == ["execute_tool context", "start extension said"]
    start, execute = receiver.one("start extension said"), receiver.one("execute_tool context")
    (text,) = [each["result"]["content"][0]["text"] for each in answered if each["id"] == 1]
    of_start, of_call = json.loads(text)
    assert of_start == f"00-{start.trace_id}-{start.span_id}-01"
    assert of_call == f"00-{execute.trace_id}-{execute.span_id}-01"
    said = (("zot.extension.name", "said"),)
    assert receiver.values["zot.extension.calls"] == {said: 1}
    assert receiver.values["process.memory.usage"][said] > 2**20, "the figures are of the time before the end"
    assert receiver.values["process.cpu.time"].keys() == {said, ()}
    assert receiver.units["process.thread.count"] == "{thread}"


def test_traces_of_the_caller_go_on(extension, environ):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with OtlpReceiver() as receiver:
        serve(extension, {**environ, **receiver.environment, "TRACEPARENT": parent}, CALL)
    assert {(span.trace_id, span.parent_id) for span in receiver.spans} == {(parent[3:35], parent[36:52])}


def test_the_trace_of_an_mcp_client_goes_on(extension, environ):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    called = {**CALL, "params": {**CALL["params"], "_meta": {"traceparent": parent, "tracestate": "x=1"}}}
    bad = {**CALL, "id": 2, "params": {**CALL["params"], "_meta": {"traceparent": 5, "tracestate": []}}}
    with OtlpReceiver() as receiver:
        answered, _ = serve(extension, {**environ, **receiver.environment}, called, bad)
    assert len(answered) == 3
    below = [span for span in receiver.named("execute_tool context") if span.parent_id == parent[36:52]]
    assert [(span.trace_id, span.state) for span in below] == [(parent[3:35], "x=1")]
    assert len(receiver.named("execute_tool context")) == 2


def test_a_host_exports_and_tells_of_a_collector_that_refuses(extension, environ):
    quick = {"OTEL_BSP_SCHEDULE_DELAY": "10", "OTEL_METRICS_EXPORTER": "none"}
    with OtlpReceiver(answers(403)) as receiver:
        host = subprocess.Popen(
            zot("host", "--otel", "--no-ext", "-e", extension, "--no-trace"), cwd=extension,
            env={**environ, **receiver.environment, **quick}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert host.stderr is not None
        lines = []
        for line in host.stderr:
            lines.append(line)
            if "otel" in line:
                host.send_signal(signal.SIGTERM)
        assert host.wait(PATIENCE_S) == 0
        host.stderr.close()
    told = [line for line in lines if "otel" in line]
    assert len(told) == 1
    assert f"{receiver.address}/v1/traces: HTTP 403 Forbidden; check OTEL_EXPORTER_OTLP_HEADERS" in told[0]


def test_the_spans_of_a_host_that_is_killed_still_arrive_and_nothing_outlives_it(extension, environ):
    with OtlpReceiver() as receiver:
        host = subprocess.Popen(
            zot("host", "--otel", "--no-ext", "-e", extension, "--no-trace", "--log-level", "debug"), cwd=extension,
            env={**environ, **receiver.environment}, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert host.stderr is not None
        assert any("ready" in line for line in host.stderr)
        children = psutil.Process(host.pid).children(recursive=True)
        host.kill()
        host.wait()
        _, alive = psutil.wait_procs(children, PATIENCE_S)
        host.stderr.close()
        assert alive == []
        assert receiver.one("start extension said")


@pytest.mark.parametrize("command", [("host",), ("mcp", "serve")])
def test_without_the_extra_the_command_says_what_to_install(extension, environ, tmp_path, command):
    hidden = tmp_path / "hidden" / "opentelemetry"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").touch()
    environ["PYTHONPATH"] = f"{hidden.parent}{os.pathsep}{ROOT}"
    done = subprocess.run(
        zot(*command, "--otel", "--no-ext", "-e", extension), cwd=extension, env=environ, capture_output=True,
        text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--otel needs the SDK of OpenTelemetry: pip install 'pyzot[otel]'" in done.stderr
