"""Images made without a library: whole, but not pretty."""

from __future__ import annotations

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *, rows: int | None = None, extra: bytes = b"") -> bytes:
    """A black grey-scale PNG. With fewer `rows` than its height it is whole by its structure, but cannot be decoded;
    `extra` is uncompressed data that nobody shows."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    pixels = zlib.compress(bytes((width + 1) * (height if rows is None else rows)), 1)
    hidden = chunk(b"zoTt", extra) if extra else b""
    return SIGNATURE + header + hidden + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def gif(width: int = 1, height: int = 1) -> bytes:
    size = struct.pack("<HH", width, height)
    image = b"\x2c" + bytes(4) + size + b"\0" + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + size + b"\x80\0\0" + bytes(6) + b"\x21\xf9\x04" + bytes(4) + b"\0" + image + b"\x3b"


def jpeg(width: int = 1, height: int = 1, *, before: bytes = b"") -> bytes:
    """Without a decodable scan. `before` is the content of a segment that stands before the size."""
    segment = b"\xff\xe1" + struct.pack(">H", len(before) + 2) + before
    size = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    return b"\xff\xd8" + segment + size + b"\xff\xda\0\x08\1\1\0\0\x3f\0" + b"\x12\xff\0\x34" + b"\xff\xd9"


def webp(kind: bytes, width: int = 1, height: int = 1) -> bytes:
    """A header of each of the three kinds: `VP8 `, `VP8L` and `VP8X`."""
    data = {
        b"VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
        b"VP8L": b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + bytes(5),
        b"VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
    }[kind]
    body = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
