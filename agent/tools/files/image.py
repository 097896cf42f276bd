"""Recognises the images that a model can be shown."""

from __future__ import annotations

import binascii

from agent.tools.outcome import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader

    from agent.tools.outcome import Block

MAX_BYTES = 3_932_160
"""Bytes: 5 MiB as base64, the most that the Messages API takes. With a larger image, zot's next request fails."""

HEAD_BYTES = 12
"""So many first bytes tell the type of an image."""
EXTENSIONS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def has_image_name(path: str) -> bool:
    return path.lower().endswith(EXTENSIONS)


def read_image(stream: BufferedReader, given: str) -> Block:
    """The whole file as an image block; `given` is its name in errors. Raises ToolError.

    The media type comes from the content. zot takes it from the file's name; there a mislabelled image makes the model
    refuse the whole conversation.
    """
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ToolError(f"{given} is too large for an image: more than {MAX_BYTES} bytes; scale it down first")
    mime_type = image_type(data)
    if not mime_type:
        raise ToolError(f"{given} is named like an image, but its content is no PNG, JPEG, GIF or WebP")
    return {
        "type": "image",
        "mime_type": mime_type,
        "data": binascii.b2a_base64(data, newline=False).decode(),
    }


def image_type(data: bytes) -> str:
    """The media type of an image by its first `HEAD_BYTES`; "" if models take no such image."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return ""
