"""Sends one prompt to `zot rpc` and prints the answer as it comes. Python's standard library only.

    python3 client.py "what does this project do?" [FLAG...]

The flags go to `zot rpc`. Ctrl-C aborts the prompt.
"""

import json
import signal
import subprocess
import sys


class Agent:
    """One `zot rpc` process. Use it as a context manager."""

    def __init__(self, *flags):
        self._process = subprocess.Popen(
            ["zot", "rpc", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._ids = 0
        self._unread = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()  # the end of stdin ends the process
        for _line in self._process.stdout:
            pass
        self._process.wait()

    def ask(self, kind, **members):
        """Sends a request and returns the data of its response. Raises RuntimeError if it is refused."""
        request = self.send(kind, **members)
        kept = []
        while True:
            line = self._next()
            if line["type"] == "response" and line.get("id") == request:
                self._unread = kept + self._unread
                if not line["success"]:
                    raise RuntimeError(line["error"])
                return line.get("data")
            kept.append(line)

    def send(self, kind, **members):
        """Sends a request without waiting. Returns its id."""
        self._ids += 1
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
        if not line:
            raise RuntimeError(f"zot rpc has ended with status {self._process.wait()}")
        return json.loads(line)


def main(message, *flags):
    with Agent(*flags) as agent:
        signal.signal(signal.SIGINT, lambda *_: agent.send("abort"))
        status = "error"
        for record in agent.prompt(message):
            if record["type"] == "text_delta":
                print(record["delta"], end="", flush=True)
            elif record["type"] == "tool_call":
                print(f"[{record['name']} {json.dumps(record['args'])}]", file=sys.stderr)
            elif record["type"] == "result":
                status = record["status"]
                print("" if status == "ok" else f"\n{status}: {record['reason']}")
    return 0 if status == "ok" else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
