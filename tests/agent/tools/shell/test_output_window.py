"""The window on a command's output."""

from hypothesis import given
from hypothesis import strategies as st

from agent.tools.shell.output_window import MAX_BYTES, MAX_LINES, OutputExtent, OutputWindow, Tail


def fed(*chunks: bytes) -> OutputWindow:
    window = OutputWindow()
    for chunk in chunks:
        window.feed(chunk)
    return window


def test_short_output_is_kept_whole() -> None:
    assert fed(b"a\n", b"b").tail() == Tail("a\nb")
    assert fed().tail() == Tail("")


def test_the_last_lines_are_kept() -> None:
    tail = fed(b"".join(b"%d\n" % n for n in range(5_000))).tail()
    assert tail.text == "".join(f"{n}\n" for n in range(3_000, 5_000))
    assert tail.dropped_lines == 3_000
    assert tail.dropped_bytes == len("".join(f"{n}\n" for n in range(3_000)))
    assert tail.cut_by_lines


def test_a_cut_by_bytes_starts_with_a_whole_line() -> None:
    line = b"x" * 999 + b"\n"
    tail = fed(line * 100).tail()
    assert tail.text == line.decode() * 51
    assert (tail.dropped_bytes, tail.dropped_lines, tail.cut_by_lines) == (49_000, 49, False)


def test_a_window_that_starts_exactly_with_a_line_is_used_to_the_full() -> None:
    line = b"x" * 511 + b"\n"
    assert len(fed(line * 150).tail().text) == MAX_BYTES


def test_a_giant_line_keeps_its_end_from_a_whole_character() -> None:
    tail = fed(("é" * 40_000 + "a").encode()).tail()
    assert tail.text == "é" * 25_599 + "a"
    assert tail.dropped_lines == 0
    ended = fed(("é" * 40_000 + "\n").encode()).tail()
    assert ended.text == "é" * 25_599 + "\n"


def test_exactly_the_caps_is_not_cut() -> None:
    for output in (b"x" * MAX_BYTES, b"x\n" * MAX_LINES, b"x\n" * (MAX_LINES - 1) + b"x"):
        window = fed(output)
        assert window.tail() == Tail(output.decode())
        assert not window.extent.exceeds_window
        window.feed(b"y")
        assert window.extent.exceeds_window == (window.tail().dropped_bytes > 0)


def test_memory_is_bounded() -> None:
    window = OutputWindow()
    for _ in range(200):
        window.feed(b"x" * 100_000)
    for _ in range(200_000):
        window.feed(b"y")
    assert len(window._kept) <= 2 * MAX_BYTES
    assert window.extent.bytes == 20_200_000


def test_progress_never_splits_a_character() -> None:
    window = OutputWindow()
    shown = [window.feed(bytes([byte])) for byte in "aé€😀".encode()]
    assert [text for text in shown if text] == ["a", "é", "€", "😀"]
    assert window.finish() == ""
    window.feed(b"\xe2\x82")
    assert window.finish() == "\ufffd"


PIECES = st.lists(
    st.sampled_from([b"a", b"\n", b"\n" * 1_500, "€".encode(), "é".encode() * 20_000, b"\xff", b"line\n" * 300]),
    max_size=8,
)


@given(PIECES, st.lists(st.integers(1, 9_000), min_size=1, max_size=5))
def test_chunking_makes_no_difference(pieces: list[bytes], sizes: list[int]) -> None:
    output = b"".join(pieces)
    whole = fed(output)
    window, progress = OutputWindow(), ""
    position = turn = 0
    while position < len(output):
        size = sizes[turn % len(sizes)]
        progress += window.feed(output[position : position + size])
        position, turn = position + size, turn + 1
    assert window.tail() == whole.tail()
    assert progress + window.finish() == output.decode(errors="replace")
    extent = OutputExtent()
    extent.add(output)
    assert (extent.bytes, extent.lines) == (window.extent.bytes, window.extent.lines)


@given(PIECES)
def test_the_tail_is_an_end_of_the_output_within_the_caps(pieces: list[bytes]) -> None:
    output = b"".join(pieces)
    tail = fed(output).tail()
    assert tail.text == output[tail.dropped_bytes :].decode(errors="replace")
    assert len(output) - tail.dropped_bytes <= MAX_BYTES
    assert len(tail.text.removesuffix("\n").split("\n")) <= MAX_LINES
    assert (tail.dropped_bytes > 0) == fed(output).extent.exceeds_window
    model = output.removesuffix(b"\n").split(b"\n")
    assert tail.dropped_lines <= len(model)
