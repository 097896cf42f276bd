"""Children without a fault that do what a test needs; they speak zot's wire."""

import itertools
import json
import os
import sys

from voices import SCHEMA, Request

SOUND = {}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ACTIONS = {
    "noop": {"action": "noop"},
    "prompt": {"action": "prompt", "prompt": "ask this"},
    "insert": {"action": "insert", "insert": "edit this"},
    "display": {"action": "display", "display": "see this"},
    "open_panel": {"action": "open_panel", "open_panel": {"id": "p", "title": "Panel", "lines": ["one"]}},
    "fail": {"error": "it cannot"},
    "odd": {"action": "dance"},
}
"""Commands of `commands`, with their answers."""


def sound(function):
    SOUND[function.__name__] = function
    return function


def request_of(frame):
    return Request(frame["id"], frame.get("name"), frame.get("args"))


@sound
def big_reader(voice):
    """Tool `length`: answers with the number of characters of args.text."""
    voice.greet("length")
    for request in voice.requests():
        voice.answer(request, str(len(request.args["text"])))


@sound
def env_dump(voice):
    """Tool `env`: answers with a JSON list of the names of its environment variables, sorted."""
    voice.greet("env")
    for request in voice.requests():
        voice.answer(request, json.dumps(sorted(os.environ)))


@sound
def blocker(voice, event, reason):
    """Blocks every event of one kind. argv: event, reason."""
    voice.hello(intercept=[event])
    voice.ready()
    for request in voice.requests():
        voice.allow(request, block=True, reason=reason)


@sound
def prompter(voice, prompt, file):
    """Replaces the system prompt, and notes each question in a file. argv: the new prompt, the file."""
    voice.hello(intercept=["before_agent_start"])
    voice.ready()
    for request in voice.requests():
        with open(file, "a", encoding="utf-8") as asked:
            asked.write(json.dumps(request.args) + "\n")
        voice.allow(request, system_prompt=prompt)


@sound
def rewriter(voice, name, mark):
    """Appends a mark to args.path or args.text of tool calls and to assistant messages. argv: name, mark."""
    voice.name = name
    voice.hello(intercept=["tool_call", "assistant_message"])
    voice.ready()
    for request in voice.requests():
        frame = request.args
        if frame["event"] == "assistant_message":
            voice.allow(request, replace_text=frame["text"] + " " + mark)
            continue
        args = frame["tool_args"]
        marked = {key: args[key] + mark for key in ("path", "text") if isinstance(args.get(key), str)}
        voice.allow(request, **({"modified_args": args | marked} if marked else {}))


@sound
def gatekeeper(voice):
    """Refuses calls with the text "forbidden", writes "loud" in capitals, withholds the result "secret", asks about
    "asked", adds to "noted", and has what fails once tried again."""
    calls = {
        "forbidden": {"block": True, "reason": "that word is not said here"},
        "loud": {"modified_args": {"text": "LOUD"}},
        "asked": {"ask": True, "reason": "it costs money"},
        "noted": {"additional_context": "before"},
    }
    results = {
        "secret": {"block": True, "reason": "it is a secret"},
        "draft": {"modified_result": {"content": [{"type": "text", "text": "final"}]}},
        "noted": {"additional_context": "after"},
    }
    retry = {"error_handling": "retry", "retry_count": 1, "notification": "once more"}
    voice.hello(intercept=["tool_call", "tool_result", "error"])
    voice.ready()
    for request in voice.requests():
        frame = request.args
        if frame["event"] == "tool_call":
            voice.allow(request, **calls.get(frame["tool_args"].get("text", ""), {}))
        elif frame["event"] == "error":
            voice.allow(request, **(retry if "flaky" in frame["error"] else {}))
        else:
            text = "".join(block.get("text") or "" for block in frame["content"])
            voice.allow(request, **results.get(text, {}))


@sound
def recorder(voice, file, name="recorder"):
    """Observes all five events and appends every line that it receives to a file. argv: file, [name]."""
    voice.name = name
    voice.hello(events=["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"])
    voice.ready()
    with open(file, "a", encoding="utf-8") as record:
        for line in sys.stdin:
            record.write(line)
            record.flush()
            if json.loads(line)["type"] == "shutdown":
                voice.send(type="shutdown_ack")
                break


