"""Images that are scaled in a child, and children that fail."""

from __future__ import annotations

import io
import sys

import pytest

from agent.images import limits, scaler
from agent.images.kinds import pixels
from agent.images.limits import UnfitImageError
from supervisor.loop.loop import Loop
from tests.support.pictures import gif, png

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


@pytest.fixture
def loop():
    made = Loop()
    yield made
    assert not made.children, "no child is left"
    made.close()


def fitted(loop, data):
    return scaler.fit(loop, data, loop.run_until)


def encoded(image, kind, **given):
    file = io.BytesIO()
    image.save(file, kind, **given)
    return file.getvalue()


def opened(fitted):
    return Image.open(io.BytesIO(fitted.data))


def test_an_image_within_the_limits_is_sent_byte_for_byte(loop, monkeypatch):
    monkeypatch.setattr(scaler, "PROGRAM", ("/nothing/is/started",))
    data = png(2000, 3)
    assert fitted(loop, data) == scaler.Fitted("image/png", data)


@pytest.mark.parametrize(
    ("kind", "mime_type"), [("JPEG", "image/jpeg"), ("PNG", "image/png"), ("GIF", "image/png"), ("WEBP", "image/png")]
)
def test_a_long_side_is_scaled_to_the_limit(loop, kind, mime_type):
    given = encoded(Image.new("RGB", (2400, 600), (200, 30, 30)), kind)
    made = fitted(loop, given)
    assert (made.mime_type, made.note) == (mime_type, "scaled from 2400 x 600 pixels to 2000 x 500 pixels")
    assert pixels(made.data) == (2000, 500)
    red, green, blue = opened(made).convert("RGB").getpixel((1000, 250))
    assert red > 190
    assert green + blue < 80
    if kind == "JPEG":
        assert fitted(loop, given) == made, "the same image gives the same bytes: a cassette has them"


def test_a_photo_that_says_how_it_is_held_is_turned(loop):
    photo = Image.new("RGB", (2400, 600), "white")
    photo.paste("red", (0, 0, 100, 600))  # on the left; turned by 90 degrees clockwise it is above
    exif = Image.Exif()
    exif[0x112] = 6
    made = fitted(loop, encoded(photo, "JPEG", exif=exif))
    assert opened(made).size == (500, 2000)
    assert opened(made).getpixel((250, 20))[1] < 60
    assert opened(made).getpixel((250, 1900))[1] > 200
    assert not opened(made).getexif(), "the reader would turn it once more"


def test_an_animation_becomes_its_first_frame_and_says_so(loop):
    frames = [Image.new("RGB", (2400, 60), colour) for colour in ("red", "lime", "blue")]
    made = fitted(loop, encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert made.note.endswith(", its first frame")
    assert opened(made).convert("RGB").getpixel((9, 9)) == (255, 0, 0)


def test_transparency_stays(loop):
    made = fitted(loop, encoded(Image.new("RGBA", (2400, 6), (0, 0, 0, 0)), "PNG"))
    assert opened(made).convert("RGBA").getpixel((1, 1))[3] == 0


def test_a_png_with_too_many_bytes_is_compressed_as_a_jpeg(loop, monkeypatch):
    for module in (limits, scaler):
        monkeypatch.setattr(module, "BYTES_LIMIT", 100_000)
    data = encoded(Image.merge("RGB", [Image.effect_noise((300, 300), 90) for _ in range(3)]), "PNG")
    assert len(data) > limits.BYTES_LIMIT
    made = fitted(loop, data)
    assert made.mime_type == "image/jpeg"
    assert len(made.data) <= limits.BYTES_LIMIT
    assert made.note == f"compressed to {len(made.data):,} bytes"


def test_bytes_that_nobody_shows_do_not_cost_pixels(loop):
    made = fitted(loop, png(30, 20, extra=b"x" * limits.BYTES_LIMIT))
    assert (made.mime_type, pixels(made.data)) == ("image/png", (30, 20))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png(20_000, 20_000, rows=0), "it has more than 89,478,485 pixels to decode"),
        (png(2400, 10).replace(b"IDAT\x78", b"IDAT\x07"), "it cannot be decoded: "),
        (png(2400, 10).replace(b"\x09\x60", b"\x09\x61"), r"it cannot be decoded: its content is no whole PNG$"),
        (gif(2400, 2400), "it cannot be decoded: "),
    ],
)
def test_an_image_that_cannot_be_decoded_says_why(loop, data, why):
    if data[:3] == b"GIF":
        data = data[:-6] + b"\x09\x00\x3b"  # no size of codes that there is
    with pytest.raises(UnfitImageError, match=why):
        fitted(loop, data)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import os; os.kill(os.getpid(), 11)", r"the process that scales it ended \(signal SIGSEGV\)"),
        ("import sys; sys.exit(3)", r"the process that scales it ended \(exit 3\)"),
        ("print()", r"the process that scales it ended \(exit 0\)"),
    ],
)
def test_a_child_that_fails_is_an_error(loop, monkeypatch, source, why):
    monkeypatch.setattr(scaler, "PROGRAM", (sys.executable, "-c", source))
    with pytest.raises(UnfitImageError, match=why):
        fitted(loop, gif(2400, 1))


def test_a_child_that_hangs_is_killed_at_the_deadline_and_at_an_abort(loop, monkeypatch):
    monkeypatch.setattr(
        scaler,
        "PROGRAM",
        (sys.executable, "-c", "import sys; sys.stdin.read(); sys.stdin = open('/dev/zero'); sys.stdin.read()"),
    )
    with pytest.raises(UnfitImageError, match=r"it was not scaled$"):
        scaler.fit(loop, gif(2400, 1), lambda _predicate, _deadline: False)
    monkeypatch.setattr(scaler, "SCALE_S", 0.0)
    with pytest.raises(UnfitImageError, match="it was not scaled within 0 s"):
        fitted(loop, gif(2400, 1))


def test_a_child_that_cannot_be_started_is_an_error(loop, monkeypatch):
    monkeypatch.setattr(scaler, "PROGRAM", ("/nothing/is/started",))
    with pytest.raises(UnfitImageError, match="it cannot be scaled: cannot start /nothing/is/started"):
        fitted(loop, gif(2400, 1))
