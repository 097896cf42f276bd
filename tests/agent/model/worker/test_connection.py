"""What the SDK's decoder gets to read of a stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.failure import ErrorKind, ModelError
from agent.model.worker import connection
from agent.model.worker.connection import BoundedBody


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
