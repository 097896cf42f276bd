"""The `result` record, the last one before `done`: how the prompt ended, and what it and each extension cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wire import events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wire.exit_codes import Status


def result_record(
    status: Status,
    reason: str,
    *,
    text: str,
    answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET,
    steps: int,
    usage: events.Totals,
    duration_s: float,
    session: str,
    extensions: Mapping[str, events.Cost],
    sent: Sequence[events.SentPrompt] = (),
    error_kind: str = "",
) -> events.Result:
    """Makes the record. Its `exit_code` is the exit status of the process, see `wire.exit_codes`."""
    return events.Result(
        status=status.value,
        exit_code=status.exit_code,
        reason=reason,
        text=text,
        answer=answer,
        steps=steps,
        usage=usage,
        cost_usd=usage.cost_usd,
        duration_ms=round(duration_s * 1000),
        session=session,
        extensions=dict(extensions),
        sent=tuple(sent) or msgspec.UNSET,
        error_kind=error_kind or msgspec.UNSET,
    )
