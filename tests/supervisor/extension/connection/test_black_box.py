"""The last frames of a worker are kept with their times, and no more than the limits allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.connection.black_box import FRAMES, HEAD, MARK_S, SHORT, SIZE, BlackBox
from wire.framing import Oversize

if TYPE_CHECKING:
    from tests.support.host import Host


def add(box: BlackBox, frame: bytes, *, at: float = 1.0, is_sent: bool = True) -> None:
    """Adds a frame as the channel does."""
    if at < box.due and len(frame) <= SHORT:
        box.append(frame)
    else:
        box.add(at, is_sent, frame)


@given(st.lists(st.integers(0, 3 * HEAD) | st.integers(0, SHORT), max_size=400))
def test_memory_is_bounded_and_the_last_frames_stay(sizes: list[int]):
    box = BlackBox()
    for size in sizes:
        add(box, b"x" * size)
        assert len(box) <= FRAMES
        held = sum(len(entry[2]) if isinstance(entry, tuple) else len(entry) for entry in box)
        assert held <= SIZE + FRAMES * SHORT
    is_all = len(sizes) < FRAMES and sum(min(size, HEAD) for size in sizes) <= SIZE - HEAD
    kept = box.last()
    assert sum(len(frame.data) for frame in kept) <= SIZE
    lengths = [frame.size for frame in kept]
    assert lengths == sizes[len(sizes) - len(lengths) :]
    assert not is_all or box.is_whole
    assert not box.is_whole or lengths == sizes


@given(st.lists(st.tuples(st.floats(0, 2 * MARK_S), st.booleans(), st.sampled_from([10, SHORT + 1])), max_size=500))
def test_times_are_right_to_a_millisecond_and_the_sides_are_right(steps: list[tuple[float, bool, int]]):
    box = BlackBox()
    now, added = 1.0, []
    for number, (waited_s, is_sent, size) in enumerate(steps):
        now += waited_s
        data = str(number).encode().ljust(size, b".") + (b"\n" if is_sent else b"")
        add(box, data, at=now, is_sent=is_sent)
        added.append((now, is_sent, data))
    kept = box.last()
    assert len(kept) == min(len(added), FRAMES)
    for frame, (at, is_sent, data) in zip(kept, added[len(added) - len(kept) :], strict=True):
        assert (frame.is_sent, frame.data, frame.size) == (is_sent, data, len(data))
        assert at - MARK_S - 1e-9 <= frame.at <= at


def test_of_a_long_frame_only_the_head_is_kept():
    box = BlackBox()
    add(box, b"x" * (HEAD + 1))
    box.add_lines(2.0, [bytearray(b"y" * (HEAD + 2)), b"short", Oversize(10**8, b"start", 10**7)])
    assert [(frame.at, frame.is_sent, len(frame.data), frame.size) for frame in box.last()] == [
        (1.0, True, HEAD, HEAD + 1), (2.0, False, HEAD, HEAD + 2), (2.0, False, 5, 5), (2.0, False, 5, 10**8),
    ]  # fmt: skip
    assert all(type(frame.data) is bytes for frame in box.last())


def test_messages_with_headers_are_told_from_those_without():
    box = BlackBox()
    add(box, b"{}", is_sent=False)
    add(box, b"Content-Length: 2\r\n\r\n{}")
    add(box, b"{}", is_sent=False)
    assert [frame.is_sent for frame in box.last()] == [False, True, False]


def test_a_worker_keeps_its_frames_in_both_directions_in_order(host: Host):
    host.add("echo")
    host.start()
    host.text("echo", text="hi")
    box = host.extension("echo").lead.requests.black_box
    assert box.is_whole
    kinds = [(frame.is_sent, frame.data.split(b'"')[3]) for frame in box.last()]
    assert kinds[0] == (False, b"hello")
    assert (True, b"hello_ack") in kinds
    assert kinds[-2:] == [(True, b"tool_call"), (False, b"tool_result")]
    times = [frame.at for frame in box.last()]
    assert times[0] > 0
