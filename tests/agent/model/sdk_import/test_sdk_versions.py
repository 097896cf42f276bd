"""The worker with the oldest SDK that is supported, and with the newest."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.support.messages_server import MessagesServer, http_error, tool_reply
from tests.support.model_worker_process import ROOT, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

INSTALL_S = 300
OFFLINE = ("No matching distribution", "Could not find a version", "NewConnectionError", "Failed to establish",
    "Read timed out", "Temporary failure", "ConnectionError", "Max retries exceeded")  # fmt: skip


def oldest() -> str:
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (found,) = (re.fullmatch(r"anthropic>=([\d.]+)", one) for one in dependencies if one.startswith("anthropic"))
    assert found
    return f"anthropic=={found[1]}.*"


def install(requirement: str, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    try:
        done = subprocess.run(
            [*pip, "--retries", "1", "--target", str(folder), requirement],
            capture_output=True,
            text=True,
            timeout=INSTALL_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the package index cannot be reached")
    if done.returncode != 0 and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(2 * INSTALL_S)
@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_the_worker_answers_with_and_without_stand_ins(tmp_path: Path, which: str) -> None:
    install(oldest() if which == "oldest" else "anthropic", tmp_path)
    found = []
    for switch in ("", "1"):
        replies = [
            tool_reply([("read", {"path": "é"})], text="a", thinking="b"),
            http_error(409, error_type="conflict_error"),
        ]
        environment = {"PYTHONPATH": str(tmp_path), "ZOT_FULL_SDK": switch}
        with MessagesServer(*replies) as server, WorkerProcess(server.base_url, env=environment) as worker:
            ready = worker.read(120)
            assert ready["type"] == "ready"
            if which == "oldest":
                assert bool(ready["whole_sdk"]) is bool(switch), ready
            found.append([_without_ids(worker.ask()), worker.ask(), [request.body for request in server.requests]])
    assert found[0] == found[1]
    assert found[0][0][-1]["type"] == "final"
    assert found[0][1][-1]["status"] == 409


def _without_ids(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """Without the ids of replies and tool calls, which the server counts on."""
    hidden = {"reply_id": "", "call_id": ""}
    return [{**line, **hidden, "content": re.sub(r"toolu_\d+", "", str(line.get("content")))} for line in lines]
