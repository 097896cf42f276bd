"""Stands for `zot batch`: speaks its records, and misbehaves as its first argument says. No module of ours is imported.

argv: the behaviour, and the command line of `zot batch` or `zot batch results`. The folder has `results.jsonl` alone.
A task's prompt says what it does: see `work`. See `Behaviour` for what there is besides.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

USAGE = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}


def send(**members):
    sys.stdout.write(json.dumps(members) + "\n")
    sys.stdout.flush()


def say(line):
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def outcome(id_, status="ok", text="Done.", **more):
    return {
        "id": id_, "attempt": 1, "status": status, "started": "", "ended": "", "text": text, "usage": USAGE, **more,
    }  # fmt: skip


class FakeBatch:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.kept = self.folder / "results.jsonl"
        self.signals = []
        self.ended = 0
        self.done = {}
        self.again = []
        if self.kept.exists():
            found = [json.loads(line) for line in self.kept.read_text().splitlines()]
            self.done = {one["id"]: one for one in found}

    def run(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _frame: self.signals.append(number))
        tasks = [json.loads(line) for line in sys.stdin.buffer]
        for number, task in enumerate(tasks, 1):
            task.setdefault("id", str(number))
        if "--redo=failed" in sys.argv:
            self.again = [task["id"] for task in tasks if self.done.get(task["id"], {}).get("status") == "error"]
            self.done = {name: one for name, one in self.done.items() if name not in self.again}
        done = [task for task in tasks if task["id"] in self.done]
        say("a word before the start")
        send(type="batch_start", schema_version=1, zot_version="0", folder=str(self.folder.absolute()),
             tasks=len(tasks), done=len(done), again=self.again, jobs=1, time="")  # fmt: skip
        say("a word after the start")
        left = [task for task in tasks if task["id"] not in self.done]
        while left and not self.signals:
            self.work(left.pop(0))
        why = "stopped" if signal.SIGTERM in self.signals else "drained" if self.signals else "done"
        say(f"signals: {len(self.signals)}")
        self.end(why, len(tasks))

    def drop(self, id_):
        """Takes a result out of the file, which `zot batch results` may read at the same time: it sees a whole one."""
        lines = self.kept.read_text().splitlines(keepends=True)
        fresh = self.folder / "results.new"
        fresh.write_text("".join(line for line in lines if json.loads(line)["id"] != id_))
        fresh.replace(self.kept)

    def end(self, why, tasks):
        statuses = {"ok": tasks}
        send(type="batch_end", reason=why, exit_code=0 if why == "done" else 130, tasks=tasks, statuses=statuses,
             usage=USAGE, cost_usd=0.5, known_cost_usd=0.5, duration_ms=1, time="")  # fmt: skip
        sys.exit(0 if why == "done" else 130)

    def work(self, task):
        id_, (word, *words) = task["id"], task["prompt"].split()
        send(type="task_start", task=id_, attempt=1, time="")
        if id_ in self.again:
            self.drop(id_)
        if word == "hang":  # until a signal comes
            while not self.signals:
                time.sleep(0.01)  # a signal ends it
            send(type="task_end", task=id_, attempt=1, final=False, outcome=outcome(id_, "interrupted"))
            return
        if word == "retried":
            send(type="task_end", task=id_, attempt=1, final=False, outcome=outcome(id_, "crashed"))
        if word == "event" and "--no-events" not in sys.argv:
            send(task=id_, attempt=1, type="text_delta", delta="x", prompt="p1")
            send(task=id_, attempt=1, type="of_a_newer_zot", x=1)
        if word == "die":
            say("about to die")
            os.kill(os.getpid(), signal.SIGKILL)
        if word == "garbage":
            sys.stdout.write(" ".join(words) + "\n")
            sys.stdout.flush()
            time.sleep(600)
        text = "x" * int(words[0]) if word == "long" else "Done."
        found = outcome(id_, "error" if word == "fail" else "ok", text, meta=task.get("meta", {}))
        with self.kept.open("a") as file:
            file.write(json.dumps(found) + "\n")
        send(type="task_end", task=id_, attempt=1, final=True, outcome=found)


class Behaviour:
    """One method for each word of the command line."""

    def works(self):
        (folder,) = [word.partition("=")[2] for word in sys.argv if word.startswith("--output=")]
        FakeBatch(folder).run()

    def refuses(self):
        sys.stdin.read()
        say("zot batch: stdin:2: prmpt: no such field; did you mean 'prompt'?")
        sys.exit(2)

    def no_batch(self):
        print("Usage: something else [OPTIONS]")

    def begins_with_another_record(self):
        send(type="session")
        sys.stdin.read()
        time.sleep(600)

    def fails(self):
        sys.stdin.read()
        send(type="batch_start", folder="/", tasks=2, done=0, jobs=1, time="")
        say("zot batch: /runs/journal.jsonl: No space left on device")
        send(type="task_end", task="1", attempt=1, final=True, outcome=outcome("1"))
        send(type="batch_end", reason="failed", exit_code=1, tasks=2, statuses={"ok": 1, "not_run": 1}, usage=USAGE,
             cost_usd=0, known_cost_usd=0, duration_ms=1, time="")  # fmt: skip
        sys.exit(1)

    def never_ends(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        sys.stdin.read()
        send(type="batch_start", folder="/", tasks=1, done=0, jobs=1, time="")
        while True:
            time.sleep(600)

    def cannot_be_read(self):
        """Of the commands only the batch itself works."""
        self.works()


def results(behaviour, folder):
    if behaviour == "cannot_be_read":
        say("zot batch results: journal.jsonl:3: damaged")
        sys.exit(1)
    for line in (Path(folder) / "results.jsonl").read_bytes().splitlines(keepends=True):
        sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    if "results" in sys.argv:
        results(sys.argv[1], sys.argv[-1])
    else:
        getattr(Behaviour(), sys.argv[1])()
