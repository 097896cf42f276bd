#!/usr/bin/env python3
"""A tool for the weather of a city. It is made up from the city's name, so always the same."""

import hashlib
import json
import sys

SKIES = ("sunny", "partly cloudy", "cloudy", "rain", "snow", "fog")
TOOL = {
    "type": "register_tool",
    "name": "weather",
    "description": "Tell the current weather of a city.",
    "schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "For example Berlin."}},
        "required": ["city"],
    },
    "read_only": True,  # calls may run at the same time
    "idempotent": True,  # the host may repeat a call that a crash has cut short
}


def forecast(city):
    """-10 to 24 degrees and a sky."""
    digest = hashlib.sha1(city.lower().encode("utf-8", "replace")).digest()
    return f"{city}: {digest[0] % 35 - 10}°C, {SKIES[digest[1] % len(SKIES)]} (made up from the name)"


def send(**frame):
    print(json.dumps(frame), flush=True)


def answer(call):
    """This host has checked the arguments against the schema; zot's own host does not."""
    args = call.get("args")
    city = args.get("city") if isinstance(args, dict) else None
    if isinstance(city, str) and city.strip():
        send(type="tool_result", id=call["id"], content=[{"type": "text", "text": forecast(city.strip())}])
    else:
        text = 'weather needs "city", the name of a city'
        send(type="tool_result", id=call["id"], content=[{"type": "text", "text": text}], is_error=True)


def main():
    send(type="hello", name="weather", version="1.0.0", capabilities=["tools"])
    send(**TOOL)
    send(type="ready")
    for line in sys.stdin.buffer:
        try:
            frame = json.loads(line)
            kind = frame["type"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            print(f"ignored a line that is not a frame: {error!r}", file=sys.stderr, flush=True)
            continue
        if kind == "tool_call":
            answer(frame)
        elif kind == "shutdown":
            send(type="shutdown_ack")
            break


if __name__ == "__main__":
    main()
