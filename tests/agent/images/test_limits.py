"""Which images are taken, which are scaled, and what is said about the others."""

from __future__ import annotations

import pytest

from agent.images import limits, scaler
from agent.images.limits import UnfitImageError, check_all, check_image, exceeded_limit, needs_scaling
from tests.support.pictures import gif, jpeg, png

LONG = b"x" * limits.BYTES_LIMIT


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"hello", "its content is no PNG, JPEG, GIF or WebP"),
        (png(4, 4)[:-9], "it is damaged: the PNG has no end"),
        (png(4, 4)[:20], "it is damaged: the PNG has no size"),
        (jpeg()[:-1], "it is damaged: the JPEG has no end"),
        (gif()[:9], "it is damaged: the GIF has no size"),
        (png(0, 4), "it is damaged: the PNG has no size"),
        (jpeg(4, 0), "it is damaged: the JPEG has no size"),
    ],
)
def test_what_is_no_whole_image_is_refused(data, why):
    with pytest.raises(UnfitImageError, match=why):
        check_image(data)


@pytest.mark.parametrize(
    ("data", "count", "is_scaled", "exceeded"),
    [
        (gif(2000, 1), 1, False, ""),
        (gif(2001, 1), 20, True, ""),
        (
            gif(1, 2001),
            21,
            True,
            "it has 1 x 2001 pixels, and the limit is 2000 per side in a prompt with more than 20",
        ),
        (gif(8000, 8000), 1, True, ""),
        (gif(8001, 1), 1, True, "it has 8001 x 1 pixels, and the limit is 8000 per side"),
        (gif() + LONG, 1, True, f"it has {limits.BYTES_LIMIT + len(gif()):,} bytes, and the limit is 3,932,160"),
    ],
)
def test_the_limits(data, count, is_scaled, exceeded, monkeypatch):
    assert needs_scaling(data) is is_scaled
    assert exceeded_limit(data, count=count).startswith(exceeded)
    assert bool(exceeded_limit(data, count=count)) is bool(exceeded)
    monkeypatch.setattr(scaler, "can_scale", lambda: False)
    said = scaler.image_refusal(data, count=count)
    assert said == (
        f"{exceeded_limit(data, count=count)}; pip install 'pyzot[images]' has it scaled down" if exceeded else ""
    )
    monkeypatch.setattr(scaler, "can_scale", lambda: True)
    assert scaler.image_refusal(data, count=count) == ""


def test_what_is_too_long_to_be_scaled_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(scaler, "INPUT_LIMIT", 10)
    assert scaler.image_refusal(gif()).startswith(f"it has {len(gif())} bytes, and the limit is 3,932,160; more than ")


@pytest.mark.parametrize(("window", "most"), [(None, 100), (200_000, 100), (1_000_000, 600)])
def test_so_many_images_go_with_a_prompt(window, most):
    check_all([1] * most, window)
    with pytest.raises(UnfitImageError, match=f"^{most + 1} images, and a request to this model takes {most}$"):
        check_all([1] * (most + 1), window)


def test_all_images_together_leave_room_in_the_request():
    check_all([7_500_000] * 3, None)
    with pytest.raises(UnfitImageError, match=r"30,000,004 characters in base64, and the limit is 30,000,000"):
        check_all([7_500_000, 7_500_000, 7_500_001], None)
