#!/usr/bin/env python3
"""Says every frame that an extension can say. It is one thread that answers line by line, so that the same conversation
always has the same order.
"""

import json
import sys

EVENTS = [
    "session_start", "user_prompt", "turn_start", "assistant_message", "tool_call", "tool_result", "turn_end", "error",
    "idle", "session_end", "user_prompt_submit", "tool_confirmation_requested", "permission_decision", "pre_compact",
    "post_compact", "subagent_start", "subagent_stop",
]  # fmt: skip
PANEL = {"id": "p", "title": "A panel", "lines": ["one", "two"], "footer": "q closes"}
RESPONSES = {
    "ask": {"action": "prompt", "prompt": "asked"},
    "put": {"action": "insert", "insert": "inserted"},
    "show": {"action": "display", "display": "shown"},
    "panel": {"action": "open_panel", "open_panel": PANEL},
    "plain-panel": {"action": "open_panel", "open_panel": {"id": "q"}},
    "quiet": {"action": "noop"},
    "odd": {"action": "display", "display": "", "prompt": None, "error": None},
    "fail": {"error": "it is broken"},
    "with-tool": {"action": "tool_prompt", "prompt": "push it", "tool_name": "skill", "tool_args": {"name": "commit"}},
}
OUTPUTS = {
    "session_start": {"additional_context": "it is Monday"},
    "error": {"error_handling": "retry", "retry_count": 2, "notification": "trying again"},
    "session_end": {"session_summary": "all is said"},
}
"""Answers about what has happened."""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
held = {}
called = {}
"""The calls of tools that wait for others, by the id of the `call_tool`."""
TO_A_SESSION = {"notify", "clear_notes", "submit", "call_tool", "open_panel", "panel_render", "panel_close"}
ANSWERS = {"tool_result", "tool_progress", "command_response", "event_intercept_response"}
NAMED_IN_ANSWERS = "second"
"""The session that answers name, too, as they may."""
now = {"session": ""}
"""The session of the frame that is handled."""


def send(kind, **fields):
    session = now["session"]
    if session and (kind in TO_A_SESSION or (kind in ANSWERS and session == NAMED_IN_ANSWERS)):
        fields["session_id"] = session
    print(json.dumps({"type": kind, **fields}, ensure_ascii=False), flush=True)


def text(said):
    return {"type": "text", "text": said}


def result(call_id, *content, **more):
    send("tool_result", id=call_id, content=list(content), **more)


def greet():
    capabilities = [
        "tools", "commands", "events", "panels", "cancel", "tool_cancel", "call_tool", "submit", "ping"
    ]  # fmt: skip
    send("hello", name="everything", version="1.0.0", capabilities=capabilities, features=["leases"])
    words = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    send("register_tool", name="echo", description="Say it again.", schema=words, read_only=True, timeout_s=20)
    send("register_tool", name="look", description="A picture.", idempotent=True, retry=True)
    send("register_tool", name="hold", description="Answer once another call lets it go.", schema={"type": "object"})
    send("register_tool", name="release", description="Let go.")
    send("register_tool", name="once", description="Takes itself back.")
    size = {"type": "object", "properties": {"bytes": {"type": "integer"}}}
    words_of_zot = {"namespace": "files", "namespace_description": "About.", "namespace_instructions": "Whole names."}
    send("register_tool", name="measure", deferred=True, exposure="deferred", output_schema=size, replay="safe",
         **words_of_zot)  # fmt: skip
    send("register_tool", name="offer", description="Offers another tool.")
    send("register_tool", name="wait", description="Answers when a person does.", interactive=True)
    send("register_tool", name="read-for", description="Has the host read a file.")
    for name in RESPONSES:
        send("register_command", name=name, description=f"Answers with {name}.")
    send("register_command", name="more")
    send("register_command", name="tell", description="Says something to its session, and takes it back.")
    send("register_command", name="unasked", description="Sends what may come at any time.")
    send("subscribe", events=EVENTS)
    send("subscribe", intercept=["user_prompt", "turn_start", "assistant_message", "tool_call", "tool_result"])
    send("subscribe", intercept=[*OUTPUTS, "before_agent_start"])
    send("ready")


def call(frame):
    name, call_id = frame["name"], frame["id"]
    if name == "echo":
        result(call_id, text(frame["args"]["text"]))
    elif name == "look":
        result(call_id, text("a pixel"), {"type": "image", "mime_type": "image/png", "data": PIXEL}, is_error=False)
    elif name in ("hold", "wait"):
        held[call_id] = name
        send("tool_progress", id=call_id, text="holding")
    elif name == "offer":
        offered = {**text("There is `measure`, too."), "format": "markdown"}
        result(call_id, offered, activate_tools=["measure"], structured_content={"tools": ["measure"]})
    elif name == "measure":
        result(call_id, text("3 bytes"), structured_content={"bytes": 3})
    elif name == "read-for":
        own_id = f"own-{call_id}"
        called[own_id] = call_id
        send("call_tool", id=own_id, name="read", args=frame["args"], parent_id=call_id)
    elif name == "release":
        result(call_id, text(f"released {len(held)}"))
        while held:
            result(held.popitem()[0], text("let go"))
    elif name == "once":
        result(call_id)
        send("unregister_tool", name="once")
    else:
        result(call_id, text(f"no tool {name}"), is_error=True)


