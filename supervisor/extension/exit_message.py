"""The notice about a worker that has ended. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor.extension.restart import Cause, Decision, GiveUp, RestartIn, WorkerEnding
from wire.text import counted

if TYPE_CHECKING:
    from supervisor.extension.notices import NoticeKind


class ExitMessage(msgspec.Struct, frozen=True):
    """The parts of a notice. `message` may quote the extension and is shortened; `evidence` is not shortened."""

    kind: NoticeKind
    message: str
    evidence: str
    failure: str
    """The reason with which requests fail from now on."""


def exit_message(
    extension: str,
    ending: WorkerEnding,
    decision: Decision,
    *,
    reason: str,
    full_reason: str,
    exit_status: str | None,
    last_words: str,
    log: str,
    is_silent: bool,
) -> ExitMessage:
    """Returns the notice about a worker that has ended. `reason` says why it ended. `full_reason` is `reason` with the
    number of pending requests. `last_words` is the cause of its crash or the last line of its stderr, as the end of a
    sentence. With `is_silent` the message does not say why the worker is not started again."""
    place = f" (log: {log})"
    if isinstance(decision, GiveUp):
        last = exit_status if ending.cause is Cause.EXIT else reason
        failure = f"{counted(decision.exits, 'exit')} in {decision.span_s:.0f} s, last {last}{last_words}"
        return ExitMessage("failed", failure, f"; given up: zot ext restart {extension} tries again{place}", failure)
    if isinstance(decision, RestartIn):
        wait = f"{decision.delay_s:.1f} s"
        kind: NoticeKind = "limit" if ending.cause is Cause.OVER_LIMIT else "exited"
        evidence = f"{last_words}; starting it again in {wait}{place}"
        return ExitMessage(kind, full_reason, evidence, f"{reason}{last_words}; it is started again in {wait}")
    then = "" if is_silent else f"; not started again: {decision.why}"
    kind = "exited" if ending.was_ready and ending.cause is Cause.EXIT else "failed"
    if ending.cause is Cause.OVER_LIMIT:
        kind = "limit"
    return ExitMessage(kind, full_reason, f"{last_words}{then}{place}", reason + last_words)
