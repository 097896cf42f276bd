"""Images of messages and of tool results that are too large."""

from __future__ import annotations

import base64

import pytest

from agent.images import scaler
from agent.images.limits import UnfitImageError
from agent.images.scaler import fit_message, fit_result
from agent.transcript import Image, Text, ToolResult
from tests.support.pictures import gif, png


def image(data, mime_type="image/png"):
    return Image(mime_type, base64.b64encode(data).decode())


def test_a_result_within_the_limits_is_the_same(loop):
    result = ToolResult("t", (Text("x"), image(png(3, 3)), Image("image/png", "no base64")))
    assert fit_result(loop, result, loop.run_until, is_error=True) is result


def test_a_damaged_image_of_a_result_is_a_text_and_a_wrong_type_is_mended(loop):
    """The API would refuse this request and all further ones of the conversation."""
    result = ToolResult("t", (image(png(3, 3)[:-9]), image(gif())))
    damaged = Text("[an image of type image/png that models do not take: it is damaged: the PNG has no end]")
    fitted = fit_result(loop, result, loop.run_until, is_error=True)
    assert fitted == ToolResult("t", (damaged, image(gif(), "image/gif")), is_error=True)


def test_without_the_library_a_text_says_what_is_missing(loop, monkeypatch):
    monkeypatch.setattr(scaler, "can_scale", lambda: False)
    wide = image(gif(9000, 2), "image/gif")
    result = ToolResult("t", (Text("x"), wide))
    said = Text(
        "[an image of type image/gif that models do not take: it has 9000 x 2 pixels, and the limit is 8000 per side;"
        " pip install 'pyzot[images]' has it scaled down]"
    )
    assert fit_result(loop, result, loop.run_until, is_error=False) == ToolResult("t", (Text("x"), said))
    assert fit_result(loop, result, loop.run_until, is_error=True).is_error
    with pytest.raises(UnfitImageError, match=r"^images\[1\]: it has 9000 x 2 pixels"):
        fit_message(loop, (image(gif(), "image/gif"), wide), loop.run_until)


def test_a_large_image_of_a_result_is_scaled_and_a_text_says_so(loop):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    result = ToolResult("t", (image(png(4000, 8)), Text("x")))
    scaled, note, text = fit_result(loop, result, loop.run_until, is_error=True).content
    assert isinstance(scaled, Image)
    assert note == Text("[the image was scaled from 4000 x 8 pixels to 2000 x 4 pixels]")
    assert text == Text("x")
    assert fit_message(loop, (image(png(4000, 8)),), loop.run_until) == (scaled,)
