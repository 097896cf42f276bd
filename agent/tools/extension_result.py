"""Turns the answer of an extension's tool into a result for the model: checked, and cut if it is too long."""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from agent.images.kinds import TAKEN
from agent.images.limits import INPUT_LIMIT
from agent.tools.shell.command import log_folder
from agent.tools.shell.output_window import MAX_BYTES, MAX_LINES
from agent.transcript import Image, Text, ToolResult
from supervisor.loop.future import Failure
from wire.frames import ContentBlock
from wire.image_types import HEAD_BYTES, image_type
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.calls.tool_call import ToolAnswer

OTHER_NAMES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}
"""Wrong and former names of media types, which some programs use, and the right ones."""


def error_result(call_id: str, text: str, failure: Failure | None = None) -> ToolResult:
    """An error result with this text."""
    return ToolResult(call_id, (Text(text),), is_error=True, failure=failure)


def extension_result(call_id: str, name: str, answer: ToolAnswer, folder: Path | None = None) -> ToolResult:
    """The answer as a result, by zot's rules: empty texts are left out, unknown blocks named. An image whose bytes do
    not match its type becomes a text: the model's API would refuse every further request. A text beyond the bounds of
    built-in tools is cut; the whole text goes to a file in `folder`, by default the temporary directory."""
    if answer.frame is None:
        match answer.failure:
            case Failure.TIMEOUT:
                text = f"extension {name} failed: timeout waiting for {name} ({answer.reason})"
            case Failure.CANCELLED:
                text = f"aborted: {answer.reason}"
            case Failure.INVALID_ARGS:
                text = answer.reason
            case _:
                text = f"extension {name} failed: {answer.reason}"
        return error_result(call_id, text, answer.failure)
    parts, is_bad = parts_of(answer.frame.content or (), name)
    shown = limit_parts(parts, folder)
    structured = answer.frame.structured_content
    return ToolResult(
        call_id,
        shown or (Text("(extension returned no content)"),),
        is_bad or bool(answer.frame.is_error),
        structured=b"" if structured is UNSET else bytes(structured),
    )


def parts_of(blocks: Iterable[ContentBlock], name: str) -> tuple[tuple[Text | Image, ...], bool]:
    """The blocks in the model's form, and whether a block was unusable. `name` is EXTENSION/TOOL."""
    parts: list[Text | Image] = []
    is_bad = False
    for block in blocks:
        part, bad = _part(block, name)
        is_bad = is_bad or bad
        if part is not None:
            parts.append(part)
    return tuple(parts), is_bad


def _part(block: ContentBlock, name: str) -> tuple[Text | Image | None, bool]:
    extension = name.partition("/")[0]
    if block.type == "text":
        return (Text(block.text) if block.text else None), False
    if block.type != "image":
        return Text(f'[unknown block type "{one_line(block.type, 80)}" from extension {extension}]'), False
    if len(block.data or "") > INPUT_LIMIT // 3 * 4:
        return Text(f"[an image from extension {extension}; it has more than {INPUT_LIMIT} bytes]"), False
    text = "".join((block.data or "").split())  # encoders for mail break base64 into lines
    if not text:
        return Text(f"[an image from extension {extension} that is empty]"), False
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        return Text(f"extension {name} returned undecodable image: {error}"), True
    said, found = block.mime_type or "application/octet-stream", image_type(data[:HEAD_BYTES])
    if not found or media_type(said) != found:
        is_what = f"are {found}" if found else f"are no {TAKEN}"
        return Text(f"[an image of type {said[:80]!r} from extension {extension}; its bytes {is_what}]"), False
    return Image(found, text), False


def blocks_of(result: ToolResult) -> list[ContentBlock]:
    """The parts of a result as an extension gets them."""
    return [
        ContentBlock("image", mime_type=part.mime_type, data=part.data)
        if isinstance(part, Image)
        else ContentBlock("text", text=part.text)
        for part in result.content
    ]


def media_type(said: str) -> str:
    """A media type without parameters, by its right name."""
    kind = said.partition(";")[0].strip().lower()
    return OTHER_NAMES.get(kind, kind)


# --- size ---------------------------------------------------------------------------------------------------

POINTER_BYTES = 1024
"""Bytes of room for the last line, which names the file with the whole text."""


def limit_parts(parts: tuple[Text | Image, ...], folder: Path | None = None) -> tuple[Text | Image, ...]:
    """The parts unchanged if their text has at most `MAX_BYTES` and `MAX_LINES`; else the start of the text, and a line
    that names the file with the whole text."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    lines = sum(text.count("\n") + 1 for text in texts)
    if size <= MAX_BYTES and lines <= MAX_LINES:
        return parts
    whole = "\n".join(texts)
    shown: list[Text | Image] = [Text(f"{start_of(whole)}\n{_pointer(whole, folder or log_folder())}")]
    return tuple(shown + [part for part in parts if isinstance(part, Image)])


def start_of(text: str) -> str:
    """The longest start that leaves room for the pointer line: whole lines, unless the first line is too long. The
    result is within bounds, so that it is not cut again when a guard returns it."""
    text = text[:MAX_BYTES]
    lines = text.splitlines(keepends=True)[: MAX_LINES - 1] if text.count("\n") >= MAX_LINES - 1 else [text]
    data = "".join(lines).encode("utf-8", "replace")
    if len(data) > MAX_BYTES - POINTER_BYTES:
        data = data[: MAX_BYTES - POINTER_BYTES]
        whole_lines = data.rpartition(b"\n")[0]
        data = whole_lines or data
    return data.decode("utf-8", "ignore").rstrip("\n")


def _pointer(whole: str, folder: Path) -> str:
    data = whole.encode("utf-8", "replace")
    cut = f"... [cut: this is the start of {len(data)} bytes, {whole.count(chr(10)) + 1} lines; "
    path = folder / f"zot-result-{os.urandom(6).hex()}.txt"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        Path(path).unlink(missing_ok=True)
        return f"{cut}the whole could not be kept: {error.strerror}]"
    return f"{cut}the whole text: {path}]"
