"""Extensions under several versions of Node: those before 22.15 resolve their imports in another thread than those
after it."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.support.copilot_folders import fake_sdk
from tests.support.copilot_nodes import NODES, node, path_with
from tests.support.copilot_place import results_of
from tests.support.messages_server import text_reply, tool_reply
from tests.support.rpc_client import RpcClient
from wire.events import Extension
from wire.exit_codes import Status

STAYS_DOWN = {"policy": "temporary"}
JOINS = 'import { joinSession } from "@github/copilot-sdk/extension";\n'
SOUND = """
let calls = 0;
await joinSession({
  tools: [{
    name: "version",
    description: "Says which Node this is",
    handler: () => {
      console.log("not for the host");
      process.stdout.write("nor this\\n");
      return `${process.version}, call ${++calls}`;
    },
  }],
  hooks: {
    onPreToolUse: ({ toolName, cwd }) =>
      toolName === "bash" ? { permissionDecision: "deny", permissionDecisionReason: `not in ${cwd}` } : undefined,
  },
});
"""


@pytest.fixture(params=NODES)
def each_node(request, place):
    """The project of a user whose `node` is this one."""
    place.zot.env["PATH"] = path_with(request.param)
    place.version = subprocess.run(
        [node(request.param), "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return place


def test_tools_hooks_and_clear(each_node):
    place = each_node
    place.write("notes", SOUND)
    calls = [("version", {}), ("bash", {"command": "true"}), ("version", {})]
    expected = [f"{place.version}, call 1", f"not in {place.zot.cwd}", f"{place.version}, call 2"]
    with place.zot.start("rpc", *place.flags("--api-key", "k"), stdin=subprocess.PIPE) as running:
        client = RpcClient.of(running)
        for _ in range(2):
            place.server.add(tool_reply(calls), text_reply("Done."))
            client.prompt("go")
            assert results_of(place.asked()) == expected
            assert client.ask("clear")["success"], "the next prompt finds another process"
        running.process.stdin.close()
        client.rest()
        outcome = running.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])
    log = (place.zot.home / "logs" / "ext-notes.log").read_text()
    assert log.count("not for the host") == log.count("nor this") == 4


FAILING = {
    "lacks-package": JOINS + 'import "no-such-package";\nawait joinSession({});\n',
    "lacks-file": JOINS + 'import "./no-such-file.mjs";\nawait joinSession({});\n',
    "requires-package": 'import module from "module";\nmodule.createRequire(import.meta.url)("no-such-package");\n',
    "lacks-export": 'import { joinSesion } from "@github/copilot-sdk/extension";\nawait joinSesion({});\n',
    "lacks-part-of-sdk": JOINS + "await joinSession({});\n",
}
SAID = {
    "syntax-error": '"SyntaxError: Unexpected token',
    "throws-at-top": "(reading 'tools')\" at extension.mjs:6",
    "uses-require": '"Error: require() does not find the Copilot SDK; use import" at extension.mjs:',
    "lacks-package": "Cannot find package 'no-such-package' imported from ",
    "requires-package": "Cannot find module 'no-such-package'\" at extension.mjs:2",
    "lacks-file": "no-such-file.mjs' imported from ",
    "lacks-export": "does not provide an export named 'joinSesion'\" at extension.mjs:1",
    "lacks-part-of-sdk": "Cannot find package 'vscode-jsonrpc' imported from ",
}


@pytest.mark.slow
def test_what_starts_that_fail_say(each_node):
    """The user of a run reads what is missing and where, whichever Node reports it."""
    place = each_node
    for name, text in FAILING.items():
        (place.extensions / name).mkdir(parents=True)
        (place.extensions / name / "extension.mjs").write_text(text)
        (place.extensions / name / "extension.json").write_text(json.dumps({"restart": STAYS_DOWN}))
    for name in SAID.keys() - FAILING.keys():
        place.add(name, restart=STAYS_DOWN)
    package = fake_sdk(place.extensions / "lacks-part-of-sdk")
    (package / "dist" / "extension.js").write_text('import "vscode-jsonrpc";\nexport const joinSession = () => {};\n')
    place.write("notes", SOUND)
    outcome = place.results(("version", {}), flags=("--ext-wait", "30")).check(Status.OK)
    assert outcome.tool_texts() == [f"{place.version}, call 1"]
    said = {
        record.extension: record.message for record in outcome.of(Extension) if record.event in ("failed", "exited")
    }
    for name, words in SAID.items():
        assert words in said[name], name
        assert any(words in line and f"extension {name}" in line for line in outcome.warnings), name
