"""How much of a tool's result an extension gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.frames import ContentBlock
from wire.frames.tool_results import RESULT_BLOCKS, RESULT_BYTES, cut_content


def text(size: int, character: str = "x") -> ContentBlock:
    return ContentBlock("text", text=character * size)


def image(size: int) -> ContentBlock:
    return ContentBlock("image", mime_type="image/png", data="a" * (size - len("image/png")))


@pytest.mark.parametrize(
    ("blocks", "kept"),
    [
        ([], []),
        ([text(RESULT_BYTES)], [text(RESULT_BYTES)]),
        ([image(RESULT_BYTES)], [image(RESULT_BYTES)]),
        ([text(1)] * RESULT_BLOCKS, [text(1)] * RESULT_BLOCKS),
        ([ContentBlock("audio"), ContentBlock("text")], [ContentBlock("audio"), ContentBlock("text")]),
    ],
)
def test_a_result_within_the_limits_is_whole(blocks, kept):
    assert cut_content(blocks) == (kept, False)


@pytest.mark.parametrize(
    ("blocks", "kept"),
    [
        ([text(RESULT_BYTES + 1)], [text(RESULT_BYTES)]),
        ([text(RESULT_BYTES, "é")], [text(RESULT_BYTES // 2, "é")]),
        ([text(1), text(RESULT_BYTES, "é")], [text(1), text(RESULT_BYTES // 2 - 1, "é")]),
        ([text(RESULT_BYTES), text(1)], [text(RESULT_BYTES)]),
        ([image(RESULT_BYTES + 1), text(3)], [text(3)]),
        ([text(9), image(RESULT_BYTES), image(20)], [text(9), image(20)]),
        ([text(1)] * (RESULT_BLOCKS + 1), [text(1)] * RESULT_BLOCKS),
        ([ContentBlock("text", text="\ud800" * (RESULT_BYTES + 1))], [ContentBlock("text", text="?" * RESULT_BYTES)]),
    ],
)
def test_a_larger_result_is_cut_and_says_so(blocks, kept):
    assert cut_content(blocks) == (kept, True)


@given(
    st.lists(
        st.builds(text, st.integers(0, RESULT_BYTES), st.sampled_from("aé€😀"))
        | st.builds(image, st.integers(9, RESULT_BYTES * 2))
    )
)
def test_nothing_exceeds_the_limit_and_a_cut_text_is_a_beginning(blocks):
    kept, is_cut = cut_content(blocks)
    sizes = [len((block.text or "").encode()) + len(block.data or "") + len(block.mime_type or "") for block in kept]
    assert sum(sizes) <= RESULT_BYTES
    assert is_cut == (kept != blocks)
    left = iter(blocks)
    for block in kept:
        assert any((whole.text or "").startswith(block.text or "") and whole.data == block.data for whole in left)
