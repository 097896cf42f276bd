"""Fits the images of messages and of tool results into the limits, while a run goes on."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import msgspec

from agent.images import scaler
from agent.images.limits import UnfitImageError, check_image
from agent.transcript import Image, Text
from wire.image_types import image_type

if TYPE_CHECKING:
    from agent.images.scaler import Wait
    from agent.transcript import ToolResult
    from supervisor.loop.loop import Loop


def fit_message(loop: Loop, images: tuple[Image, ...], wait: Wait) -> tuple[Image, ...]:
    """The images of a message, scaled where they are too large. Raises `UnfitImageError`, whose text begins with the
    place: `images[0]: `."""
    fitted: list[Image] = []
    for number, image in enumerate(images):
        try:
            fitted.append(_fit(loop, image, wait, len(images))[0])
        except UnfitImageError as error:
            raise UnfitImageError(f"images[{number}]: {error}") from None
    return tuple(fitted)


def fit_result(loop: Loop, result: ToolResult, wait: Wait, *, is_error: bool) -> ToolResult:
    """The result with its images scaled where they are too large. A text after a scaled image says so, since the model
    may measure in it. A text stands in place of an image that cannot be scaled; with `is_error` the result is then an
    error."""
    parts: list[Text | Image] = []
    is_unfit = False
    for part in result.content:
        if not isinstance(part, Image):
            parts.append(part)
            continue
        try:
            image, note = _fit(loop, part, wait, 1)
        except UnfitImageError as error:
            parts.append(Text(f"[an image of type {part.mime_type} that models do not take: {error}]"))
            is_unfit = True
            continue
        parts.append(image)
        if note:
            parts.append(Text(f"[the image was {note}]"))
    if tuple(parts) == result.content:
        return result
    return msgspec.structs.replace(result, content=tuple(parts), is_error=result.is_error or (is_unfit and is_error))


def _fit(loop: Loop, image: Image, wait: Wait, count: int) -> tuple[Image, str]:
    """The image and what was done to it. What is no image by its first bytes is left as it is: if the model's API
    refuses it, it says so."""
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return image, ""
    if not (kind := image_type(data)):
        return image, ""
    check_image(data)
    fitted = scaler.fit(loop, data, wait, count=count)
    if fitted.data is data:
        return (image if image.mime_type == kind else Image(kind, image.data)), ""
    return Image(fitted.mime_type, base64.b64encode(fitted.data).decode()), fitted.note
