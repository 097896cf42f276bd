"""The requests of a batch's tasks begin alike, so that the provider serves the beginning from its cache."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.extension_folder import CHILDREN
from tests.support.mcp_files import write_servers

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")


def test_tasks_in_copies_of_a_project_begin_with_the_same_bytes_up_to_the_mark(zot: Zot, server: MessagesServer):
    """Also with all that the system prompt names of the project: context files, skills, what a server says."""
    (zot.cwd / "AGENTS.md").write_text("Use tabs.\n")
    (zot.cwd / ".zot" / "skills" / "deploy").mkdir(parents=True)
    (zot.cwd / ".zot" / "skills" / "deploy" / "SKILL.md").write_text("---\ndescription: Puts it there.\n---\nRead.\n")
    batch = BatchCommand(zot, server)
    batch.tasks(dict.fromkeys("abc", "go"))
    reference = ["-S", str(CHILDREN / "mcp" / "reference.py"), "--instructions", "Count twice."]
    servers = write_servers(zot.folder / "mine.json", counts={"command": sys.executable, "args": reference})
    found = batch.run("--workspace", "copy", "--with-skills", "--mcp-config", servers, "-q")
    assert found.status == 0, found
    requests = [request.body for request in server.requests]
    assert len({json.dumps([body["tools"], body["system"][0]]) for body in requests}) == 1
    stable, changing = (block["text"] for block in requests[0]["system"])
    for text in ("## AGENTS.md\n\nUse tabs.", "- deploy [.zot/skills/deploy/SKILL.md]: Puts it", "Count twice."):
        assert text in stable
    assert [list(block) for block in requests[0]["system"]] == [["type", "text", "cache_control"], ["type", "text"]]
    assert {body["system"][1]["text"].splitlines()[-1] for body in requests} == {
        f"Current working directory: {batch.rundir / 'workspaces' / name}" for name in "abc"
    }
    assert changing.startswith("\n\nCurrent date: ")
