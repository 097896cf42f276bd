"""Has a function of the program decide where a guard leaves the decision to a person."""

from __future__ import annotations

import threading

from zotext import coroutines
from zotext.context import CallContext

from ..connection.channel import tell
from ..errors import ZotError
from ..events import PermissionAnswered, PermissionAsked

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from typing import Any, NoReturn, Protocol, TypeAlias

    from ..connection.pending_answer import PendingAnswer
    from ..events import AnyEvent

    Permission: TypeAlias = "Callable[[PermissionAsked], bool | str | Coroutine[Any, Any, bool | str]]"
    """Decides: True allows, False denies, and a text denies with this reason."""

    class Connection(Protocol):
        """The part of `Client` that this module uses."""

        def send(self, kind: str, **members: Any) -> PendingAnswer: ...


REASON_LENGTH = 10_000
"""Maximum number of characters of a reason; a longer one is cut."""


class ProgramPermissions:
    """Calls `decide` for each question, in a thread of its own. A coroutine runs on the loop of `begin`, and is
    cancelled with its question. A failure denies, and is shown like an uncaught exception. Raises `TypeError` for an
    object that is not a function."""

    def __init__(self, decide: Permission, client: Connection) -> None:
        if not callable(decide):
            raise TypeError(f"permission is a function, not {decide!r}")
        self._decide = decide
        self._client = client
        self._lock = threading.Lock()
        self._open: dict[str, CallContext] = {}
        """The questions that `decide` has not answered, by their id."""
        self._held: list[PermissionAsked] | None = []
        """Questions that came before `begin`; None after it."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Answers questions from now on. Coroutines run on `loop`, which runs in a thread of this program; by default
        on zotext's loop. A second call does nothing but change the loop."""
        with self._lock:
            self._loop = loop
            held, self._held = self._held or [], None
        for question in held:
            self._start(question)

    def take(self, record: AnyEvent) -> None:
        """Takes a record, in the reading thread. Waits for nothing."""
        if isinstance(record, PermissionAsked):
            self._open[record.id] = CallContext({"id": record.id, "session_id": ""}, lambda _frame: None)
            with self._lock:
                if self._held is not None:
                    self._held.append(record)
                    return
            self._start(record)
        elif isinstance(record, PermissionAnswered) and (context := self._open.pop(record.id, None)) is not None:
            context.cancel(record.reason)

    def end(self) -> None:
        """Cancels all open questions: the engine has ended, or is to end."""
        for question_id in list(self._open):
            if (context := self._open.pop(question_id, None)) is not None:
                context.cancel("the runtime has ended")

    def _start(self, question: PermissionAsked) -> None:
        try:
            threading.Thread(
                target=self._answer, args=(question,), name=f"zot permission {question.id}", daemon=True
            ).start()
        except RuntimeError as error:
            self._fail(question, error)

    # --- in the thread of a question ------------------------------------------------------------------------

    def _answer(self, question: PermissionAsked) -> None:
        context = self._open.get(question.id)
        if context is None:
            return  # it was cancelled before
        try:
            coroutines.run_in(self._loop, coroutines.RunningCoroutines())
            decision = coroutines.finish(self._decide(question), context)
            if not isinstance(decision, (bool, str)):
                raise TypeError(f"permission returned {decision!r}; True allows, False or a text denies")
        except BaseException as error:
            if not context.cancelled:
                self._fail(question, error)
            return
        if decision is True:
            self._send("allow", question)
        else:
            self._send("deny", question, decision or None)

    def _fail(self, question: PermissionAsked, error: BaseException) -> None:
        """Shows the error, and denies the event."""
        tell(_throw, error)
        self._send("deny", question, f"the decision of the program failed: {type(error).__name__}")

    def _send(self, kind: str, question: PermissionAsked, reason: str | None = None) -> None:
        if self._open.pop(question.id, None) is None:
            return  # it was cancelled meanwhile
        try:
            self._client.send(kind, permission=question.id, reason=reason and reason[:REASON_LENGTH])
        except ZotError:  # the engine has ended
            return


def _throw(error: BaseException) -> NoReturn:
    raise error
