"""`zot batch` as a process in a test: its tasks, a model that does what a prompt says, and what its folder has."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from tests.support.messages_server.replies import Reply, hold_first_byte, text_reply, tool_reply
from tests.support.patience import PATIENCE_S
from wire import events
from wire.batch.journal_lines import AnyLine, Finished, Started

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.messages_server import MessagesServer
    from tests.support.messages_server.server import Received
    from tests.support.zot_process import Outcome, Running, Zot
    from wire.batch.outcome import Outcome as TaskOutcome

MODEL = "claude-sonnet-4-5"
_line = msgspec.json.Decoder(AnyLine)


def obey(request: Received) -> Reply:
    """The model: `bash COMMAND` calls the tool and then answers, `hang` never answers, `long N` is answered with N MiB,
    all else at once."""
    messages = request.body["messages"]
    prompt = _text(messages[0]["content"])
    if prompt == "hang":
        return hold_first_byte(text_reply("never"))
    if len(messages) == 1 and prompt.startswith("bash "):
        return tool_reply([("bash", {"command": prompt.removeprefix("bash ")})])
    if prompt.startswith("long "):
        return text_reply("x" * (int(prompt.removeprefix("long ")) << 20), chunks=64)
    return text_reply(f"answer to {prompt[:20]}")


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


class BatchCommand:
    """Runs batches with the folder `runs` in the project of `zot`. Each task is a prompt, or the fields of a task."""

    def __init__(self, zot: Zot, server: MessagesServer | None = None) -> None:
        self.zot = zot
        self.rundir = zot.cwd / "runs"
        self.extensions: list[str] = ["--no-ext"]
        self._model: list[str] = []
        if server is not None:
            server.otherwise = obey
            self._model = [f"--base-url={server.base_url}", "--api-key=k", "--provider=anthropic", f"--model={MODEL}"]

    def tasks(self, tasks: dict[str, str | dict[str, Any]]) -> None:
        lines = [{"id": name, **({"prompt": task} if isinstance(task, str) else task)} for name, task in tasks.items()]
        (self.zot.cwd / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def start(self, *flags: str | Path, **popen: Any) -> Running:
        return self.zot.start("batch", "t.jsonl", "-o", "runs", *self.extensions, *self._model, *flags, **popen)

    def run(self, *flags: str | Path, within_s: float = PATIENCE_S, **popen: Any) -> Outcome:
        with self.start(*flags, **popen) as running:
            return running.finish(within_s)

    # --- what the folder has ------------------------------------------------------------------------------------

    def lines(self) -> list[AnyLine]:
        """Of the journal, but for a torn tail."""
        path = self.rundir / "journal.jsonl"
        whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
        return [_line.decode(line) for line in whole.splitlines()]

    def started(self) -> list[Started]:
        return [line for line in self.lines() if isinstance(line, Started)]

    def attempts(self, task: str) -> list[TaskOutcome]:
        """How its attempts have ended, in order."""
        return [line.outcome for line in self.lines() if isinstance(line, Finished) and line.task == task]

    def finals(self) -> Counter[str]:
        """How many final outcomes each task has in the journal."""
        return Counter(line.task for line in self.lines() if isinstance(line, Finished) and line.final)

    def results(self) -> dict[str, Any]:
        """`results.jsonl` by id, in its order; no id is there twice."""
        found = [json.loads(line) for line in (self.rundir / "results.jsonl").read_bytes().splitlines()]
        by_id = {one["id"]: one for one in found}
        assert len(by_id) == len(found)
        return by_id

    def events(self, task: str, attempt: int = 1) -> list[Any]:
        """The records of an attempt; each line must be whole."""
        data = (self.rundir / "runs" / task / f"{attempt}.events.jsonl").read_bytes()
        assert data.endswith(b"\n"), data[-200:]
        return [events.decode(line) for line in data.splitlines()]
