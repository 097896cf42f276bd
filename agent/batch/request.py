"""The request for a batch, and the views of it while it runs."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Literal

import msgspec

from agent.batch.reserve import DEFAULT, Rule
from wire.batch.outcome import Usage  # noqa: TC001  (msgspec reads the annotations)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent.options import RunRequest

Workspace = Literal["shared", "copy", "worktree"]
Engine = Literal["local", "ray"]
StopReason = Literal["done", "drained", "stopped", "budget", "deadline", "failures", "failed"]
"""`failed`: the files of the batch cannot be written, or it has no nodes any longer."""


class BatchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How the tasks are run. Times are in seconds. None means that there is no limit, unless it says otherwise."""

    folder: Path
    """RUNDIR."""
    run: RunRequest
    """The flags of every run, before what its task says."""
    jobs: int | None = None
    """Runs at the same time. None: as many as there are cores, and memory for."""
    retries: int = 1
    """Further attempts of a task whose status is retryable."""
    share: tuple[str, ...] = ()
    """Extensions of which one process serves all runs, whatever their manifests say."""
    workspace: Workspace = "shared"
    score: str | None = None
    """The `score` command of tasks without one."""
    command_prefix: str | None = None
    """Before each command that runs in a task: its tools' commands, `check` and `score`."""
    warm_cache: bool = True
    """Whether the first request of a prefix goes alone until its reply begins, so that the others find it cached."""
    batch_api: bool = False
    """Whether the tasks go through the Message Batches API."""
    engine: Engine = "local"
    """Where the processes of the runs are: on this machine, or on the nodes of a Ray cluster."""
    address: str | None = None
    """With `ray`: the address of the cluster. None: as Ray finds it."""
    upload: str | None = None
    """With `ray`: the absolute path of a folder that each node gets a copy of."""
    task_timeout: float | None = None
    """Seconds for a run whose task has no `timeout_s`."""
    task_max_cost_usd: float | None = None
    run_memory: int | None = None
    """Bytes that the processes of one run may have for themselves."""
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    """Input, output and cache together, of all runs."""
    reserve: Rule = DEFAULT
    """How much requests of unknown cost count for `max_cost_usd`."""
    max_failures: int | None = None
    """Tasks that end finally with another status than `ok`, in this start of the batch."""
    deadline: float | None = None
    """Since the start of the batch process."""
    redo: tuple[str, ...] = ()
    """Tasks that are run again although they are done: ids, or `failed`, `changed`, `all`."""


class RunState(Enum):
    """The part of its work that a run is at."""

    SETUP = "setup"
    """Its workspace is made, and its `setup` runs."""
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    CHECK = "check"
    SCORE = "score"
    STOPPING = "stopping"


class RunView(msgspec.Struct, frozen=True):
    """One run that has not ended yet."""

    task: str
    attempt: int
    state: RunState
    since_s: float
    """Since its start."""
    step: int
    usage: Usage
    cost_usd: float | None
    memory_bytes: int
    why_paused: str = ""
    node: str = ""
    """The node that it runs on; empty for this machine."""


class NodeView(msgspec.Struct, frozen=True):
    """One node of the cluster that the batch runs on, or has lost."""

    name: str
    address: str
    """Of its machine, for people; empty if unknown."""
    runs: int
    jobs: int
    """Runs at the same time that it offers; 0 until that is known."""
    trouble: str = ""
    """Why it takes no runs: it was lost, or cannot run this batch. Empty while it does, or is made ready."""


class MessageBatchView(msgspec.Struct, frozen=True):
    """One message batch (`--batch-api`) whose results are not all recorded."""

    id: str
    """The provider's; empty while it has none that is known."""
    state: str
    """planned, doubtful, in_progress, canceling or ended."""
    tasks: int
    """Tasks without a result."""
    expires: float = 0.0
    """When the provider ends it, in seconds since 1970; 0 if unknown."""
    trouble: str = ""
    """Why the last call to the provider has failed; empty if it has not."""


class BatchView(msgspec.Struct, frozen=True):
    """A batch at one moment."""

    tasks: int
    statuses: Mapping[str, int]
    """Number of tasks that are done, by status, earlier starts included."""
    waiting: int
    """Tasks that have not begun."""
    runs: tuple[RunView, ...]
    """Oldest first."""
    jobs: int
    retried: int
    why_paused: str
    """Why no request is sent now; empty while requests are sent."""
    is_paused_by_user: bool
    is_draining: bool
    usage: Usage
    """Use of all attempts of this start, also of those under way."""
    known_cost_usd: float
    has_unknown_cost: bool
    reserved_usd: float
    """US dollars reserved by all starts, by the rule of `--reserve`."""
    tokens_per_minute: float
    """Over the last minute."""
    elapsed_s: float
    eta_s: float | None
    """None until enough tasks have ended to tell."""
    memory_bytes: int
    """Memory of all runs, the template and the model workers, in bytes."""
    rate_limited: int
    sent: tuple[MessageBatchView, ...] = ()
    nodes: tuple[NodeView, ...] = ()
    """Empty for a batch on one machine."""


class BatchControls(msgspec.Struct):
    """The switches of a running batch; the keys p, q and Q of the progress view set them."""

    is_paused: bool = False
    """No new starts, and no new requests."""
    is_draining: bool = False
    """No new starts."""
    is_stopping: bool = False
    """The runs are aborted."""
