"""Images of a prompt in the engine's form."""

from __future__ import annotations

import base64
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Image = bytes | str | Path | Mapping[str, str]
    """The bytes of an image, the path of a file, or `mime_type` and `data`, in base64."""

LARGEST = 16 * 1024 * 1024
"""Maximum size of an image in bytes: the engine refuses requests with a larger one."""


def all_data(images: Sequence[Image]) -> list[dict[str, str]] | None:
    """Returns the images of a prompt; None without any. Raises `OSError`, `TypeError` and `ValueError`."""
    if isinstance(images, (bytes, bytearray, str, os.PathLike)):
        raise TypeError("images is a list of images, not one image")
    return [image_data(image) for image in images] or None


def image_data(image: Image) -> dict[str, str]:
    """Returns one image. Raises `OSError` for an unreadable file, `ValueError` for an image that models do not take."""
    named = ""
    if isinstance(image, (str, os.PathLike)):
        named = f"{os.fspath(image)}: "
        image = _content(image, named)
    if not isinstance(image, (bytes, bytearray)):
        return dict(image)
    mime_type = _type(bytes(image[:12]))
    if not mime_type:
        raise ValueError(f"{named}not an image that models take: PNG, JPEG, GIF or WebP")
    return {"mime_type": mime_type, "data": base64.b64encode(image).decode()}


def _content(path: str | os.PathLike[str], named: str) -> bytes:
    """Returns the content of a regular file. Raises `OSError` and `ValueError`."""
    # O_NONBLOCK: opening a named pipe would wait for its writer.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{named}not a regular file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"{named}more than {LARGEST >> 20} MiB, which no request to the engine may have")
    return content


def _type(start: bytes) -> str:
    """Returns the media type of an image by its first bytes; "" if models do not take it."""
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if start.startswith(b"RIFF") and start[8:12] == b"WEBP" else ""
