"""Situations of Copilot extensions: the SDK, Node, their starts, their hooks and the prompts that they send."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tests.support.copilot_folders import copilot_extension, fake_sdk, write_node
from tests.support.copilot_host import CHILDREN, sdk
from tests.support.messages_server import text_reply, tool_reply
from tests.support.situations.stage import situation, situations

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.messages_server.replies import Reply
    from tests.support.situations.stage import Stage

JOINS = 'import { joinSession } from "@github/copilot-sdk/extension";\n'


def with_sdk(stage: Stage) -> None:
    """The newest SDK is installed for all projects."""
    (stage.zot.home / "copilot-sdk").mkdir(parents=True)
    (stage.zot.home / "copilot-sdk" / "node_modules").symlink_to(sdk().parents[1])


def started(stage: Stage, *folders: Path) -> str:
    """The stderr of a run with these extensions, each started once."""
    with_sdk(stage)
    named = [word for folder in folders for word in ("-e", folder)]
    return stage.answered("--ext-wait", "120", *named).stderr


def copied(stage: Stage, child: str, **manifest: object) -> Path:
    """One of the folders of tests/children/copilot."""
    text = (CHILDREN / child / "extension.mjs").read_text()
    return copilot_extension(stage.zot.folder, child, text, restart={"policy": "temporary"}, **manifest)


def faulty(stage: Stage, needed: tuple[str, dict[str, object]]) -> str:
    child, manifest = needed
    return started(stage, copied(stage, child, **manifest))


situations(
    faulty,
    {
        "zot: extension …: said no hello within …; it has not called joinSession() …": (
            "never-joins",
            {"timeouts": {"hello": 1}},
        ),
        "zot: extension …: it exited before its hello (exit 1): …Error: … at extension.mjs:…": ("throws-at-top", {}),
        'zot: extension …: it exited before its hello (exit 1): "Error: require() does not find the Copilot SDK; …': (
            "uses-require",
            {},
        ),
    },
)


DONE = text_reply("Done.")
CALLS = [tool_reply([("bash", {"command": "true"})]), DONE]


def asked(stage: Stage, needed: tuple[str, list[Reply]]) -> str:
    """The stderr of a run with an extension of this text, whose model makes these replies."""
    text, replies = needed
    with_sdk(stage)
    stage.server.add(*replies)
    return stage.asked("--ext-wait", "120", "-e", copilot_extension(stage.zot.folder, "notes", JOINS + text)).stderr


situations(
    asked,
    {
        "zot: extension …: it has hooks that are never asked here: …; …": (
            "await joinSession({ hooks: { onPreToolUze: () => {} } });",
            [DONE],
        ),
        "zot: extension …: it asks for environment variables that are missing: …; …": (
            'await joinSession({ requestedEnvironmentVariables: ["JIRA_TOKEN"] });',
            [DONE],
        ),
        "zot: extension …: gave no verdict on …: its hook … threw: …": (
            "await joinSession({ hooks: { onPreToolUse: (input) => input.toolArgs.path.length } });",
            CALLS,
        ),
        "zot: extension …: '…' in the output of its hook … has no effect; known are …": (
            "await joinSession({ hooks: { onPreToolUse: () => ({ permisionDecision: 'deny' }) } });",
            CALLS,
        ),
        "zot: extension …: a prompt that it sends is refused: extensions have sent 10 prompts already, …": (
            "const session = await joinSession();\n"
            "session.on('user.message', () => session.send({ prompt: 'again' }).catch(() => {}));",
            [DONE] * 11,
        ),
        "zot: extension …: a prompt that it sends is refused: the run is ending: it takes no more prompts": (
            "const session = await joinSession({ hooks: {\n"
            "  onSessionEnd: () => session.send({ prompt: 'late' }).then(() => {}, () => {}),\n"
            "} });",
            [DONE],
        ),
        "zot: extension …: a prompt that it sends came after the end, and is lost": (
            "const session = await joinSession();\n"
            "const send = () => session.send({ prompt: 'later' }).catch(() => {});\n"
            "process.stdin.once('close', () => setImmediate(send));",
            [DONE],
        ),
    },
)


@situation("zot: extension load: …: it needs @github/copilot-sdk, which is not installed: zot ext install-sdk copilot")
def without_sdk(stage: Stage) -> str:
    return stage.answered("-e", copilot_extension(stage.zot.folder, "notes")).stderr


@situation("zot: … Copilot extensions cannot be started: …: they need @github/copilot-sdk, which is not installed: …")
def several_without_sdk(stage: Stage) -> str:
    for name in ("notes", "lint"):
        copilot_extension(stage.zot.cwd / ".github" / "extensions", name)
    return stage.answered("--trust-project").stderr


@situation("zot: …: Node.js is not on PATH: install Node 20.6 or newer, or start zot with a PATH that has it")
def without_node(stage: Stage) -> str:
    stage.zot.env["PATH"] = str(stage.zot.folder)
    return stage.answered("-e", copilot_extension(stage.zot.folder, "notes")).stderr


@situation(
    'zot: extension …: it exited before its hello (exit 1): "zot cannot start this extension: Node 20.6 or newer is'
    " needed; …"
)
def node_is_old(stage: Stage) -> str:
    old = stage.file(
        "old.cjs",
        "const m = require('node:module'); delete m.register; delete m.registerHooks; m.syncBuiltinESMExports();\n",
    )
    real = stage.zot.env.get("PATH", os.environ["PATH"])
    sdk()
    write_node(stage.zot.folder / "bin", f'PATH={real} exec node --require {old} "$@"')
    stage.zot.env["PATH"] = f"{stage.zot.folder / 'bin'}:{real}"
    return started(stage, copied(stage, "minimal"))


@situation(
    'zot: extension …: it exited before its hello (exit 1): "… (@github/copilot-sdk … asks for Node …, and this is v…)"'
    " …"
)
def sdk_asks_for_a_newer_node(stage: Stage) -> str:
    package = fake_sdk(stage.zot.home / "copilot-sdk")
    described = json.loads((package / "package.json").read_text())
    (package / "package.json").write_text(json.dumps({**described, "engines": {"node": ">=99"}}))
    sdk()
    return stage.answered("-e", copilot_extension(stage.zot.folder, "notes", f"{JOINS}joinSession.x.y;\n")).stderr


@situation("zot: Copilot extension … of yours is not trusted (never seen): not started; …")
def not_trusted(stage: Stage) -> str:
    fake_sdk(stage.zot.home / "copilot-sdk")
    copilot_extension(stage.zot.home / "copilot-extensions", "notes")
    return stage.answered().stderr


@situation(
    "zot: extension …: its tool '…' has the name of a tool of extension …: each name is there once; rename one …"
)
def two_tools_of_one_name(stage: Stage) -> str:
    return started(stage, copied(stage, "clash-first"), copied(stage, "clash-second"))


@situation("manifest: exec: zot starts extension.mjs itself, and knows its protocol; leave exec out")
def with_exec(stage: Stage) -> str:
    fake_sdk(stage.zot.home / "copilot-sdk")
    made = copilot_extension(stage.zot.cwd / ".github" / "extensions", "notes")
    (made / "extension.json").write_text(json.dumps({"exec": "node", "args": ["extension.mjs"]}))
    return stage.answered("--trust-project").stderr


@situation("zot ext install-sdk: npm is not on PATH; it comes with Node …")
def without_npm(stage: Stage) -> str:
    stage.zot.env["PATH"] = str(stage.zot.folder)
    return stage.zot.run("ext", "install-sdk", "copilot").stderr
