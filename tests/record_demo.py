"""Records the demo's cassette: a real run of `zot --record` against the scripted server.

`python -m tests.record_demo [FILE]` rewrites `agent/demo/cassette.jsonl`. Run it after a change of the system prompt,
the built-in tools' descriptions or the demo itself. A test compares the committed cassette with a fresh recording.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agent.demo import CASSETTE, EXTENSIONS, PROJECT, PROMPT
from tests.support.messages_server import MessagesServer, text_reply, tool_reply

ROOT = Path(__file__).parents[1]
USAGE = {"input_tokens": 900, "output_tokens": 80}
ANSWER = (
    "Fixed: total() now adds up all items instead of keeping the last one. The build folder is still there, since "
    "a guard refuses rm -rf. Left to do in prices.py: 2 lines marked TODO or FIXME. One more thing: deploy.env holds "
    "a live key, AKIAIOSFODNN7EXAMPLE; revoke it and keep it out of the repository."
)
SCRIPT = (
    tool_reply([("read", {"path": "prices.py"})], text="I will look at the code first.", **USAGE),
    tool_reply([("bash", {"command": "rm -rf build"})], text="Now the build folder.", **USAGE),
    tool_reply(
        [("todo_count", {"path": "prices.py"}), ("bash", {"command": "cat deploy.env"})],
        text="I will leave that folder alone and see what else is open.",
        **USAGE,
    ),
    tool_reply(
        [
            (
                "edit",
                {
                    "path": "prices.py",
                    "edits": [
                        {
                            "oldText": "        result = price + price",
                            "newText": "        result += price + price",
                        }
                    ],
                },
            )
        ],
        text="The loop overwrites the sum.",
        **USAGE,
    ),
    text_reply(ANSWER, **USAGE),
)


def record(cassette: Path) -> None:
    """Runs the demo once against the scripted model. Raises if the run does not end well."""
    with tempfile.TemporaryDirectory() as folder, MessagesServer(*SCRIPT) as server:
        project = Path(folder) / "project"
        shutil.copytree(PROJECT, project)
        (project / "build").mkdir()
        extensions = [f"--ext={ROOT / 'examples' / 'extensions' / name}" for name in EXTENSIONS if _runs_here(name)]
        command = [sys.executable, "-m", "pyzot", "-p", *extensions, "--no-ext", "--no-session", "--no-context-files"]
        command += ["--base-url", server.base_url, "--cwd", str(project), "--record", str(cassette), PROMPT]
        environment = {**os.environ, "ZOT_HOME": str(Path(folder) / "home"), "PYTHONPATH": str(ROOT)}
        subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _runs_here(name: str) -> bool:
    return name != "turn-meter" or shutil.which("node") is not None


if __name__ == "__main__":
    record(Path(sys.argv[1]) if sys.argv[1:] else CASSETTE)
