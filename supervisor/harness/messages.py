"""Makes the `hello_ack` of the harness, and finds the answer that a frame needs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wire.dialects.base import HostInfo, Setup
from wire.dialects.long_lines import LONGEST
from wire.dialects.table import ZOT, find_dialect

if TYPE_CHECKING:
    from supervisor.harness.comparison import ScriptPaths

HOST = "rehearsal"
"""The host's version and the provider in the `hello_ack`. Recorded scripts contain it."""
MODEL = "none"
SESSION = "00000000-0000-4000-8000-000000000000"
"""The session that extensions are told of, if their dialect has one."""


def host_info(places: ScriptPaths, session: str = SESSION) -> HostInfo:
    """Returns the facts about the harness that extensions get."""
    return HostInfo(HOST, HOST, MODEL, places.cwd, session)


def hello_ack(places: ScriptPaths, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns the whole `hello_ack`. Members of `given` replace the defaults."""
    ack = (
        find_dialect(ZOT)
        .session(Setup("", HOST, LONGEST))
        .greet(host_info(places), places.extension_dir, places.data_dir, 0.0)
    )
    return {**msgspec.json.decode(ack), **(given or {})}


ANSWERS = {
    "tool_call": "tool_result",
    "command_invoked": "command_response",
    "event_intercept": "event_intercept_response",
    "ping": "pong",
}
"""The type of each host's request, with the type of its answer. Request and answer have the same id."""


class ExpectedAnswer(NamedTuple):
    """Identifies the answer to a request, by type and id."""

    type: str
    id: str | None

    def is_in(self, frame: dict[str, Any]) -> bool:
        return frame.get("type") == self.type and frame.get("id") == self.id


def answer_to(frame: dict[str, Any]) -> ExpectedAnswer | None:
    """Returns the answer that this frame needs, or None if it needs none."""
    kind = ANSWERS.get(frame["type"])
    return None if kind is None else ExpectedAnswer(kind, frame.get("id"))
