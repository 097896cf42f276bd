"""A project with Copilot extensions, the real SDK and Node, where `zot` runs against a scripted server."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from tests.support.copilot_host import CHILDREN, sdk
from tests.support.messages_server import Reply, text_reply, tool_reply

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Outcome, Zot
    from wire.exit_codes import Status

Call = tuple[str, dict[str, Any]]
PATIENT = {"hello": 30.0, "ready": 30.0, "tool_call": 30.0, "intercept": 30.0, "command": 30.0}
"""Seconds: of what is to succeed on a busy machine, too."""


class CopilotPlace:
    """The git repository of a user who has installed the SDK and trusts the extensions of this project."""

    def __init__(self, zot: Zot, server: MessagesServer, version: str = "newest") -> None:
        """`version` of the SDK is `oldest` or `newest`. Skips the test where there is no Node or no such SDK."""
        self.zot = zot
        self.server = server
        self.extensions = zot.cwd / ".github" / "extensions"
        self.package = sdk(version)
        (zot.cwd / ".git").mkdir()
        (zot.home / "copilot-sdk").mkdir(parents=True)
        (zot.home / "copilot-sdk" / "node_modules").symlink_to(self.package.parents[1])
        zot.env["COPILOT_HOME"] = str(zot.folder / "copilot")

    def add(self, child: str, name: str = "", parent: Path | None = None, **manifest: Any) -> Path:
        """Copies one of tests/children/copilot into the project, or into another folder. The keywords go into its
        manifest, and so do long deadlines."""
        made = (parent or self.extensions) / (name or child)
        shutil.copytree(CHILDREN / child, made)
        return self._described(made, manifest)

    def write(self, name: str, text: str, **manifest: Any) -> Path:
        """Writes an extension into the project. `joinSession` is imported."""
        made = self.extensions / name
        made.mkdir(parents=True)
        (made / "extension.mjs").write_text(f'import {{ joinSession }} from "@github/copilot-sdk/extension";\n{text}')
        return self._described(made, manifest)

    def _described(self, made: Path, manifest: dict[str, Any]) -> Path:
        fields = {**manifest, "timeouts": {**PATIENT, **manifest.get("timeouts", {})}}
        (made / "extension.json").write_text(json.dumps(fields))
        return made

    def flags(self, *more: str | Path) -> list[str | Path]:
        return ["--base-url", self.server.base_url, "--trust-project", *more]

    def run(self, *replies: Reply, prompt: str = "go", flags: tuple[str | Path, ...] = (), **popen: Any) -> Outcome:
        """A run with `--json` whose model gives these replies."""
        self.server.add(*replies)
        return self.zot.run("--json", *self.flags(*flags), prompt, **popen)

    def results(self, *turns: Call | list[Call], status: Status | None = None, **given: Any) -> Outcome:
        """A run whose model makes these calls, a turn for each, or for each list, and says `Done.`"""
        replies = [tool_reply(turn if isinstance(turn, list) else [turn]) for turn in turns]
        return self.run(*replies, text_reply("Done."), **given)

    @property
    def offered(self) -> list[set[str]]:
        """The names of the tools in each request to the model."""
        return [{tool["name"] for tool in request.body.get("tools", [])} for request in self.server.requests]

    def asked(self, request: int = -1) -> list[dict[str, Any]]:
        """The messages of a request to the model."""
        return list(self.server.requests[request].body["messages"])


def said(messages: list[dict[str, Any]], role: str = "user") -> list[str]:
    """The texts of one side in messages of a request, without tool results."""
    found: list[str] = []
    for message in messages:
        if message["role"] != role:
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [block["text"] for block in blocks if block["type"] == "text"]
    return found


def results_of(messages: list[dict[str, Any]]) -> list[str]:
    """The texts of the tool results in messages of a request, as the model gets them."""
    found: list[str] = []
    for message in messages:
        if isinstance(message["content"], str):
            continue
        for block in message["content"]:
            if block["type"] == "tool_result":
                content = block["content"]
                parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
                found.append("".join(part.get("text", f"[{part['type']}]") for part in parts))
    return found
