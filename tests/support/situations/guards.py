"""Situations of a guard, and of what a project's extensions need before they start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.extension_folder import EXAMPLES
from tests.support.faulty_run import program
from tests.support.messages_server import text_reply, tool_reply
from tests.support.situations.extensions import QUICK
from tests.support.situations.stage import situation

if TYPE_CHECKING:
    from tests.support.situations.stage import Stage


@situation("zot: extension …: gave no verdict on …: …; allowed; to deny in such a case set on_failure …")
def no_verdict(stage: Stage) -> str:
    stage.server.add(tool_reply([("read", {"path": "x"})]), text_reply("Done."))
    return stage.asked("--ext-wait", "120", "-e", stage.extension("dies_in_intercept", timeouts=QUICK)).stderr


@situation("zot: … refused bash: …")
def refused(stage: Stage) -> str:
    stage.server.add(tool_reply([("bash", {"command": "rm -rf build"})]), text_reply("Done."))
    return stage.asked("--ext-wait", "120", "-e", EXAMPLES / "guard").stderr


ASKS = """
hello("careful", intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], ask=True, reason="this is a folder of yours")
"""


@situation("zot: … wants a person to decide on …; refused, since no user can be asked; …")
def asks(stage: Stage) -> str:
    stage.server.add(tool_reply([("bash", {"command": "rm -rf build"})]), text_reply("Done."))
    return stage.asked("--ext-wait", "120", "-e", program(stage.zot.folder, "careful", ASKS)).stderr
