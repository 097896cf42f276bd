"""Files of --image."""

from __future__ import annotations

import base64
import os

import pytest

from agent.images import scaler
from agent.images.flag import ImageFileError, read_images
from agent.transcript import Image
from tests.support.pictures import gif, png


def refusal(*paths):
    with pytest.raises(ImageFileError) as refused:
        read_images([str(path) for path in paths], window=None)
    return str(refused.value)


def test_the_bytes_decide_the_type_whatever_the_name_is(tmp_path):
    (tmp_path / "a.jpg").write_bytes(png(2, 2))
    (tmp_path / "b").write_bytes(gif())
    images, remarks = read_images([str(tmp_path / "a.jpg"), str(tmp_path / "b")], window=None)
    assert images == (
        Image("image/png", base64.b64encode(png(2, 2)).decode()),
        Image("image/gif", base64.b64encode(gif()).decode()),
    )
    assert remarks == ()


def test_a_file_that_is_no_image_is_named_with_the_reason(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").touch()
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "cut.png").write_bytes(png(9, 9)[:-12])
    (tmp_path / "huge.png").write_bytes(png(2, 2))
    os.truncate(tmp_path / "huge.png", 300 << 20)
    whys = {
        "fifo": "it is not a regular file",
        "empty": "it is empty",
        "text.png": "its content is no PNG, JPEG, GIF or WebP",
        "cut.png": "it is damaged: the PNG has no end",
        "huge.png": "it has 314,572,800 bytes, and the limit is 3,932,160; more than 67,108,864 are not scaled down",
        "missing": "cannot be read: No such file or directory",
        ".": "it is a directory",
        "a\0b": "cannot be read: embedded null byte",
    }
    for name, why in whys.items():
        path = f"{tmp_path}/{name}"
        assert refusal(path) == f"--image {path.replace(chr(0), '')}: {why}"
    assert refusal("").startswith("--image : the name is empty")


def test_without_the_library_a_large_image_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(scaler, "can_scale", lambda: False)
    (tmp_path / "wide.gif").write_bytes(gif(9000, 10))
    (tmp_path / "less.gif").write_bytes(gif(3000, 10))
    assert refusal(tmp_path / "wide.gif").endswith(
        "wide.gif: it has 9000 x 10 pixels, and the limit is 8000 per side; pip install 'pyzot[images]' has it scaled"
        " down"
    )
    assert len(read_images([str(tmp_path / "less.gif")] * 20, window=None)[0]) == 20
    assert "the limit is 2000 per side in a prompt with more than 20" in refusal(*[tmp_path / "less.gif"] * 21)


def test_too_many_images_are_refused(tmp_path):
    (tmp_path / "a.gif").write_bytes(gif())
    assert refusal(*[tmp_path / "a.gif"] * 101) == (
        "--image: 101 images, and a request to this model takes 100; send fewer or smaller ones"
    )


def test_a_large_image_is_scaled_and_the_user_is_told(tmp_path):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    (tmp_path / "wide.png").write_bytes(png(4000, 8))
    images, remarks = read_images([str(tmp_path / "wide.png")], window=None)
    assert remarks == (f"--image {tmp_path}/wide.png: scaled from 4000 x 8 pixels to 2000 x 4 pixels",)
    assert images[0].mime_type == "image/png"
