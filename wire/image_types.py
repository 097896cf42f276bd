"""The types of images that models and clients take, recognised by their first bytes. Pure.

The standard library only: the file worker imports it.
"""

from __future__ import annotations

TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
HEAD_BYTES = 12
"""Number of bytes at the start of an image that determine its type."""
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def image_type(data: bytes) -> str:
    """Returns the media type of an image by its first `HEAD_BYTES`, one of `TYPES`; "" for any other type."""
    if data.startswith(PNG_SIGNATURE):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return ""
