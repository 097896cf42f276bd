"""Recorded replies of the model. `CassetteRecorder` writes a cassette while a model answers, `CassettePlayer` answers
from a cassette.

A cassette is a JSONL file. Its first line is `{"type":"cassette","version":1}`; then each exchange is one line,
`{"type":"exchange","request":{...},"reply":[...]}`: the canonical request parameters and the lines of the model worker,
chunk by chunk, without their ids. Paths of this machine are placeholders in both, see `agent.cassette.placeholders`.
No exchange has headers or keys.
"""

from agent.cassette.errors import CassetteError, CassetteMismatch
from agent.cassette.placeholders import canonical
from agent.cassette.player import CassettePlayer
from agent.cassette.recorder import CassetteRecorder

__all__ = ["CassetteError", "CassetteMismatch", "CassettePlayer", "CassetteRecorder", "canonical"]
