"""The four places where a run can hang. A run has reached its place before a test acts on it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.extension_folder import extension
from tests.support.messages_server import MessagesServer, stall_midway, text_reply
from tests.support.replay_script import Script
from wire.events import TextDelta, ToolProgress, TurnEnd, TurnStart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.zot_process import Running, Zot

PLACES = ("model", "bash", "guard", "extension tool")
PATIENT = {"timeouts": {"intercept": 600, "tool_call": 600}}


@contextmanager
def hanging(zot: Zot, place: str, *flags: str) -> Iterator[Running]:
    """A run that has reached this place and hangs there."""
    if place == "model":
        with (
            MessagesServer(stall_midway(text_reply("Hello there"), after=4)) as server,
            zot.start("--json", "--base-url", server.base_url, *flags, "go") as running,
        ):
            running.wait_for(TextDelta)
            yield running
        return
    script = Script(zot.cwd)
    extensions = []
    if place == "bash":
        script.call(("bash", {"command": "echo up; sleep 600 & sleep 600"}), ("read", {"path": "x"}))
        reached: type = ToolProgress
    elif place == "guard":
        extensions = ["-e", extension(zot.folder, "never_answers", **PATIENT)]
        script.offer("hang").answer("never said")
        reached = TurnStart
    else:
        extensions = ["-e", extension(zot.folder, "answers_late", **PATIENT)]
        script.offer("late").call(("late", {}), ("read", {"path": "x"}))
        reached = TurnEnd
    with zot.start(*zot.replay_flags(script), *extensions, *flags, "go") as running:
        running.wait_for(reached)
        yield running
