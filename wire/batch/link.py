"""What a run and its batch say to each other on the link, a socket between them: one JSON object per line.

The batch begins with `begin`. The run sends each request to the model as `request`, and gets the lines of the model
worker as they are (`agent.model.worker_main` describes them), with the run's own request id. So the types of both kinds
of lines are different words. The end of the link means that the other side is gone.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw


class Begin(msgspec.Struct, frozen=True, tag_field="type", tag="begin", kw_only=True):
    """The first line of the batch."""

    task: Raw
    """A `wire.batch.task.Task`; its paths are absolute."""
    attempt: int
    run: str
    """Unique among all attempts of the batch. Ids of requests begin with it: `RUN.1`, `RUN.2`, and so on."""
    request: Raw
    """The flags of the batch, as an `agent.options.RunRequest`."""
    token: str
    """The mark in the environment of every process that the run starts."""
    cgroup: str = ""
    """The folder of the cgroup that the run's process joins first; empty for none."""


class Abort(msgspec.Struct, frozen=True, tag_field="type", tag="abort"):
    """The batch wants the run to end now, with a whole stream."""

    status: str
    """A word of `wire.exit_codes.Status`: `timeout` or `interrupted`."""
    reason: str


class Request(msgspec.Struct, frozen=True, tag_field="type", tag="request"):
    """The run asks the model. One request at a time."""

    id: str
    configure: Raw
    """The `configure` line for a model worker."""
    model: str
    params: Raw


class Cancel(msgspec.Struct, frozen=True, tag_field="type", tag="cancel"):
    """The run gives its request up: no more lines of it."""

    id: str


FromBatch = Begin | Abort
FromRun = Request | Cancel
CONTROL = frozenset({"begin", "abort"})
"""The types of the lines from the batch; all other lines are of the model worker."""

_encoder = msgspec.json.Encoder()
_from_batch: msgspec.json.Decoder[FromBatch] = msgspec.json.Decoder(FromBatch)
_from_run: msgspec.json.Decoder[FromRun] = msgspec.json.Decoder(FromRun)


def encode(message: FromBatch | FromRun) -> bytes:
    """One line, LF included."""
    return _encoder.encode(message) + b"\n"


def decode_from_batch(line: bytes) -> FromBatch:
    """Raises `msgspec.DecodeError`."""
    return _from_batch.decode(line)


def decode_from_run(line: bytes) -> FromRun:
    """Raises `msgspec.DecodeError`."""
    return _from_run.decode(line)
