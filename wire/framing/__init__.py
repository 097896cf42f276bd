"""Cuts the bytes of an extension into its messages: `lines` ends each at LF, `content_length` by the length that a
header before it says (`length_headers`)."""

from wire.framing.lines import (
    COPIED,
    CROWD,
    DEFAULT_FRAME_LIMIT,
    PREFIX_KEPT,
    SHORTEST_FRAME,
    Line,
    LineSplitter,
    Oversize,
    drop_scraps,
    string_member,
    written_member,
)

__all__ = [
    "COPIED",
    "CROWD",
    "DEFAULT_FRAME_LIMIT",
    "PREFIX_KEPT",
    "SHORTEST_FRAME",
    "Line",
    "LineSplitter",
    "Oversize",
    "drop_scraps",
    "string_member",
    "written_member",
]
