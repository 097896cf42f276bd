"""Records the cassette of the example of a Copilot extension: a real run of `zot --record` against the scripted server.

`python -m tests.record_copilot` rewrites `examples/copilot/shop/answers.jsonl`; it needs the SDK (`make copilot-sdk`).
Run it after a change of the system prompt, of the descriptions of the tools or of the example. The test of the example
fails when the cassette is old.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.messages_server import MessagesServer, text_reply, tool_reply

ROOT = Path(__file__).parents[1]
SHOP = ROOT / "examples" / "copilot" / "shop"
SDK = ROOT / ".venv" / "copilot-sdk" / "newest"
PROMPT = "total() in prices.py returns the last price. Mend it, and push."
USAGE = {"input_tokens": 640, "output_tokens": 60}
EDIT = {"path": "prices.py", "edits": [{"oldText": "        result = price", "newText": "        result += price"}]}
REPLIES = [
    tool_reply([("read", {"path": "prices.py"})], text="I will look at the code first.", **USAGE),
    tool_reply([("edit", EDIT)], **USAGE),
    tool_reply([("bash", {"command": "git push"})], **USAGE),
    text_reply("total() now adds up all prices. I have not pushed: a person does that here.", **USAGE),
    tool_reply([("run_checks", {})], **USAGE),
    text_reply("All three checks pass.", **USAGE),
]


def record(cassette: Path) -> None:
    """Writes the cassette. Raises if the run does not end well."""
    with tempfile.TemporaryDirectory() as place, MessagesServer(*REPLIES) as server:
        project, home = Path(place) / "shop", Path(place) / "home"
        shutil.copytree(SHOP, project)
        (project / ".git").mkdir()
        (home / "copilot-sdk").mkdir(parents=True)
        (home / "copilot-sdk" / "node_modules").symlink_to(SDK / "node_modules")
        command = [sys.executable, "-m", "pyzot", "-p", "--trust-project", "--no-session", "--no-context-files"]
        command += ["--base-url", server.base_url, "--cwd", str(project), "--record", str(cassette)]
        environment = {**os.environ, "ZOT_HOME": str(home), "PYTHONPATH": str(ROOT), "COPILOT_HOME": str(home / "none")}
        subprocess.run([*command, PROMPT], env=environment, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    record(SHOP / "answers.jsonl")
