"""Stands for an engine: speaks its lines, and misbehaves as its first argument says. No module of ours is imported.

argv: the behaviour, and the flags of a run, which are ignored. See `Behaviour` for what there is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

HELLO = {"protocol_version": 1, "version": "0", "provider": "fake", "model": "fake"}


def send(**members):
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


def answer(request, **data):
    send(type="response", id=request["id"], command=request["type"], success=True, data=data)


def refuse(request, error, **code):
    send(type="response", id=request["id"], command=request["type"], success=False, error=error, **code)


def requests():
    for line in sys.stdin:
        yield json.loads(line)


def greet(found):
    answer(next(found), **HELLO)


def result(prompt, status="ok", text=""):
    usage = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "cost_usd": None}
    send(
        type="result", status=status, exit_code=0, reason="", text=text, steps=1, usage=usage, cost_usd=None,
        duration_ms=1, session="", extensions={}, prompt=prompt,
    )  # fmt: skip


class Behaviour:
    """One method for each word of the command line."""

    def works(self):  # noqa: C901
        """Answers. Prompts go on until they are aborted, but for some words: see `begin`. `steer` is refused while none
        runs, and `clear` ends those that run, with the text of what was steered."""
        found, running, steered, number = requests(), [], [], 0
        for request in found:
            match request["type"]:
                case "hello":
                    answer(request, **HELLO)
                case "prompt" if request["message"] == "refused":
                    refuse(request, "it needs text")
                case "prompt" | "compact":
                    number += 1
                    prompt = f"p{number}"
                    answer(request, started=True, prompt=prompt, position=len(running))
                    self.begin(request, prompt, running)
                case "abort":
                    if request.get("prompt") in running:
                        running.remove(request["prompt"])
                        send(type="turn_end", stop="aborted", error="aborted", prompt=request["prompt"])
                        result(request["prompt"], "interrupted")
                        send(type="done", prompt=request["prompt"])
                case "steer":
                    if request["message"] == "unwelcome":
                        refuse(request, "100 messages wait already")
                    elif running:
                        steered.append(request["message"])
                        answer(request, prompt=running[0])
                    else:
                        refuse(request, "no prompt runs", code="no_prompt")
                case "get_state":
                    answer(request, **STATE)
                case "set_model":
                    answer(request, model=request["model"])
                case "set_reasoning":
                    answer(request, reasoning=request["reasoning"], used="high")
                case "clear":
                    answer(request)
                    while running:
                        prompt = running.pop()
                        result(prompt, text=" ".join(steered))
                        send(type="done", prompt=prompt)
                case "ext":
                    send(type="ext", extension=request["extension"], frame=request["frame"])
                case "run_command" | "call_tool":
                    self.carry_out(request)
                case known if known in LISTS:
                    answer(request, **LISTS[known])
                case other:
                    refuse(request, f"unknown command {other!r}")

    def carry_out(self, request):
        """Answers a command by its arguments, but never one to wait; a tool by the name of its command."""
        if request["type"] == "call_tool":
            content = [{"type": "text", "text": f"output of {request['args']['command']}"}]
            answer(request, is_error=False, content=content)
        elif (asked := request["args"] or "noop") != "wait":
            action, _, text = asked.partition(" ")
            answer(request, extension="e", action=action, text=text)

    def begin(self, request, prompt, running):
        message = request.get("message") or request.get("instructions") or ""
        if message == "die":
            sys.stderr.write("no more room\n")
            sys.stderr.flush()
            os._exit(3)
        if request["type"] == "compact":
            if message == "fail":
                send(type="error", message="the model fails", prompt=prompt)
            else:
                done = {"summary": f"short: {message}", "messages_before": 9, "messages_after": 5}
                send(type="compact_done", **done, prompt=prompt)
            send(type="done", prompt=prompt)
            return
        send(type="user_message", content=[{"type": "text", "text": message}], time="", prompt=prompt)
        if message == "quick":
            result(prompt, text="Done.")
            send(type="done", prompt=prompt)
        elif message.startswith("images"):
            result(prompt, text=json.dumps(request.get("images")))
            send(type="done", prompt=prompt)
        elif message.startswith("flood"):
            running.append(prompt)
            for _ in range(int(message.split()[1])):
                send(type="text_delta", delta="x" * 1024 * 1024, prompt=prompt)
        elif message == "event":
            send(type="ext_notify", extension="e", level="info", message="look")
            running.append(prompt)
        else:
            running.append(prompt)

    def garbage(self):
        sys.stdout.write("Usage: something else [OPTIONS]\n" * 1000)
        sys.stdout.flush()
        sys.stdin.read()

    def garbage_later(self):
        found = requests()
        greet(found)
        next(found)
        print('{"type":"response","id":"r1"', flush=True)
        sys.stdin.read()

    def endless_line(self):
        while True:
            sys.stdout.write("x" * 65536)

    def other_json(self):
        send(type="hello_there")
        sys.stdin.read()

    def silent(self):
        sys.stdin.read()

    def other_version(self):
        answer(next(requests()), **{**HELLO, "protocol_version": 2})
        sys.stdin.read()

    def no_version(self):
        answer(next(requests()))
        sys.stdin.read()

    def closes_stdout(self):
        """Closes stdout and lives on, whatever it is told but SIGKILL."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        greet(requests())
        os.close(1)
        while True:
            time.sleep(600)

    def never_ends(self):
        """Ignores the end of its input and SIGTERM."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        greet(requests())
        while True:
            time.sleep(600)

    def lingers(self):
        """Ends half a second after its input."""
        greet(requests())
        sys.stdin.read()
        time.sleep(0.5)

    def never_reads(self):
        greet(requests())
        while True:
            time.sleep(600)

    def stderr_flood(self):
        """Writes 20 MB to stderr, with a line of 10 MB in it, before it works."""
        for number in range(100_000):
            sys.stderr.write(f"line {number}" + "." * 80 + "\n")
        sys.stderr.write("y" * 10_000_000 + "\n")
        sys.stderr.write("the end\n")
        sys.stderr.flush()
        self.works()

    def dies(self):
        """Says why on stderr, and exits with 3 when it is asked for anything."""
        found = requests()
        greet(found)
        next(found)
        sys.stderr.write("no more room\n")
        sys.exit(3)

    def leaves_a_child(self):
        """A process that it starts holds its stdout and stderr open for longer than it lives."""
        found = requests()
        greet(found)
        next(found)
        if (child := os.fork()) == 0:
            time.sleep(600)
            os._exit(0)
        sys.stderr.write(f"{child}\n")
        os._exit(4)


STATE = {
    "provider": "fake", "model": "fake", "cwd": "/", "message_count": 0, "busy": False, "starting": False,
    "usage": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": 0.0},
}  # fmt: skip

LISTS = {
    "get_models": {"models": []},
    "get_messages": {"messages": []},
    "list_commands": {"commands": [{"name": "todo", "description": "", "extension": "e"}]},
    "list_skills": {"skills": []},
    "list_sessions": {"sessions": []},
}

if __name__ == "__main__":
    getattr(Behaviour(), sys.argv[1])()
