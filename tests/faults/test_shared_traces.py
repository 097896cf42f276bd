"""A run that uses an extension of a host: the trace goes on through the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.trace_context import TraceContext

if TYPE_CHECKING:
    from tests.support.shared_stand import Stand

SAID = """
hello("said")
send(type="ready")
for frame in frames():
    result(frame, str(frame.get("traceparent")) + " " + str(frame.get("tracestate")))
"""


def test_the_span_of_a_call_reaches_an_extension_of_a_host(stand: Stand):
    context = TraceContext("a" * 32, "b" * 16, True, "x=1")
    stand.write("said", SAID)
    stand.start()
    run = stand.run()
    answers: list[Any] = []
    owned = run.supervisor.registrations.tool("said")
    run.supervisor.begin_call(owned, b"{}", answers.append, context=context)
    run.until(lambda: answers)
    assert answers[0].frame.content[0].text == f"{context.traceparent} x=1"
    assert run.text("said") == "None None"