def command(frame):
    name = frame["name"]
    if name == "more":  # what is registered later holds from the next turn on
        send("register_tool", name="late", description="Came later.", schema={"type": "object"})
        send("register_command", name="later")
        send("notify", level="info", message="more")
        send("notify", level="success", message="of")
        send("notify", level="warn", message="everything")
        send("notify", level="error", message="there")
        send("notify", message="is")
        send("clear_notes")
        send("command_response", id=frame["id"], action="noop")
    elif name == "tell":
        send("notify", level="info", message=f"in {frame['cwd']}")
        send("clear_notes")
        send("command_response", id=frame["id"], action="noop")
    elif name == "unasked":
        send("submit", text="and then?")
        send("submit_slash", text="/quiet")
        send("open_panel", panel=PANEL)
        send("command_response", id=frame["id"], action="noop")
    elif name == "later":
        held[frame["id"]] = name
    else:
        send("command_response", id=frame["id"], **RESPONSES[name])


def cancel(frame):
    """An answer may come after its caller stopped waiting."""
    for own_id in [own_id for own_id, call_id in called.items() if call_id == frame["id"]]:
        send("call_tool_cancel", id=own_id)
        result(called.pop(own_id), text("cancelled"), is_error=True)
    if held.pop(frame["id"], None) in ("hold", "wait"):
        result(frame["id"], text(f"cancelled: {frame.get('reason')}"), is_error=True)


def answered(frame):
    """Gives the result of a called tool for its own; a late one is for nobody."""
    if (call_id := called.pop(frame["id"], None)) is not None:
        cut = [text("(cut)")] if frame.get("truncated") else []
        result(call_id, *frame.get("content", []), *cut, is_error=frame.get("is_error", False))


def judge(frame):
    event, verdict = frame["event"], {}
    said = json.dumps([frame.get("text"), frame.get("tool_args"), frame.get("content")])
    if "forbidden" in said or frame.get("step") == 4:
        verdict = {"block": True, "reason": f"{event} is forbidden"}
    elif "nothing" in said:  # as an extension that writes all members does
        verdict = {"block": None, "reason": None, "modified_args": None, "replace_text": None, "modified_result": None}
    elif "secret" in said and event == "tool_call":
        verdict = {"modified_args": {"command": "echo ***"}}
    elif "secret" in said and event == "tool_result":
        verdict = {"modified_result": {"content": [text("***")], "is_error": not frame["is_error"]}}
    elif "secret" in said:
        verdict = {"replace_text": frame["text"].replace("secret", "***")}
    if event == "before_agent_start":
        prompt = frame["system_prompt"]
        verdict = {"system_prompt": "" if "remove" in prompt else f"{prompt} Be brief."} if "Help" in prompt else {}
    elif frame["event"] in OUTPUTS:
        verdict = OUTPUTS[frame["event"]]
    elif "doubtful" in json.dumps(frame):
        verdict = {"ask": True, "reason": "who knows"}
    send("event_intercept_response", id=frame["id"], **verdict)


def key(frame):
    panel = frame["panel_id"]
    if frame["key"] == "esc":
        send("panel_close", panel_id=panel)
    elif frame["key"] == "rune":
        send("panel_render", panel_id=panel, lines=[frame["text"]])
    else:
        send("panel_render", panel_id=panel, title="Another title", lines=[frame["key"]], footer="esc closes")


def observe(frame):
    fields = {name: value for name, value in frame.items() if name not in ("type", "event")}
    send("log", level="debug", message=frame["event"], fields=fields)


def resize(frame):
    size = f"{frame['width']} x {frame['height']}"
    send("panel_render", panel_id=frame["panel_id"], lines=[size, "", "\u2028"])


HANDLERS = {
    "tool_call": call,
    "command_invoked": command,
    "cancel": cancel,
    "tool_cancel": cancel,
    "tool_result": answered,
    "event_intercept": judge,
    "event": observe,
    "panel_key": key,
    "panel_resize": resize,
    "panel_close": lambda frame: send("log", message=f"the user closed {frame['panel_id']}"),
    "lease_begin": lambda frame: send("lease_ready", id=frame["id"]),
    "ping": lambda frame: send("pong", id=frame["id"]),
}


def main():
    greet()
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        now["session"] = frame.get("session_id") or ""
        if frame["type"] == "shutdown":
            send("shutdown_ack")
            break
        if (handler := HANDLERS.get(frame["type"])) is not None:
            handler(frame)


if __name__ == "__main__":
    main()
