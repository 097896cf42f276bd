"""Sends one prompt to `zot rpc` and prints the answer as it comes. Python's standard library only.

    python3 client.py "what does this project do?" [FLAG...]

The flags go to `zot rpc`. Ctrl-C aborts the prompt. A token in ZOTCORE_RPC_TOKEN is said first. The exit status is that
of the prompt.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress


class AgentError(Exception):
    """The agent has refused a request, or has ended."""


class Agent:
    """One `zot rpc` process. Use it as a context manager."""

    def __init__(self, *flags):
        self._process = subprocess.Popen(
            ["zot", "rpc", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,  # a Ctrl-C is for this client only
        )
        self._ids = 0
        self._unread = []
        self.send("hello", token=os.environ.get("ZOTCORE_RPC_TOKEN"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with suppress(BrokenPipeError):
            self._process.stdin.close()  # the end of stdin ends the process
        for _line in self._process.stdout:
            pass
        self._process.wait()

    def ask(self, kind, **members):
        """Sends a request and returns the data of its response. Raises `AgentError` if it is refused."""
        request = self.send(kind, **members)
        kept = []
        while True:
            line = self._next()
            if line["type"] == "response" and line.get("id") == request:
                self._unread = kept + self._unread
                if not line["success"]:
                    raise AgentError(line["error"])
                return line.get("data")
            kept.append(line)

    def send(self, kind, **members):
        """Sends a request without waiting. Returns its id."""
        self._ids += 1
        with suppress(BrokenPipeError):  # an agent that has ended shows at its stdout
            self._process.stdin.write(json.dumps({"id": self._ids, "type": kind, **members}) + "\n")
            self._process.stdin.flush()
        return self._ids

    def prompt(self, message):
        """Yields the records of a prompt, up to `done`."""
        started = self.ask("prompt", message=message)["prompt"]
        while True:
            line = self._next()
            if line.get("prompt") == started:
                yield line
                if line["type"] == "done":
                    return

    def _next(self):
        if self._unread:
            return self._unread.pop(0)
        line = self._process.stdout.readline()
        if not line.endswith("\n"):
            raise AgentError(f"zot rpc has ended with status {self._process.wait()}")
        return json.loads(line)


def main(message, *flags):
    with Agent(*flags) as agent:
        signal.signal(signal.SIGINT, lambda *_: agent.send("abort"))
        status = 1
        for record in agent.prompt(message):
            if record["type"] == "text_delta":
                print(record["delta"], end="", flush=True)
            elif record["type"] == "tool_call":
                print(f"[{record['name']} {json.dumps(record['args'])}]", file=sys.stderr)
            elif record["type"] == "result":
                status = record["exit_code"]
                print("" if record["status"] == "ok" else f"\n{record['status']}: {record['reason']}")
    return status


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except AgentError as error:
        sys.exit(str(error))
