"""The bounds that a stream is held to before the SDK's decoder reads it."""

from __future__ import annotations

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.failure import ErrorKind, ModelError
from agent.model.worker import connection
from agent.model.worker.connection import BoundedBody, Connection


class Response:
    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks

    def iter_bytes(self):
        return iter(self.chunks)


def read(*chunks: bytes) -> bytes:
    return b"".join(BoundedBody(Response(*chunks)).iter_bytes())


@given(st.lists(st.binary(max_size=9)), st.integers(1, 5))
def test_a_stream_within_the_bounds_passes_unchanged(chunks, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "SLICE_BYTES", size)
        assert read(*chunks) == b"".join(chunks)


@pytest.mark.parametrize(
    ("bound", "chunks", "what"),
    [
        ("STREAM_BYTES", [b": x\n\n" * 5] * 5, "100 bytes of stream"),
        ("EVENT_BYTES", [b"data: " + b"x" * 50, b"x" * 50], "100 bytes in one event"),
        ("EVENT_LINES", [b"\n\n", b":\r\n" * 51], "100 lines in one event"),
    ],
)
def test_a_stream_beyond_a_bound_ends_with_an_error(monkeypatch, bound, chunks, what):
    monkeypatch.setattr(connection, bound, 100)
    with pytest.raises(ModelError, match=f"too large: it has more than {what}$") as caught:
        read(*chunks)
    assert caught.value.kind is ErrorKind.TOO_LARGE


@given(st.lists(st.sampled_from([b"data: x\n\n", b"data: x\r\r", b"data: x\r\n\r\n"]), max_size=40), st.integers(1, 7))
def test_the_end_of_an_event_is_seen_wherever_the_chunks_end(events, size):
    stream = b"".join(events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "EVENT_LINES", 8)
        assert read(*(stream[at : at + size] for at in range(0, len(stream), size))) == stream


@pytest.mark.parametrize(
    ("failure", "is_unanswered"),
    [
        ("ConnectError", False),
        ("ConnectTimeout", False),
        ("ProxyError", False),
        ("WriteError", True),
        ("ReadError", True),
        ("ReadTimeout", True),
        ("RemoteProtocolError", True),
    ],
)
def test_a_server_may_have_worked_for_what_it_may_have_got(failure, is_unanswered):
    def handle(request):
        raise getattr(httpx2, failure)("no luck", request=request)

    settings = {"base_url": "http://127.0.0.1:9", "api_key": "k", "auth_token": None, "idle_timeout_s": 1}
    one = Connection(settings, transport=httpx2.MockTransport(handle))
    with pytest.raises(ModelError) as caught:
        one.open({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]})
    assert caught.value.kind in (ErrorKind.CONNECTION, ErrorKind.TIMEOUT)
    assert caught.value.is_unanswered is is_unanswered
