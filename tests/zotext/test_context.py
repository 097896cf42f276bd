"""Progress and cancellation of a call."""

from __future__ import annotations

import threading

from tests.support.patience import PATIENCE_S
from zotext import Extension, ToolContext  # noqa: TC001  (hints of tools are read)
from zotext.testing import Harness


def test_progress_and_cancellation(ext: Extension):
    closed = threading.Event()

    @ext.tool
    def search(ctx: ToolContext) -> str:
        ctx.on_cancel(closed.set)
        ctx.progress("page 1")
        assert ctx.wait(PATIENCE_S)
        assert (ctx.cancelled, ctx.reason) == (True, "aborted")
        ctx.raise_if_cancelled()
        return "never"

    with Harness(ext) as host:
        pending = host.begin_tool("search")
        assert pending.wait_progress() == ["page 1"]
        pending.cancel("aborted")
        answer = pending.wait()
        assert (answer.is_error, answer.text, answer.progress) == (True, "cancelled: aborted", ["page 1"])
        assert closed.wait(PATIENCE_S)
        assert len([frame for frame in host.frames if frame.get("id") == pending.id]) == 2
