"""Reads the images that the `read` tool returns."""

from __future__ import annotations

import binascii

from agent.images.kinds import TAKEN
from agent.images.limits import INPUT_LIMIT
from agent.tools.outcome import ToolError
from wire.image_types import HEAD_BYTES, image_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader

    from agent.tools.outcome import Block

EXTENSIONS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def has_image_name(path: str) -> bool:
    return path.lower().endswith(EXTENSIONS)


def read_image(stream: BufferedReader, given: str) -> Block:
    """The whole file as an image block; `given` is its name in errors. The host scales one that is too large for a
    model. Raises ToolError.

    The media type comes from the content. zot takes it from the file's name; there a mislabelled image makes the model
    refuse the whole conversation.
    """
    data = stream.read(HEAD_BYTES)
    mime_type = image_type(data)
    if not mime_type:
        raise ToolError(f"{given} is named like an image, but its content is no {TAKEN}")
    data += stream.read(INPUT_LIMIT + 1 - len(data))
    if len(data) > INPUT_LIMIT:
        raise ToolError(f"{given} is too large for an image: more than {INPUT_LIMIT} bytes; scale it down first")
    return {
        "type": "image",
        "mime_type": mime_type,
        "data": binascii.b2a_base64(data, newline=False).decode(),
    }
