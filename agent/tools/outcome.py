"""What a tool hands back: content blocks for the model, and whether they tell of a failure."""

from __future__ import annotations

Block = dict[str, str]
"""`{"type": "text", "text"}` or `{"type": "image", "mime_type", "data": base64}`."""


class Outcome:
    __slots__ = ("content", "is_error")

    def __init__(self, content: list[Block], *, is_error: bool = False) -> None:
        self.content = content
        self.is_error = is_error

    @classmethod
    def of_text(cls, text: str, *, is_error: bool = False) -> Outcome:
        return cls([{"type": "text", "text": text}], is_error=is_error)


class ToolError(Exception):
    """An expected failure. Its text is the whole tool result."""


def os_failure(verb: str, path: str, error: OSError) -> ToolError:
    """`VERB PATH: reason`, for example `stat /a/b: no such file or directory`.

    The same three parts as zot's, because models and scripts recognise them.
    """
    reason = error.strerror or str(error)
    return ToolError(f"{verb} {path}: {reason[:1].lower()}{reason[1:]}")
