"""The limits of the Messages API for images, and what becomes of one beyond them. Pure.

Source: https://platform.claude.com/docs/en/build-with-claude/vision, "General limits", as of June 2026: 8000 pixels per
side, and 2000 in a request with more than 20 images; 10 MB of base64 per image, on Bedrock and Vertex 5 MB; 100 images
per request for models with a window of 200,000 tokens, 600 for others; 32 MB per request. The lower number of bytes is
used here for every endpoint: gateways forward to any of them.

A picture is sent again with each request of its conversation, which may have more than 20 of them one day. So an image
is scaled to the lower number of pixels from the start, as zot does, where it can be scaled. Where it cannot, it is
taken up to the higher number.
"""

from __future__ import annotations

from agent.images.kinds import TAKEN, has_size, is_whole, pixels
from wire.image_types import image_type

BASE64_LIMIT = 5 * 1024 * 1024
"""Characters of an image in base64."""
BYTES_LIMIT = BASE64_LIMIT // 4 * 3
SIDE_LIMIT = 8000
"""Pixels. With a longer side the API refuses the request."""
CROWD = 20
"""Images in a request. With more of them, `CROWD_SIDE` is the limit of each."""
CROWD_SIDE = 2000
"""Pixels. Longer sides are scaled to this where that can be done."""
REQUEST_BASE64 = 30_000_000
"""Characters of all images of a prompt, in base64: a request of 32 MB less room for its words."""
MOST, MOST_OF_200K = 600, 100
"""Images in a request: of models with a large window, and of others."""
INPUT_LIMIT = 64 * 1024 * 1024
"""Bytes of an image that is to be scaled. A larger file is not read."""
INSTALL = "pip install 'pyzot[images]'"


class UnfitImageError(ValueError):
    """No model takes the image, and it cannot be scaled; the text says why. It names no file."""


def check_image(data: bytes) -> str:
    """The media type. Raises `UnfitImageError` for bytes that are no whole image of a type that models take."""
    if not data:
        raise UnfitImageError("it is empty")
    kind = image_type(data)
    if not kind:
        raise UnfitImageError(f"its content is no {TAKEN}")
    if not is_whole(data):
        raise UnfitImageError(f"it is damaged: the {kind.partition('/')[2].upper()} has no {_lacks(data)}")
    return kind


def needs_scaling(data: bytes) -> bool:
    """Whether the image is to be scaled where that can be done."""
    return len(data) > BYTES_LIMIT or max(pixels(data) or (0, 0)) > CROWD_SIDE


def exceeded_limit(data: bytes, *, count: int = 1) -> str:
    """Which limit the image exceeds in a request with `count` images, and by what; "" if none."""
    size = pixels(data)
    side = CROWD_SIDE if count > CROWD else SIDE_LIMIT
    if size and max(size) > side:
        among = f" in a prompt with more than {CROWD} images" if count > CROWD else ""
        return f"it has {pixels_text(size)}, and the limit is {side} per side{among}"
    if len(data) > BYTES_LIMIT:
        return f"it has {len(data):,} bytes, and the limit is {BYTES_LIMIT:,}"
    return ""


def oversize_reason(size: int) -> str:
    """Why a file of this many bytes is not even read."""
    return f"it has {size:,} bytes, and the limit is {BYTES_LIMIT:,}; more than {INPUT_LIMIT:,} are not scaled down"


def check_all(sizes: list[int], window: int | None) -> None:
    """Raises `UnfitImageError` if images with these numbers of bytes are too many or too large for one prompt; `window`
    is the model's, in tokens, None if it is not known."""
    most = MOST if window is not None and window > 200_000 else MOST_OF_200K
    if len(sizes) > most:
        raise UnfitImageError(f"{len(sizes)} images, and a request to this model takes {most}")
    total = sum(-(-size // 3) * 4 for size in sizes)
    if total > REQUEST_BASE64:
        raise UnfitImageError(
            f"together the images have {total:,} characters in base64, and the limit is {REQUEST_BASE64:,}"
        )


def pixels_text(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]} pixels"


def _lacks(data: bytes) -> str:
    return "end" if has_size(data) else "size"
