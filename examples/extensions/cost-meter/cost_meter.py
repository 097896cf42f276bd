#!/usr/bin/env python3
"""Estimates what each turn costs and keeps a line for each in `turns.jsonl`; /cost sums them up.

The protocol does not say what a turn has cost, so the conversation is measured: the whole of it is read in every turn.
"""

import json
import os
import sys
import time
from collections import defaultdict

from prices import cost_of


def send(**frame):
    print(json.dumps(frame), flush=True)


class Meter:
    def __init__(self):
        self.model, self.file = "", None
        self.read = 0  # characters of the conversation up to this turn
        self.written = 0  # in this turn

    def greeted(self, ack):
        self.model = ack.get("model") or ""
        folder = ack.get("data_dir")
        self.file = os.path.join(folder, "turns.jsonl") if folder else None

    def observe(self, event):
        kind = event.get("event")
        if kind == "session_start":
            self.read = self.written = 0
        elif kind == "user_prompt":
            self.read += len(event.get("text") or "")
        elif kind == "assistant_message":
            self.written += len(event.get("text") or "")
        elif kind == "tool_call":
            self.written += len(json.dumps(event.get("tool_args")))
        elif kind == "turn_end":
            self.count()
            self.read, self.written = self.read + self.written, 0
        elif kind == "tool_result":
            self.read += sum(len(block.get("text") or "") for block in event.get("content") or ())

    def count(self):
        if self.file is None:
            return
        turn = {"day": time.strftime("%Y-%m-%d"), "usd": round(cost_of(self.model, self.read, self.written), 6)}
        try:
            with open(self.file, "ab", 0) as file:  # one write: the lines of two sessions do not mix
                file.write(json.dumps(turn).encode() + b"\n")
        except OSError as error:
            print(f"a turn was not counted: {error}", file=sys.stderr, flush=True)

    def report(self):
        """One line for each of the last seven days that had a turn."""
        days = defaultdict(list)
        try:
            with open(self.file or os.devnull, encoding="utf-8") as file:
                for line in file:
                    try:
                        turn = json.loads(line)
                        days[turn["day"]].append(turn["usd"])
                    except (ValueError, KeyError, TypeError):
                        continue  # cut short by a full disk
        except FileNotFoundError:
            pass
        lines = [f"{day}  {len(usd):4} turns  about ${sum(usd):.4f}" for day, usd in sorted(days.items())[-7:]]
        return "\n".join(lines or ["no turns yet"])


def main():
    meter = Meter()
    send(type="hello", name="cost-meter", version="1.0.0", capabilities=["commands", "events"])
    send(type="register_command", name="cost", description="Show what the turns of the last days cost, about.")
    events = ["session_start", "user_prompt", "assistant_message", "tool_call", "turn_end", "tool_result"]
    send(type="subscribe", events=events)
    send(type="ready")
    for line in sys.stdin.buffer:
        try:
            frame = json.loads(line)
            kind = frame["type"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            print(f"ignored a line that is not a frame: {error!r}", file=sys.stderr, flush=True)
            continue
        if kind == "hello_ack":
            meter.greeted(frame)
        elif kind == "event":
            meter.observe(frame)
        elif kind == "command_invoked":
            try:
                send(type="command_response", id=frame["id"], action="display", display=meter.report())
            except OSError as error:
                send(type="command_response", id=frame["id"], error=f"cannot read {meter.file}: {error.strerror}")
        elif kind == "shutdown":
            send(type="shutdown_ack")
            break


if __name__ == "__main__":
    main()
