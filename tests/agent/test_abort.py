"""The first request to end a run counts, and wakes everything that waits."""

from __future__ import annotations

from agent.abort import Abort
from wire.exit_codes import Status


def test_the_first_abort_counts_and_calls_every_callback():
    abort = Abort()
    heard = []
    abort.on_request(heard.append)
    abort.request(Status.TIMEOUT, "first")
    abort.request(Status.INTERRUPTED, "second")
    abort.on_request(heard.append)
    assert heard == ["first", "first"]
    assert (abort.status, abort.reason, abort.is_requested()) == (Status.TIMEOUT, "first", True)
