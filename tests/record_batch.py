"""Records the cassettes of the example of a batch: real runs of `zot --record` against the scripted server.

`python -m tests.record_batch` rewrites `examples/batch/answers`. Run it after a change of the system prompt, of the
descriptions of the tools or of the example. The test of the example fails when the cassettes are old.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.messages_server import MessagesServer, text_reply, tool_reply

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "batch"
USAGE = {"input_tokens": 640, "output_tokens": 60}
EDITS = {
    "total": ("        result = price", "        result += price"),
    "vat": ("price + price * percent", "round(price * (100 + percent) / 100)"),
}
ANSWERS = {
    "total": "total() now adds up all prices.",
    "vat": "with_vat() now divides by 100 and rounds to whole cents.",
    "docstrings": '{"functions": ["total", "with_vat"]}',
}


def replies(task: str) -> list[list[object]]:
    """Replies of the model in the run of a task."""
    said = [tool_reply([("read", {"path": "prices.py"})], text="I will look at the code first.", **USAGE)]
    if task in EDITS:
        old, new = EDITS[task]
        edit = {"path": "prices.py", "edits": [{"oldText": old, "newText": new}]}
        said.append(tool_reply([("edit", edit)], **USAGE))
    return [*said, text_reply(ANSWERS[task], **USAGE)]


def record(folder: Path) -> None:
    """Writes a cassette for each task into `folder`. Raises if a run does not end well."""
    for line in (EXAMPLE / "tasks.jsonl").read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        cassette = folder / f"{task['id']}.jsonl"
        with tempfile.TemporaryDirectory() as place, MessagesServer(*replies(task["id"])) as server:
            project = Path(place) / "shop"
            shutil.copytree(EXAMPLE / "shop", project)
            command = [sys.executable, "-m", "pyzot", "-p", "--no-ext", "--no-session", "--no-context-files"]
            command += ["--base-url", server.base_url, "--cwd", str(project), "--record", str(cassette)]
            command += ["--tools", ",".join(task["tools"])]
            if schema := task.get("output_schema"):
                command += ["--output-schema", json.dumps(schema)]
            environment = {**os.environ, "ZOT_HOME": str(Path(place) / "home"), "PYTHONPATH": str(ROOT)}
            subprocess.run([*command, task["prompt"]], env=environment, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    record(EXAMPLE / "answers")
