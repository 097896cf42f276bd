"""The last frames of a worker are kept, and no more than its limits allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.connection.black_box import FRAMES, HEAD, SHORT, SIZE, BlackBox
from wire.framing import Oversize

if TYPE_CHECKING:
    from tests.support.host import Host


def add(box: BlackBox, size: int, *, is_sent: bool = True) -> None:
    frame = b"x" * size
    if size <= SHORT:
        box.append((1.0, is_sent, frame))
    else:
        box.add_long(1.0, is_sent, frame)


@given(st.lists(st.integers(0, 3 * HEAD) | st.integers(0, SHORT), max_size=400))
def test_memory_is_bounded_and_the_last_frames_stay(sizes: list[int]):
    box = BlackBox()
    for size in sizes:
        add(box, size)
        assert len(box) <= FRAMES
        assert sum(len(entry[2]) for entry in box) <= SIZE + FRAMES * SHORT
    is_all = len(box) == len(sizes) and sum(min(size, HEAD) for size in sizes) <= SIZE
    kept = box.last()
    assert sum(len(entry[2]) for entry in kept) <= SIZE
    lengths = [entry[3] if len(entry) == 4 else len(entry[2]) for entry in kept]
    assert lengths == sizes[len(sizes) - len(lengths) :]
    assert not is_all or kept == box.last() == list(box)
    assert not box.is_whole or lengths == sizes


def test_of_a_long_frame_only_the_head_is_kept():
    box = BlackBox()
    add(box, HEAD + 1)
    box.add_lines(2.0, [bytearray(b"y" * (HEAD + 2)), b"short", Oversize(10**8, b"start", 10**7)])
    assert [(at, is_sent, len(frame), *more) for at, is_sent, frame, *more in box.last()] == [
        (1.0, True, HEAD, HEAD + 1), (2.0, False, HEAD, HEAD + 2), (2.0, False, 5), (2.0, False, 5, 10**8),
    ]  # fmt: skip
    assert all(type(entry[2]) is bytes for entry in box)


def test_a_worker_keeps_its_frames_in_both_directions_in_order(host: Host):
    host.add("echo")
    host.start()
    host.text("echo", text="hi")
    box = host.extension("echo").lead.requests.black_box
    assert box.is_whole
    kinds = [(is_sent, frame.split(b'"')[3]) for _at, is_sent, frame in box.last()]
    assert kinds[0] == (False, b"hello")
    assert (True, b"hello_ack") in kinds
    assert kinds[-2:] == [(True, b"tool_call"), (False, b"tool_result")]
    times = [entry[0] for entry in box]
    assert times[0] > 0
