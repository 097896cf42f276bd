"""Packets arrive whole, with their descriptors, and none is lost when the other side ends."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from supervisor.template import protocol
from supervisor.template.protocol import Fork, RequestError, Started

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not protocol.is_available(), reason="no templates on this system")
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("size", [0, 1000, protocol.PACKET_BYTES, 1 << 21])
def test_a_request_arrives_as_it_was_sent(pair: Pair, size: int):
    request = Fork(7, "run", b"x" * size, b"/\xff", protocol.environment_block({"A": "=b", "B": "\udcff"}), 0o22)
    with open(os.devnull, "rb") as null:
        protocol.send_request(pair[0], request, [null.fileno()] * 5)
    received = protocol.receive(pair[1])
    assert protocol.decode_request(received) == request
    assert len(received.fds) == 5
    assert not any(os.get_inheritable(fd) for fd in received.fds)
    for fd in received.fds:
        os.close(fd)
    assert protocol.environment_of(request.env or b"") == {b"A": b"=b", b"B": b"\xff"}


def test_answers_are_not_lost_when_the_other_side_ends_with_unread_requests(pair: Pair):
    """The kernel reports the reset ahead of the packets that are still there."""
    protocol.send(pair[0], b"unread")
    protocol.send(pair[1], protocol.encode_reply(Started(1, 2)))
    pair[1].close()
    assert protocol.decode_reply(protocol.receive(pair[0]).data) == Started(1, 2)
    assert protocol.receive(pair[0]).data == b""


def test_more_descriptors_than_a_request_can_have_are_noticed(pair: Pair):
    with open(os.devnull, "rb") as null:
        protocol.send_request(pair[0], Fork(7, "run", b"", b"/", None, None), [null.fileno()] * 100)
    received = protocol.receive(pair[1])
    for fd in received.fds:
        os.close(fd)
    assert not received.is_whole
    with pytest.raises(RequestError, match="descriptors did not arrive") as caught:
        protocol.decode_request(received)
    assert caught.value.failed.id == 7
