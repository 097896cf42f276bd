"""Plays a recording by position: a request gets the next recorded reply, whatever it asks. Differences are reported."""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent.cassette.player import ABSENT, CassetteDifference, CassettePlayer, differences
from agent.trial.plan import NoReplyLeft, SentRequest, ShownDifference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent.cassette.placeholders import PlaceholderNames
    from agent.trial.tool_results import RecordedTools

Json = dict[str, Any]
MOST = 50
"""Maximum number of reported differences of one request."""


class TrialPlayer(CassettePlayer):
    """Plays the exchanges of one cassette by position. `tools` is set before the first request."""

    tools: RecordedTools

    def next(self, params: Mapping[str, Any]) -> list[Json]:
        if not self.remaining:
            self.tools.report.add(NoReplyLeft())
        return super().next(params)

    def _compare(self, recorded: Json, asked: Json) -> None:
        found = tuple(map(self._shown, islice(_relevant(recorded, asked), MOST)))
        self.tools.report.add(SentRequest(self._played + 1, found))

    def _on_played(self, names: PlaceholderNames) -> None:
        following = self._exchanges[self._played]["request"] if self.remaining else {}
        self.tools.take(self._exchanges[self._played - 1]["reply"], following, names.restored)

    def _shown(self, difference: CassetteDifference) -> ShownDifference:
        asked = "" if difference.asked is ABSENT else json.dumps(difference.asked, sort_keys=True)
        key = hashlib.sha256(f"{self._played} {difference.path} {asked}".encode()).hexdigest()[:24]
        return ShownDifference(key, difference.path, str(difference))


def _relevant(recorded: Json, asked: Json) -> Iterator[CassetteDifference]:
    """The differences apart from definitions of tools, and from lines that the system prompt lacks: an extension that
    is left out adds none."""
    own = {"tools", "system"}
    known = set(_system_lines(recorded))
    if added := [line for line in _system_lines(asked) if line not in known]:
        yield CassetteDifference("system", ABSENT, "\n".join(added))
    first, second = ({key: value for key, value in each.items() if key not in own} for each in (recorded, asked))
    yield from differences(first, second)


def _system_lines(request: Json) -> list[str]:
    system = request.get("system")
    if not isinstance(system, list):
        return [str(system)] if system else []
    return "\n".join(str(block.get("text", "")) for block in system if isinstance(block, dict)).splitlines()
