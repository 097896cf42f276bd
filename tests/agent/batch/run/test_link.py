from __future__ import annotations

import socket

from agent.batch.run.link import SPANS_WAITING, BatchLink
from supervisor.loop.loop import Loop
from wire.batch.link import RunPhase, RunSpans, decode_from_run
from wire.traces.span import Span, encode

SPAN = Span(trace_id="a" * 32, span_id="b" * 16, name="chat m", start_ns=1, end_ns=2, attributes={"said": "x" * 10**6})


def test_spans_are_dropped_while_the_batch_does_not_read():
    ours, theirs = socket.socketpair()
    with ours:
        link, loop = BatchLink(theirs.detach()), Loop()
        link.attach(loop)
        for _ in range(20):
            link.send_spans(encode((SPAN,)))
        link.send(RunPhase("running"))
        link.detach()
        loop.close()
        read = b""
        ours.setblocking(False)
        while not read.endswith(b'"running"}\n'):
            try:
                read += ours.recv(1 << 20)
            except BlockingIOError:
                link.attach(loop := Loop())
                loop.run_until(lambda: False, loop.clock() + 0.01)
                link.detach()
                loop.close()
        link.close()
    lines = [decode_from_run(line) for line in read.splitlines()]
    spans = [line for line in lines if isinstance(line, RunSpans)]
    assert SPANS_WAITING < len(spans) * 10**6 < 2 * SPANS_WAITING
    assert [bytes(line.spans) for line in spans[:1]] == [encode((SPAN,)).partition(b'"spans":')[2].rstrip()[:-1]]
    assert lines[-1] == RunPhase("running")
