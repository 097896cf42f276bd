"""The kind and size of an image, read from its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.images.kinds import is_whole, pixels
from tests.support.pictures import gif, jpeg, png, webp
from wire.image_types import image_type

WHOLE = {
    "png": ("image/png", png(7, 5)),
    "gif": ("image/gif", gif(7, 5)),
    "jpeg": ("image/jpeg", jpeg(7, 5)),
    "jpeg with a preview": ("image/jpeg", jpeg(7, 5, before=b"Exif" + jpeg(1, 1))),
    "webp": ("image/webp", webp(b"VP8 ", 7, 5)),
    "lossless webp": ("image/webp", webp(b"VP8L", 7, 5)),
    "extended webp": ("image/webp", webp(b"VP8X", 7, 5)),
}


@pytest.mark.parametrize(("mime_type", "data"), WHOLE.values(), ids=list(WHOLE))
def test_the_bytes_say_type_size_and_end(mime_type, data):
    assert (image_type(data), pixels(data), is_whole(data)) == (mime_type, (7, 5), True)
    assert is_whole(data + b"what a camera puts behind it \xff\xda"), "what follows the end is nobody's business"
    for length in range(len(data)):
        assert not is_whole(data[:length]) or pixels(data[:length]) == (7, 5)
    assert not is_whole(data[:-2])


@pytest.mark.parametrize("start", [data[:30] for _, data in WHOLE.values()])
@given(rest=st.binary(max_size=200))
def test_any_bytes_after_a_good_start_are_read_to_an_answer(start, rest):
    assert pixels(start + rest) is None or len(pixels(start + rest)) == 2
    assert is_whole(start + rest) in (True, False)


@given(st.binary(max_size=64))
def test_other_bytes_are_no_image(data):
    assert image_type(b"x" + data) == ""
    assert pixels(b"x" + data) is None
    assert not is_whole(b"x" + data)
