"""Images that the `read` tool returns, and those that it refuses."""

import base64
from pathlib import Path

import pytest

from agent.tools import read
from agent.tools.files import image
from tests.support.file_tools import refusal

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\1\0\0\0WEBP", "image/webp"),
    ],
)
def test_the_content_decides_the_media_type_of_an_image(tmp_path: Path, content: bytes, mime_type: str) -> None:
    (tmp_path / "a.PNG").write_bytes(content)
    expected = {"type": "image", "mime_type": mime_type, "data": base64.b64encode(content).decode()}
    assert read.run({"path": "a.PNG"}, str(tmp_path)).content == [expected]


def test_a_file_that_is_no_image_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_text("<html>")
    assert (
        refusal(read.run, tmp_path, path="a.png")
        == "a.png is named like an image, but its content is no PNG, JPEG, GIF or WebP"
    )
    monkeypatch.setattr(image, "INPUT_LIMIT", 13)
    (tmp_path / "b.png").write_bytes(PNG)
    assert refusal(read.run, tmp_path, path="b.png").startswith("b.png is too large for an image: more than 13 bytes")
