"""The stdout of an extension of the Copilot CLI: messages and other text, before and after it joins."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec import Raw

from tests.fuzz.target import Target, without_folder
from tests.support.copilot_talk import Talk, dumped, tool
from wire import frames
from wire.dialects.base import UnsendableError
from wire.framing.content_length import add_header

CHUNK = 64 * 1024
CALLS = "session.tools.handlePendingToolCall"
RICH = {
    "textResultForLlm": "words",
    "resultType": "failure",
    "error": "why",
    "sessionLog": "a line",
    "binaryResultsForLlm": [{"data": "aGk=", "mimeType": "image/png", "type": "image", "description": "d"}],
    "toolTelemetry": {},
}
JOIN = {
    "sessionId": "s-1",
    "tools": [tool("t", skipPermission=True, isTerminal=True), {"name": "bash", "overridesBuiltInTool": True}],
    "commands": [{"name": "go", "description": "d"}],
    "hooks": True,
    "requestPermission": True,
    "requestUserInput": True,
    "requestedEnvironmentVariables": ["A"],
    "extensionInfo": {"zot": {"hooks": ["preToolUse", "sessionEnd"], "missing": ["A"]}},
}
EVENTS = (
    frames.Event("tool_call", tool_id="1", tool_name="bash", tool_args=Raw(b'{"command":"ls"}')),
    frames.Event("user_prompt", text="hi", files=["a"]),
    frames.Event("session_end", reason="complete"),
)
OUTPUTS: tuple[dict[str, Any], ...] = (
    {"permissionDecision": "ask", "permissionDecisionReason": "r", "modifiedArgs": {"command": "x"}},
    {"modifiedPrompt": "p", "additionalContext": "c"},
    {"sessionSummary": "s", "cleanupActions": ["a"]},
)


def request(number: int, method: str, **params: object) -> bytes:
    return add_header(dumped({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))


def answer(number: int, result: object) -> bytes:
    return add_header(dumped({"jsonrpc": "2.0", "id": number, "result": result}))


@without_folder
def output(data: bytes) -> None:
    """The host takes all output, and answers in whole messages."""
    talk = Talk()
    join, _, rest = data.partition(b"\0")
    talk.hear(join)
    session = talk.session
    if session.spoken and not session.trouble:
        talk.keep(session.ping("p1"))
        for number, event in enumerate(EVENTS):
            talk.keep(session.ask(f"h{number}", event))
            talk.keep(session.tell(event))
        with suppress(UnsendableError):  # it has taken the command back
            talk.keep(session.invoke("k1", "go", "now"))
        if session.claimed == ("t",):
            talk.call("c1")
    for at in range(0, len(rest), CHUNK):
        talk.hear(rest[at : at + CHUNK])
    talk.splitter.finish()


def some_output() -> list[bytes]:
    joins = [
        request(0, "connect") + request(1, "session.resume", **JOIN),
        request(0, "ping", message="m") + b"noise\n" + request(1, "session.resume", sessionId="s-1", tools=[tool("t")]),
    ]
    said = [
        request(2, CALLS, sessionId="s-1", requestId="c1", result="done"),
        request(2, CALLS, sessionId="s-1", requestId="c1", result=RICH),
        request(2, CALLS, sessionId="s-1", requestId="c1", error="boom"),
        request(3, "session.commands.handlePendingCommand", sessionId="s-1", requestId="k1"),
        request(4, "session.permissions.handlePendingPermissionRequest", requestId="x", result={"kind": "reject"}),
        request(5, "session.log", sessionId="s-1", message="m", level="warning", ephemeral=True),
        request(6, "session.send", sessionId="s-1", prompt="p", attachments=[{"type": "file", "path": "a"}]),
        request(7, "session.resume", **JOIN),
        b"Content-Length: 500\r\n\r\n{text}\n" + answer(1, None),
        b"".join(answer(number, {"output": output}) for number, output in enumerate(OUTPUTS, 2)),
    ]
    return [join + b"\0" + each for join in joins for each in said]


TARGETS = (Target("copilot_output", some_output, output, 100),)
