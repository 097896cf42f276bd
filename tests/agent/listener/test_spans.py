"""`zot rpc --listen --otel`: each conversation, a fork of the template, exports its own spans."""

from __future__ import annotations

import pytest

from tests.support.batch_command import MODEL
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.rpc_listener import listening
from wire.exit_codes import Status


@pytest.mark.slow
def test_each_conversation_exports_its_spans(zot, server):
    with OtlpReceiver() as collector:
        environment = collector.environment | {"OTEL_METRICS_EXPORTER": "none"}
        with listening(zot, server, "--otel", "--no-ext", env=environment) as at:
            first, second = at.connect(), at.connect()
            for client in (first, second):
                assert client.text("hello") == "answer to hello"
            first.close()
            assert at.stop().status == Status.OK.exit_code
    agents = collector.named("invoke_agent zot")
    assert len({agent.trace_id for agent in agents}) == 2
    assert {chat.parent_id for chat in collector.named(f"chat {MODEL}")} == {agent.span_id for agent in agents}
    assert len({agent.attributes["gen_ai.conversation.id"] for agent in agents}) == 2
