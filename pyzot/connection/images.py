"""Images of a prompt, as the engine takes them."""

from __future__ import annotations

import base64
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Image = bytes | str | Path | Mapping[str, str]
    """The bytes of an image, the path of a file, or `mime_type` and `data`, in base64."""

STARTS = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


def all_data(images: Sequence[Image]) -> list[dict[str, str]] | None:
    """The images of a prompt; None if there are none. Raises `OSError`, `TypeError` and `ValueError`."""
    if isinstance(images, (bytes, bytearray, str, os.PathLike)):
        raise TypeError("images is a list of images, not one image")
    return [image_data(image) for image in images] or None


def image_data(image: Image) -> dict[str, str]:
    """One image. Raises `OSError` for a file that cannot be read, `ValueError` if it is no image that models take."""
    named = ""
    if isinstance(image, (str, os.PathLike)):
        named = f"{os.fspath(image)}: "
        with open(image, "rb") as file:
            image = file.read()
    if not isinstance(image, (bytes, bytearray)):
        return dict(image)
    mime_type = next((kind for start, kind in STARTS.items() if image.startswith(start)), None)
    if mime_type is None:
        raise ValueError(f"{named}not an image that models take: PNG, JPEG, GIF or WebP")
    return {"mime_type": mime_type, "data": base64.b64encode(image).decode()}
