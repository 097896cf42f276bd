"""The `read` tool: a window of lines of a text file, or an image.

The window may start anywhere in a file of any size; memory is bounded. zot cuts the file after 51200 bytes before it
applies the offset, so it never shows the rest.
"""

from __future__ import annotations

import binascii
import codecs

from agent.images.kinds import TAKEN
from agent.images.limits import INPUT_LIMIT
from agent.tools import arguments
from agent.tools.files.place import find_place
from agent.tools.files.regular_file import open_regular
from agent.tools.outcome import ToolError, ToolOutput, os_failure
from wire.image_types import HEAD_BYTES, image_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader

    from agent.tools.outcome import Block

MAX_BYTES = 51_200
MAX_LINES = 2_000
_BINARY_PROBE_BYTES = 8_192
_SKIP_BYTES = 1 << 16


def run(args: arguments.Arguments, cwd: str, root: str = "") -> ToolOutput:
    """Read `path`, with a `root` only beneath it, from line `offset` (1-based), at most `limit` lines. 0 or less means
    the default: line 1 and MAX_LINES lines. Raises ToolError."""
    given, path = arguments.path(args, cwd)
    offset, limit = arguments.integer(args, "offset"), arguments.integer(args, "limit")
    with find_place(path, root) as place, open_regular(place, verb="stat") as stream:
        try:
            if has_image_name(path):
                return ToolOutput([read_image(stream, given)])
            if b"\0" in stream.read(_BINARY_PROBE_BYTES):
                raise ToolError(f"{given} looks binary; refusing to read as text")
            stream.seek(0)
            return ToolOutput.of_text(read_window(stream, max(offset, 1), limit))
        except OSError as error:
            raise os_failure("read", path, error) from None


def read_window(stream: BufferedReader, offset: int, limit: int) -> str:
    """The lines from `offset` on, each with a line end, cut at MAX_LINES and MAX_BYTES.

    A cut falls between two lines, and an added last line names the next offset. Only a first line that is longer than
    MAX_BYTES is cut inside. An empty window is the empty text, not an error.
    """
    _skip_lines(stream, offset - 1)
    wanted = min(limit, MAX_LINES) if limit > 0 else MAX_LINES
    lines: list[bytes] = []
    left = MAX_BYTES
    note = ""
    while len(lines) < wanted:
        line = stream.readline(left + 1)
        if len(line) > left:
            note = f"... [truncated at {MAX_BYTES} bytes]; "
            if lines:
                note += f"continue with offset {offset + len(lines)}\n"
            else:
                lines.append(line[:MAX_BYTES])
                note += f"line {offset} is longer than that: continue with offset {offset + 1}, "
                note += "or use bash to see the rest of the line\n"
            break
        if not line:
            break
        lines.append(line)
        left -= len(line)
    else:
        if limit not in range(1, MAX_LINES + 1) and stream.read(1):
            note = f"... [truncated at {MAX_LINES} lines]; continue with offset {offset + MAX_LINES}\n"
    return _decode(b"".join(lines), cut=bool(note)) + note


def _skip_lines(stream: BufferedReader, count: int) -> None:
    """Move `stream` behind its next `count` line ends, or to its end."""
    while count > 0:
        chunk = stream.read(_SKIP_BYTES)
        if not chunk:
            return
        ends = chunk.count(b"\n")
        if ends < count:
            count -= ends
            continue
        position = 0
        for _ in range(count):
            position = chunk.index(b"\n", position) + 1
        stream.seek(position - len(chunk), 1)
        return


def _decode(data: bytes, *, cut: bool) -> str:
    """Bytes that are not UTF-8 become U+FFFD; an incomplete character before a cut is left out."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=not cut)
    return text if not text or text.endswith("\n") else text + "\n"


# --- images -------------------------------------------------------------------------------------------------


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
