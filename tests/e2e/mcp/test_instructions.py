"""The instructions of a server are in the system prompt, and never long there."""

from __future__ import annotations

import sys

from tests.support.extension_folder import CHILDREN
from tests.support.mcp_files import write_servers
from tests.support.messages_server import text_reply
from wire.exit_codes import Status


def test_instructions_are_in_the_system_prompt_and_cut(zot, server):
    reference = str(CHILDREN / "mcp" / "reference.py")
    long = {"command": sys.executable, "args": ["-S", reference, "--instructions", "Count twice. " * 1000]}
    silent = {"command": sys.executable, "args": ["-S", reference, "--instructions", "Never."], "instructions": False}
    file = write_servers(zot.folder / "mine.json", long=long, silent=silent)
    server.add(text_reply("Done."))
    zot.run("--json", "--base-url", server.base_url, "--no-session", "--mcp-config", str(file), "go").check(Status.OK)
    prompt = server.requests[0].body["system"][0]["text"]
    assert "\nThe extension long says of its tools:\nCount twice. Count twice." in prompt
    told = prompt.split("says of its tools:\n")[1].split("\n")[0]
    assert (len(told.encode()) <= 2048, told[-2:]) == (True, " …")
    assert "Never." not in prompt
