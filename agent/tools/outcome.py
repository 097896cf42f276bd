"""The outcome of a file tool: content blocks for the model, or an error with a text."""

from __future__ import annotations

Block = dict[str, str]
"""`{"type": "text", "text"}` or `{"type": "image", "mime_type", "data": base64}`."""


class ToolOutput:
    """Content blocks for the model. With `is_error` they describe a failure."""

    __slots__ = ("content", "is_error")

    def __init__(self, content: list[Block], *, is_error: bool = False) -> None:
        self.content = content
        self.is_error = is_error

    @classmethod
    def of_text(cls, text: str, *, is_error: bool = False) -> ToolOutput:
        return cls([{"type": "text", "text": text}], is_error=is_error)


class ToolError(Exception):
    """An expected failure. Its text is the whole tool result."""


def os_failure(verb: str, path: str, error: OSError) -> ToolError:
    """`VERB PATH: reason`, for example `stat /a/b: no such file or directory`.

    zot's errors have these three parts, and models and scripts recognise them.
    """
    reason = error.strerror or str(error)
    return ToolError(f"{verb} {path}: {reason[:1].lower()}{reason[1:]}")
