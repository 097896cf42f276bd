"""The process that scales one image: decoding bytes of unknown origin may crash, hang or take all memory.

Standard input has a line of JSON, then the image to its end. So has the answer, but for an image after an `error`:

    {"kind": "PNG", "side": 2000, "bytes": 3932160}
    {"mime_type": "image/png", "from": [4032, 3024], "to": [2000, 1500], "first_frame": false} or {"error": TEXT}

It is the same for the same image and the same version of Pillow.

Start it as `python -P PATH/agent/images/scale_main.py`. It imports Pillow and the standard library.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import warnings
from typing import Any

MEMORY = 2 << 30
"""Bytes of address space."""
CPU_S = 30
QUALITIES = (85, 70)
"""Qualities of a JPEG, the better one first."""
SMALLER = 0.75
"""Factor of the sides, again and again, until the image has few enough bytes."""


def main() -> int:
    _limit(resource.RLIMIT_AS, MEMORY)
    _limit(resource.RLIMIT_CPU, CPU_S)
    header, _, data = sys.stdin.buffer.read().partition(b"\n")
    asked = json.loads(header)
    try:
        answer, image = scale_image(data, asked["kind"], asked["side"], asked["bytes"])
    except MemoryError:
        answer, image = {"error": f"it takes more than {MEMORY >> 20} MiB of memory to decode"}, b""
    except ImportError:
        answer, image = {"error": "Pillow cannot be imported"}, b""
    except Exception as error:  # Pillow's readers raise errors of many kinds for damaged images
        said = str(error).splitlines()[0] if str(error) else ""
        answer, image = {"error": f"it cannot be decoded: {said or type(error).__name__}"}, b""
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + image)
    sys.stdout.buffer.flush()
    return 0


def scale_image(data: bytes, kind: str, side: int, most_bytes: int) -> tuple[dict[str, Any], bytes]:
    """The answer and the image with sides of at most `side` pixels and at most so many bytes. `kind` is Pillow's name
    of the type; no other reader is tried. A JPEG stays one. Others become PNG, or JPEG on white if a PNG has too many
    bytes. Of an animation the first frame is kept. Metadata is dropped, after the image has been turned as it says."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        opened = Image.open(io.BytesIO(data), formats=[kind])
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        return {"error": f"it has more than {Image.MAX_IMAGE_PIXELS:,} pixels to decode"}, b""
    except UnidentifiedImageError:  # its text has an address, which is another one each time
        return {"error": f"it cannot be decoded: its content is no whole {kind}"}, b""
    before = opened.size
    is_animated = getattr(opened, "n_frames", 1) > 1
    if kind == "JPEG":
        opened.draft(None, (2 * side, 2 * side))
    image = ImageOps.exif_transpose(opened)
    has_alpha = image.has_transparency_data
    if not (kind == "PNG" and image.mode in ("1", "L")):
        image = image.convert("RGBA" if has_alpha and kind != "JPEG" else "RGB")
    goal = min(1.0, side / max(before))
    turned = before if (image.width < image.height) == (before[0] < before[1]) else before[::-1]
    while True:
        size = (max(1, round(turned[0] * goal)), max(1, round(turned[1] * goal)))
        smaller = image if image.size == size else image.resize(size, Image.Resampling.LANCZOS)
        for mime_type, encoded in _encodings(smaller, kind):
            if len(encoded) <= most_bytes:
                told = {"mime_type": mime_type, "from": before, "to": size, "first_frame": is_animated}
                return told, encoded
        goal *= SMALLER


def _encodings(image: Any, kind: str) -> Any:
    """Encodings of the image with their media types, the best one first."""
    from PIL import Image

    if kind != "JPEG":
        encoded = io.BytesIO()
        image.save(encoded, "PNG")
        yield "image/png", encoded.getvalue()
        if image.mode == "RGBA":
            on_white = Image.new("RGB", image.size, "white")
            on_white.paste(image, mask=image.getchannel("A"))
            image = on_white
    for quality in QUALITIES:
        encoded = io.BytesIO()
        image.convert("RGB").save(encoded, "JPEG", quality=quality)
        yield "image/jpeg", encoded.getvalue()


def _limit(which: int, most: int) -> None:
    """Sets a limit of this process; macOS refuses some."""
    try:
        _, hard = resource.getrlimit(which)
        resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    except (OSError, ValueError):
        pass


if __name__ == "__main__":
    sys.exit(main())
