"""The requests of a batch's tasks begin alike, so that the provider serves the beginning from its cache."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.extension_folder import CHILDREN
from tests.support.mcp_files import write_servers
from tests.support.messages_server import CachingAnswers, hold_first_byte, text_reply, tool_reply
from tests.support.messages_server.prefix_cache import allowed_read
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer, Reply
    from tests.support.messages_server.server import Received
    from tests.support.zot_process import Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")


@pytest.mark.slow
@pytest.mark.parametrize("workspace", ["copy", "worktree"])
def test_tasks_in_copies_of_a_project_begin_with_the_same_bytes_up_to_the_mark(
    zot: Zot, server: MessagesServer, workspace: str
):
    """Also with all that the system prompt names of the project: context files, skills, what a server says."""
    (zot.cwd / "AGENTS.md").write_text("Use tabs.\n")
    (zot.cwd / ".zot" / "skills" / "deploy").mkdir(parents=True)
    (zot.cwd / ".zot" / "skills" / "deploy" / "SKILL.md").write_text("---\ndescription: Puts it there.\n---\nRead.\n")
    for words in (["init"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-m", "all"]):
        subprocess.run(["git", *words], cwd=zot.cwd, check=True, capture_output=True)
    batch = BatchCommand(zot, server)
    batch.tasks(dict.fromkeys("abc", "go"))
    reference = ["-S", str(CHILDREN / "mcp" / "reference.py"), "--instructions", "Count twice."]
    servers = write_servers(zot.folder / "mine.json", counts={"command": sys.executable, "args": reference})
    found = batch.run("--workspace", workspace, "--with-skills", "--mcp-config", servers, "-q")
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


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--cache-ttl", "1h"]])
def test_a_batch_reads_all_that_the_rules_of_the_cache_allow(zot: Zot, server: MessagesServer, flags: list[str]):
    """The first request goes alone, and each turn finds all of the turn before; the server counts by the rules."""
    batch = BatchCommand(zot, server)

    def reply(request: Received, usage: dict[str, int]) -> Reply:
        if len(request.body["messages"]) < 5:
            return tool_reply([("bash", {"command": "true"})] * 12, output_tokens=3, **usage)
        return text_reply("done", output_tokens=3, **usage)

    server.otherwise = answers = CachingAnswers(reply)
    batch.tasks(dict.fromkeys("abcdef", "go"))
    more = ["--workspace", "copy", "-j", "4", "--append-system-prompt", "Say it in words. " * 400, "-q", *flags]
    assert batch.run(*more).status == 0
    allowed, total = allowed_read([one.request.body for one in answers.counted])
    read = sum(one.use.read for one in answers.counted)
    assert (len(answers.counted), read) == (18, allowed)
    assert read > total / 2
    hour = sum(one.use.written_1h for one in answers.counted)
    assert hour == (total - read if flags else 0)
    dollars = 15 * 54 + 0.3 * read + (6 if flags else 3.75) * (total - read)
    costs = [batch.attempts(task)[0].cost_usd for task in "abcdef"]
    assert sum(cost or 0.0 for cost in costs) == pytest.approx(dollars / 1e6, abs=2e-5)


def test_without_a_warm_cache_all_requests_are_sent_at_once(zot: Zot, server: MessagesServer):
    batch = BatchCommand(zot, server)
    server.otherwise = lambda _request: hold_first_byte(text_reply("done"))
    batch.tasks(dict.fromkeys("abc", "go"))
    more = ["-j", "3", "--append-system-prompt", "Say it in words. " * 400, "-q", "--no-warm-cache"]
    with batch.start(*more) as running:
        server.wait_for_requests(3)
        for _ in "abc":
            server.release()
        assert running.finish(PATIENCE_S).status == 0
