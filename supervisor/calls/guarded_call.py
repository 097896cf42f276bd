"""One call of a tool between its guards: the steps, the question to the guards in each, the result of the call. Pure.

    ADMISSION   guards judge the call
    RUNNING     the tool runs
    RECOVERY    it has failed: guards of errors say whether it runs once more
    REVIEW      guards judge the result, also that of a call that was refused
    ENDED

A driver asks and runs: `agent.run.turn.tool_calls` waits for each answer, `supervisor.calls.call_driver` does not.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from supervisor.loop.future import Failure
from supervisor.registry.plain_schema import unfit_reason
from wire import frames
from wire.lenient_json import json_on_one_line, raw_json

if TYPE_CHECKING:
    from supervisor.calls.guard_chain import Judgement

    DecisionSource = Literal["user", "policy", "yolo"]

NULL = b"null"
OUTCOMES: dict[Failure | None, frames.ToolOutcome] = {Failure.TIMEOUT: "timed_out", Failure.CANCELLED: "cancelled"}
HOST = "host"
"""The name that stands for the host as the blocker of a call."""


class CallStep(Enum):
    """The steps of a call. The value is the event that guards judge in the step; "" if they judge nothing."""

    ADMISSION = "tool_call"
    RUNNING = ""
    RECOVERY = "error"
    REVIEW = "tool_result"
    ENDED = "ended"


class CallOrigin(msgspec.Struct, frozen=True):
    """Where a call comes from that an extension makes."""

    extension: str
    around: tuple[str, ...] = ()
    """The tools of the calls for which it is made, outermost first."""


class GuardedCall:
    """The driver reads `step`: it answers `question` with `judged`, and RUNNING with `ran`, until the call has ended.
    The result is then an error with the text `failure`, or if that is empty the tool's own result: `changed` replaces
    its content, and `contexts` follow it."""

    __slots__ = (
        "_has_begun", "_names_guard", "_outcome", "_retries", "args", "call_id", "caller", "changed", "contexts",
        "decision", "failed", "failure", "origin", "prompt_end", "result", "step", "tool",
    )  # fmt: skip

    def __init__(
        self, call_id: str, tool: str, args: bytes, *, names_guard: bool = False, origin: CallOrigin | None = None
    ) -> None:
        """With `names_guard` the text of a block names the blocking guard, for readers without records. `origin` is
        None for a call of the model or of a client."""
        self.call_id = call_id
        self.tool = tool
        self.origin = origin
        self.caller = None if origin is None else origin.extension
        self.args = args
        """The arguments with the guards' rewrites."""
        self.step = CallStep.ADMISSION
        self.result: frames.Event | None = None
        """The `tool_result` so far; None before the tool has run and while it runs."""
        self.failure = ""
        self.changed: frames.ModifiedResult | None = None
        self.contexts: tuple[str, ...] = ()
        self.prompt_end = ""
        """Why a guard of errors wants the prompt to end; "" if none does."""
        self.decision: frames.Event | None = None
        """A `permission_decision` for observers; they have not been told of it yet."""
        self.failed: Failure | None = None
        """Why the tool itself has given no result, as the driver or its source says; None if it has."""
        self._has_begun = False
        self._outcome: frames.ToolOutcome | None = None
        """How the call has ended, if its result does not say so."""
        self._names_guard = names_guard
        self._retries = 0

    @property
    def question(self) -> frames.Event:
        """The event that guards judge in this step."""
        if self.step is CallStep.ADMISSION:
            return frames.Event(
                "tool_call", tool_id=self.call_id, tool_name=self.tool, tool_args=json_on_one_line(self.args),
                origin_extension=self.caller,
            )  # fmt: skip
        assert self.result is not None
        if self.step is CallStep.RECOVERY:
            return frames.Event(
                "error", error=self._error(self.result), error_context="tool_execution", recoverable=True,
                tool_id=self.call_id, tool_name=self.tool, origin_extension=self.caller,
            )  # fmt: skip
        return self.result if self.failure else replace(self.result, tool_args=json_on_one_line(self.args))

    def refuse(self, why: str, outcome: frames.ToolOutcome = "blocked") -> None:
        """The call is not run. For observers: `blocked` by a rule, or `failed` or `cancelled` without a rule."""
        self.failure, self._outcome = why, outcome
        if outcome == "blocked":
            self._decide("denied", why)
        self._take([frames.ContentBlock("text", text=why)], is_error=True)
        self.step = CallStep.REVIEW

    def abort(self, reason: str, *, is_guarded: bool = True) -> CallStep:
        """Ends the call; guards are no longer asked. With `is_guarded` some guard judges results: a result without that
        judgement is withheld. Does nothing if the call has ended."""
        if self.step is not CallStep.ENDED:
            if self.step is CallStep.ADMISSION:
                self._decide("cancelled", reason)
            if is_guarded or self.result is None:
                self._withhold(f"aborted: {reason}", "cancelled")
            self.step = CallStep.ENDED
        return self.step

    def judged(self, judgement: Judgement) -> CallStep:
        """Applies the judgement on `question`. Returns the next step."""
        if self.step is CallStep.ADMISSION:
            self._admitted(judgement)
        elif self.step is CallStep.RECOVERY:
            self._recovered(judgement)
        elif self.step is CallStep.REVIEW:
            self._reviewed(judgement)
        return self.step

    def ran(self, content: list[frames.ContentBlock], *, is_error: bool) -> CallStep:
        """Takes the result of the tool. Returns the next step."""
        self._take(content, is_error=is_error)
        self.step = CallStep.RECOVERY if is_error else CallStep.REVIEW
        return self.step

    def _take(self, content: list[frames.ContentBlock], *, is_error: bool) -> None:
        self.result = frames.Event(
            "tool_result", tool_id=self.call_id, tool_name=self.tool, is_error=is_error, content=content,
            origin_extension=self.caller,
        )  # fmt: skip

    def _error(self, result: frames.Event) -> str:
        return "\n".join(block.text for block in result.content or () if block.text)

    def _admitted(self, judgement: Judgement) -> None:
        if judgement.is_blocked:
            is_cancelled = judgement.blocked_by == HOST
            self.refuse(self._words(judgement, "refused by"), "cancelled" if is_cancelled else "blocked")
            self._decide("cancelled" if is_cancelled else "denied", judgement.reason, source=_source(judgement))
            return
        if judgement.args is not None:
            if fault := unfit_reason(judgement.args):
                self.refuse(f"rewritten by a guard: {fault}")
                return
            self.args = judgement.args
        self.contexts = (judgement.additional_context,)
        self._decide("approved", source=_source(judgement))
        self._has_begun = True
        self.step = CallStep.RUNNING

    def _recovered(self, judgement: Judgement) -> None:
        assert self.result is not None
        if judgement.error_handling == "abort":
            who, error = judgement.handled_by, self._error(self.result)
            self.prompt_end = f"guard {who} ends the prompt after an error of {self.tool}: {error}"
        if judgement.error_handling == "retry" and self._retries < judgement.retry_count:
            self._retries += 1
            self.result = self.failed = None
            self.step = CallStep.RUNNING
        else:
            self.step = CallStep.REVIEW

    def _reviewed(self, judgement: Judgement) -> None:
        if judgement.is_blocked:
            has_run = "" if self.failure else "the call has run, but "
            is_cancelled = judgement.blocked_by == HOST
            if not self.failure and not is_cancelled:
                self._decide("denied", judgement.reason, source=_source(judgement), stage="tool_execution")
            words = self._words(judgement, f"{has_run}its result is withheld by")
            self._withhold(words, "cancelled" if is_cancelled else "blocked")
        else:
            self.changed = judgement.result
            self.contexts = (*self.contexts, judgement.additional_context)
        self.step = CallStep.ENDED

    def _withhold(self, why: str, outcome: frames.ToolOutcome) -> None:
        self.failure, self.changed, self.contexts = why, None, ()
        self._outcome = self._outcome or outcome

    def _words(self, judgement: Judgement, deed: str) -> str:
        if not self._names_guard:
            return judgement.reason
        who = "the host" if judgement.blocked_by == HOST else f"the guard {judgement.blocked_by}"
        return f"{deed} {who}: {judgement.reason}"

    # --- for observers --------------------------------------------------------------------------------------

    def _decide(
        self,
        decision: Literal["approved", "denied", "cancelled"],
        reason: str = "",
        *,
        source: DecisionSource = "policy",
        stage: Literal["pre_execution", "tool_execution"] = "pre_execution",
    ) -> None:
        self.decision = frames.Event(
            "permission_decision", tool_id=self.call_id, tool_name=self.tool, decision=decision, source=source,
            stage=stage, reason=reason or None, origin_extension=self.caller,
        )  # fmt: skip

    def take_decision(self) -> frames.Event | None:
        """Returns the `permission_decision` that observers have not been told of; None without one."""
        decision, self.decision = self.decision, None
        return decision

    def outcome(self, *, is_error: bool) -> frames.ToolOutcome:
        """How the call has ended, if `is_error` says so of what the caller gets."""
        return self._outcome or ("completed" if not is_error else OUTCOMES.get(self.failed, "failed"))

    def told(self, content: list[frames.ContentBlock], *, is_error: bool) -> frames.Event:
        """The `tool_result` for observers, with what the caller gets. To be called once the call has ended."""
        args = json_on_one_line(self.args) if self._has_begun else raw_json(self.args)
        is_json = bytes(args) != NULL or self.args.strip() == NULL
        return frames.Event(
            "tool_result", tool_id=self.call_id, tool_name=self.tool, is_error=is_error, content=content,
            tool_args=args if is_json else UNSET,
            tool_args_raw=None if is_json else self.args.decode("utf-8", "replace"),
            status=self.outcome(is_error=is_error),
            executed=self._has_begun and self.failed is not Failure.INVALID_ARGS, origin_extension=self.caller,
        )  # fmt: skip


def _source(judgement: Judgement) -> DecisionSource:
    """The one who has decided: the user, guards and settings, or nobody, as all may."""
    if judgement.is_blocked:
        return "user" if judgement.blocked_by == judgement.decided_for else "policy"
    return "user" if judgement.decided_for else "policy" if judgement.was_asked else "yolo"
