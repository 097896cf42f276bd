"""The results of tools: texts, images, or anything that JSON can hold."""

from __future__ import annotations

import os

from .values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)


class Text(Value):
    """A block of text. `markdown`: a screen may show it as such; the model gets the text as it is."""

    __slots__ = ("markdown", "text")

    def __init__(self, text: str, *, markdown: bool = False) -> None:
        if not isinstance(text, str):
            raise TypeError(f"Text() takes a str, not {type(text).__name__}")
        self.text = text
        self.markdown = markdown

    def as_json(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text, **({"format": "markdown"} if self.markdown else {})}

    def __repr__(self) -> str:
        return f"Text({self.text!r}{', markdown=True' if self.markdown else ''})"


class Image(Value):
    """An image for the model: its bytes, or the path of a file.

    Without `mime_type` the first bytes decide (PNG, JPEG, GIF, WebP); raises `ValueError` for other types. The file is
    read at once; raises `OSError` if it cannot be read.
    """

    __slots__ = ("data", "mime_type")

    def __init__(self, source: bytes | str | os.PathLike[str], mime_type: str | None = None) -> None:
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = bytes(source)
        else:
            with open(source, "rb") as file:
                data = file.read()
        self.data = data
        self.mime_type = mime_type or _mime_type(data)

    def as_json(self) -> dict[str, Any]:
        from binascii import b2a_base64

        return {"type": "image", "mime_type": self.mime_type, "data": b2a_base64(self.data, newline=False).decode()}

    def __repr__(self) -> str:
        return f"Image({len(self.data)} bytes, {self.mime_type!r})"


class Result(Value):
    """Several blocks, or a failure with `is_error`. A str among the blocks becomes a `Text`.

    `activate` names deferred tools of this extension that the model is offered from now on. `structured` is the result
    as JSON, for programs; the model gets `content`.
    """

    __slots__ = ("activate", "content", "is_error", "structured", "truncated")

    def __init__(
        self,
        content: str | Block | Iterable[str | Block] = (),
        *,
        is_error: bool = False,
        activate: Iterable[str] = (),
        structured: Any = None,
    ) -> None:
        blocks = [content] if isinstance(content, (str, Text, Image)) else content
        self.content: list[Block] = [Text(block) if isinstance(block, str) else block for block in blocks]
        for block in self.content:
            if not isinstance(block, (Text, Image)):
                raise TypeError(f"a Result holds str, Text and Image, not {type(block).__name__}")
        self.is_error = is_error
        self.activate = [activate] if isinstance(activate, str) else list(activate)
        if not all(isinstance(name, str) for name in self.activate):
            raise TypeError(f"activate is a list of names of tools, not {activate!r}")
        self.structured = structured
        self.truncated = False
        """Of a `call_tool`: whether the host has left out a part of the content."""

    @property
    def text(self) -> str:
        """All its texts, joined by line feeds."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    def as_json(self) -> dict[str, Any]:
        more = {"is_error": self.is_error, "activate_tools": self.activate}
        said = {name: value for name, value in more.items() if value}
        if self.structured is not None:
            said["structured_content"] = self.structured
        return {"content": [block.as_json() for block in self.content], **said}


if TYPE_CHECKING:
    Block = Text | Image


def as_result(returned: object, *, structured: bool = False) -> Result:
    """Returns the result for a handler's return value. None has no content; a str is a text; `Text`, `Image` and lists
    with one of them are blocks; every other value is written as JSON, and with `structured` it is that, too. Raises
    `TypeError` if JSON cannot hold it."""
    if isinstance(returned, Result):
        return returned
    if returned is None:
        return Result()
    if isinstance(returned, (str, Text, Image)):
        return Result(returned)
    if isinstance(returned, (list, tuple)) and any(isinstance(item, (Text, Image)) for item in returned):
        return Result(returned)
    import json

    text = json.dumps(returned, ensure_ascii=False, default=_plain)
    return Result(text, structured=json.loads(text) if structured else None)


def read_result(frame: dict[str, Any]) -> Result:
    """Returns the result that a frame of the host holds."""
    result = Result(read_blocks(frame.get("content")), is_error=frame.get("is_error") is True)
    result.truncated = frame.get("truncated") is True
    return result


def read_blocks(content: object) -> list[Block]:
    """Returns the blocks of a frame. A block that is neither text nor image becomes a text that says so."""
    return [_read_block(block) for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _read_block(block: dict[str, Any]) -> Block:
    if block.get("type") == "text":
        return Text(str(block.get("text") or ""), markdown=block.get("format") == "markdown")
    if block.get("type") == "image":
        from binascii import Error, a2b_base64

        try:
            return Image(a2b_base64(str(block.get("data") or "")), str(block.get("mime_type") or "image/unknown"))
        except Error:
            return Text("[undecodable image]")
    return Text(f"[block of type {block.get('type')!r}]")


def _mime_type(data: bytes) -> str:
    for signature, offset, mime_type in SIGNATURES:
        if data[offset : offset + len(signature)] == signature:
            return mime_type
    raise ValueError("neither PNG, JPEG, GIF nor WebP: say the mime_type of the image")


def _plain(value: object) -> object:
    """Returns the JSON value for an object that `json` does not know."""
    if (fields := getattr(type(value), "__dataclass_fields__", None)) is not None:
        return {name: getattr(value, name) for name in fields}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    import enum

    if isinstance(value, enum.Enum):
        return value.value
    raise TypeError(
        f"a tool returned a {type(value).__name__}, which JSON cannot hold; return a str, a dict or a Result"
    )