@sound
def commands(voice):
    """Tool `look`, and a slash command for each of ACTIONS, by its name."""
    voice.hello()
    voice.send(type="register_tool", name="look", description="Looks.", schema=SCHEMA)
    for name in ACTIONS:
        voice.send(type="register_command", name=name, description=f"Answers with {name}.")
    voice.ready()
    for frame in voice.frames():
        match frame["type"]:
            case "command_invoked":
                voice.send(type="command_response", id=frame["id"], **ACTIONS[frame["name"]])
            case "tool_call":
                voice.answer(request_of(frame), "seen")
            case "panel_key":
                voice.send(type="panel_render", panel_id="p", lines=[frame["key"]])


@sound
def workbench(voice, cancels):
    """Tools that a client of an MCP server may meet, and a slash command. argv: the file into which cancels are
    written."""
    voice.hello(capabilities=["cancel"])
    for tool in ("say", "count", "draw", "die", "hang", "grow", "swell"):
        timeout_s = 0.5 if tool == "hang" else 30
        voice.send(type="register_tool", name=tool, schema=SCHEMA, timeout_s=timeout_s)
    voice.send(type="register_tool", name="wait", schema=SCHEMA, read_only=True)
    voice.send(type="register_command", name="plan", description="Plans.")
    voice.ready()
    for frame in voice.frames():
        if frame["type"] == "cancel":
            with open(cancels, "a", encoding="utf-8") as file:
                file.write(frame["reason"] + "\n")
        elif frame["type"] == "command_invoked":
            voice.send(type="command_response", id=frame["id"], action="prompt", prompt="plan " + frame.get("args", ""))
        elif frame["type"] == "tool_call":
            work(voice, request_of(frame))


def work(voice, request):
    text = request.args.get("text", "")
    content = [{"type": "text", "text": text}]
    match request.tool:
        case "die":
            print("workbench: out of nails", file=sys.stderr)
            os._exit(7)
        case "hang" | "wait":
            return
        case "count":
            for number in (1, 2):
                voice.send(type="tool_progress", id=request.id, text=f"{number}/2")
        case "draw":
            odd = {"type": "image", "mime_type": "image/png", "data": "AAAA"}
            content = [{"type": "image", "mime_type": "image/png", "data": PNG}, odd]
        case "swell":
            content = [{"type": "text", "text": "x" * (5 << 20)}]
        case "grow":
            voice.send(type="notify", level="warn", message="one more tool")
            voice.send(type="register_tool", name="grown", schema=SCHEMA)
    voice.send(type="tool_result", id=request.id, content=content, is_error=text == "flaky")


@sound
def lives(voice, marks, *words):  # noqa: C901
    """Leads the lives that its words say, one at each start, the last one at all later starts. argv: marks, words.

    `before=3` exits with 3 before the hello, `greeted=3` after it; `ready` is ready, `ready=a,b` has tools `a` and `b`.
    """
    life = count_life(marks)
    words = words or ("ready",)
    end, _, value = words[min(life, len(words) - 1)].partition("=")
    print(f"life {life}", file=sys.stderr, flush=True)
    if end == "before":
        sys.exit(int(value))
    voice.hello()
    if end == "greeted":
        sys.exit(int(value))
    voice.send(type="subscribe", events=["session_start", "turn_start"], intercept=["tool_call"])
    voice.send(type="register_command", name="life")
    for tool in ["life", "die", *value.split(",")]:
        if tool:
            description = f"beside {value}" if tool == "life" else ""
            voice.send(type="register_tool", name=tool, description=description, schema={})
    voice.ready()
    events = []
    for frame in voice.frames():
        if frame["type"] == "tool_call" and frame["name"] == "die":
            sys.exit(frame["args"].get("code", 1))
        elif frame["type"] == "tool_call":
            about = {"life": life, "pid": os.getpid(), "events": events, "tool": frame["name"]}
            voice.answer(request_of(frame), json.dumps(about))
        elif frame["type"] == "command_invoked":
            voice.send(type="command_response", id=frame["id"], action="display", display=f"life {life}")
        elif frame["type"] == "event_intercept":
            voice.allow(request_of(frame))
        elif frame["type"] == "event":
            events.append(frame["event"])


def count_life(marks):
    """From 0; each start makes one mark, also when several start at once."""
    for life in itertools.count():
        try:
            os.close(os.open(f"{marks}.{life}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return life
    return None
