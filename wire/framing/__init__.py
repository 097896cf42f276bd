"""Cuts the bytes of an extension into messages: `lines` at LF, `content_length` by the length in the header before each
message (`length_headers`)."""

from wire.framing.lines import (
    COPIED,
    CROWD,
    DEFAULT_FRAME_LIMIT,
    PREFIX_KEPT,
    SHORTEST_FRAME,
    Line,
    LineSplitter,
    Oversize,
    drop_lines,
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
    "drop_lines",
    "drop_scraps",
    "string_member",
    "written_member",
]
