"""The size of an image in pixels, and whether its end is there, by its bytes. Decodes nothing. Pure.

The standard library and `wire.image_types` only: the file worker imports it.
"""

from __future__ import annotations

from wire.image_types import PNG_SIGNATURE, image_type

TAKEN = "PNG, JPEG, GIF or WebP"
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG whose segment has the size."""

Pixels = tuple[int, int]
"""Width and height as stored; a JPEG may say that it is to be turned."""


def pixels(data: bytes) -> Pixels | None:
    """Width and height by the header; None if it does not say them. The start of the image is enough: 30 bytes, and of
    a JPEG all that stands before its first frame."""
    kind = image_type(data)
    if kind == "image/png" and data[12:16] == b"IHDR" and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if kind == "image/gif" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if kind == "image/webp" and len(data) >= 30:
        return _webp_pixels(data)
    return _jpeg_pixels(data) if kind == "image/jpeg" else None


def has_size(data: bytes) -> bool:
    """Whether the header says a size that an image can have."""
    return min(pixels(data) or (0, 0)) > 0


def is_whole(data: bytes) -> bool:
    """Whether the image has its size and reaches its end. The data in between is not decoded."""
    if not has_size(data):
        return False
    ends = {"image/png": _png_ends, "image/gif": _gif_ends, "image/webp": _webp_ends, "image/jpeg": _jpeg_ends}
    return ends[image_type(data)](data)


# --- JPEG ---------------------------------------------------------------------------------------------------


def _jpeg_pixels(data: bytes) -> Pixels | None:
    at = _find_marker(data, _SOF)
    if at < 0 or at + 9 > len(data):
        return None
    return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")


def _jpeg_ends(data: bytes) -> bool:
    """Whether an end follows the first scan. Cameras put more behind it."""
    scan = _find_marker(data, frozenset({0xDA}))
    return scan > 0 and data.find(b"\xff\xd9", scan) > 0


def _find_marker(data: bytes, markers: frozenset[int]) -> int:
    """Where the first segment with one of these markers begins; -1 if none does."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
        elif marker in markers:
            return at
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return -1


# --- PNG, GIF, WebP -----------------------------------------------------------------------------------------


def _png_ends(data: bytes) -> bool:
    at = len(PNG_SIGNATURE)
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"IEND":
            return True
        at += 12 + size
    return False


def _gif_ends(data: bytes) -> bool:
    at = 13 + _colours(data[10:11])
    while at < len(data):
        block = data[at]
        if block == 0x3B:
            return True
        if block == 0x2C:  # an image: its place, its colours, the size of its codes
            at += 11 + _colours(data[at + 9 : at + 10])
        elif block == 0x21:
            at += 2
        else:
            return False
        while at < len(data) and data[at]:
            at += 1 + data[at]
        at += 1
    return False


def _colours(flags: bytes) -> int:
    """Bytes of the table of colours that follows these flags."""
    return 3 << ((flags[0] & 7) + 1) if flags and flags[0] & 0x80 else 0


def _webp_pixels(data: bytes) -> Pixels | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        both = int.from_bytes(data[26:28], "little"), int.from_bytes(data[28:30], "little")
        return both[0] & 0x3FFF, both[1] & 0x3FFF
    return None


def _webp_ends(data: bytes) -> bool:
    return len(data) >= 8 + int.from_bytes(data[4:8], "little")
