"""A call to the provider about one message batch: its parameters, and the state after its answer. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agent.batch.message_batches import lifecycle
from agent.batch.message_batches.lifecycle import Call, Failure
from agent.batch.message_batches.provider_calls import BatchesLine, BatchLine

if TYPE_CHECKING:
    from collections.abc import Collection

    from agent.batch.message_batches.lifecycle import MessageBatch, Pace
    from agent.batch.message_batches.provider_calls import DoneLine
    from agent.batch.message_batches.request_file import RequestFile


def call_params(batch: MessageBatch, call: Call, file: RequestFile | None) -> dict[str, Any]:
    """As `worker.worker_main` says. `file` is needed for `CREATE`."""
    if call is Call.CREATE:
        assert file is not None
        return {"path": os.path.abspath(file.path), "bytes": file.size}
    if call is Call.LIST:
        return {"since": batch.planned - lifecycle.SKEW_S}
    return {"batch": batch.candidates[0] if call is Call.LOOK else batch.id}


def state_after(
    batch: MessageBatch,
    call: Call,
    answer: BatchLine | BatchesLine | DoneLine | Failure,
    *,
    asked: float,
    others: Collection[str],
    now: float,
    pace: Pace,
) -> MessageBatch:
    """The call was made at `asked`. `others` are the ids of other message batches of ours."""
    if isinstance(answer, Failure):
        failed = lifecycle.creation_failed if call is Call.CREATE else lifecycle.failed
        return failed(batch, answer, now, pace)
    if isinstance(answer, BatchesLine):
        return lifecycle.listed(batch, answer.batches, others, asked, now, pace)
    if not isinstance(answer, BatchLine):
        return lifecycle.fetched(batch)
    if call is Call.LOOK:
        return lifecycle.looked(batch, answer.batch, answer.first_id, now, pace)
    known = lifecycle.created if call is Call.CREATE else lifecycle.retrieved
    return known(batch, answer.batch, now, pace)


def out_of_reach(batch: MessageBatch, call: Call, failure: Failure, file: RequestFile | None) -> str:
    """Why no further call about this message batch makes sense with this key; empty if one does. A message batch that
    is not found is given up once its file is gone, too: another account may have created it."""
    if call is Call.CREATE:
        return ""
    if failure.kind == "authentication":
        return failure.message
    if failure.status == 404 and call in (Call.RETRIEVE, Call.RESULTS) and file is not None:
        return (
            f"message batch {batch.id} is not there for this key ({failure.message}): give the key of the account that"
            f" created it, or remove {file.path} to give it up"
        )
    return ""
