"""Puts the questions of guards to the client, and carries out its decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.rpc.refusal import RequestRefusedError
from supervisor.calls.guard_chain import REASON_LENGTH
from supervisor.calls.permissions import ClosedQuestionError
from wire import events
from wire.text import valid_text

if TYPE_CHECKING:
    from agent.output.event_writer import EventWriter
    from supervisor.calls.permissions import Permissions, Question
    from wire.rpc import requests


class PermissionRequests:
    """The methods `allow` and `deny` raise `RequestRefusedError`."""

    def __init__(self, permissions: Permissions, event_writer: EventWriter) -> None:
        self._permissions = permissions
        self._event_writer = event_writer

    def expect_person(self) -> None:
        """From now on the client is asked. While a prompt waits for it, other records are written."""
        self._permissions.expect_person(
            lambda question: self._event_writer.post(asked(question)),
            lambda question: self._event_writer.post(answered(question)),
            self._event_writer.wait,
        )

    def leave(self, reason: str) -> None:
        """The client answers no longer."""
        self._permissions.leave(reason)

    def allow(self, request: requests.Allow) -> None:
        try:
            self._permissions.allow(request.permission)
        except ClosedQuestionError as error:
            raise RequestRefusedError(f"permission: {error}") from None

    def deny(self, request: requests.Deny) -> None:
        reason = (request.reason or "").strip()
        if len(reason) > REASON_LENGTH:
            raise RequestRefusedError(f"reason: more than {REASON_LENGTH} characters")
        try:
            self._permissions.deny(request.permission, reason)
        except ClosedQuestionError as error:
            raise RequestRefusedError(f"permission: {error}") from None


def asked(question: Question) -> events.PermissionAsked:
    """The record of a question. Pure."""
    event = question.event
    text = event.text
    if text is None and event.content is not None:
        text = "\n".join(block.text for block in event.content if block.text)
    return events.PermissionAsked(
        question.id,
        valid_text(question.extension),
        event.event,  # type: ignore[arg-type]  # no other event can be denied
        question.verdict.reason,
        tool_id=event.tool_id or msgspec.UNSET,
        tool_name=event.tool_name or msgspec.UNSET,
        args=event.tool_args,
        text=msgspec.UNSET if text is None else text,
        origin_extension=event.origin_extension or msgspec.UNSET,
    )


def answered(question: Question) -> events.PermissionAnswered:
    """The record of the end of a question. Pure."""
    assert question.decision is not None
    return events.PermissionAnswered(question.id, question.decision, question.reason)
