"""The messages between a run and its batch on the link, a socket: one JSON object per line.

The batch begins with `begin`. The run sends each request to the model as `request`, and gets the lines of the model
worker as they are (`agent.model.worker.worker_main` describes them), with the run's own request id. No type occurs both
among the batch's own lines and among those of the worker. The end of the link means that the other side is gone.

However the task ends, the run's event stream ends in `result` and `done`, and `ended` is the last line on the link. A
run without `ended` has died.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw

from wire.batch.outcome import CommandEnd, Score, TaskStatus  # noqa: TC001  (msgspec reads the annotations)
from wire.trace_context import TraceContext  # noqa: TC001  (msgspec reads the annotations)


class ScoreAgain(msgspec.Struct, frozen=True):
    """The run of a task that is done: only its `score` command is carried out."""

    status: TaskStatus
    text: str
    """The final text."""
    diff: str
    """The file with the changes of the run; empty without changes."""


class WorktreeBase(msgspec.Struct, frozen=True):
    """The commit at which the worktrees of a repository begin."""

    repository: str
    """Its working folder; of a worktree of the user's, that one."""
    commit: str
    common: str
    """The folder `.git`, which all worktrees of the repository share."""


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
    """The mark in the environment of every process that the run starts: the batch's own token, a dot, and more. So the
    reaper of the batch finds what is left of any run."""
    version: str
    """The version of zot."""
    workspace: str = ""
    """With `--workspace copy` or `worktree`: the folder that becomes the copy of the working folder, or the worktree of
    its repository. Empty: the run works in the working folder itself."""
    base: WorktreeBase | None = None
    """With `--workspace worktree`."""
    prefix: tuple[str, ...] = ()
    """With `--in`: the words before each command of the task, with `{workspace}` in place of its folder."""
    again: ScoreAgain | None = None
    """Its result is scored again; None: the task is run."""
    context: TraceContext | None = None
    """The span of the task, with `--otel`: then the run sends `spans`."""


class Abort(msgspec.Struct, frozen=True, tag_field="type", tag="abort"):
    """The batch asks the run to end now, with a complete event stream."""

    status: str
    """A word of `wire.exit_codes.Status`: `timeout` or `interrupted`."""
    reason: str


class ModelRequest(msgspec.Struct, frozen=True, tag_field="type", tag="request"):
    """The run sends a request to the model, one at a time."""

    id: str
    configure: Raw
    """The `configure` line for a model worker."""
    model: str
    params: Raw


class Cancel(msgspec.Struct, frozen=True, tag_field="type", tag="cancel"):
    """The run gives up its request: the batch sends no more lines for it."""

    id: str


class RunPhase(msgspec.Struct, frozen=True, tag_field="type", tag="phase"):
    """The run enters a phase. Until the first such line it is starting."""

    state: Literal["setup", "starting", "running", "check", "score"]
    """`setup`: its workspace is made, and its `setup` command runs. `running`: the first record of the event stream has
    been written. `check`: its `check` command runs, and its changes are saved. `score`: its `score` command runs, in a
    time of its own: the timeout of the task no longer counts."""


class RunSpans(msgspec.Struct, frozen=True, tag_field="type", tag="spans"):
    """Spans of the run that have ended: the line of `wire.traces.span.Spans`, which the batch passes on as it came."""

    spans: Raw


class RunEnded(msgspec.Struct, frozen=True, tag_field="type", tag="ended", kw_only=True):
    """The run's last line: the end of the task, and of `setup` and `check`, which the event stream does not show."""

    status: TaskStatus
    reason: str = ""
    may_pass: bool = False
    """With `error` and `rate_limit`: whether another attempt may end better."""
    setup: CommandEnd | None = None
    check: CommandEnd | None = None
    score: Score | None = None
    diff: str = ""
    """The file with the changes of the run as a diff; empty without changes."""
    has_no_room: bool = False
    """With `interrupted`: the disk of the batch's folder has no room for this workspace, nor for any other."""


FromBatch = Begin | Abort
FromRun = ModelRequest | Cancel | RunPhase | RunSpans | RunEnded
CONTROL = frozenset({"begin", "abort"})
"""Types of the batch's own lines; all other lines come from the model worker."""

_encoder = msgspec.json.Encoder()
_from_batch: msgspec.json.Decoder[FromBatch] = msgspec.json.Decoder(FromBatch)
_from_run: msgspec.json.Decoder[FromRun] = msgspec.json.Decoder(FromRun)


def encode(message: FromBatch | FromRun) -> bytes:
    """Encodes a message as one line, LF included. Its `Raw` members may end in LF."""
    return _encoder.encode(message).replace(b"\n", b" ") + b"\n"


def decode_from_batch(line: bytes) -> FromBatch:
    """Raises `msgspec.DecodeError`."""
    return _from_batch.decode(line)


def decode_from_run(line: bytes) -> FromRun:
    """Raises `msgspec.DecodeError`."""
    return _from_run.decode(line)
