"""Verdicts of guards. None is short for `allow()`."""

from __future__ import annotations

from .content import Result
from .values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .content import Block as ContentBlock


class Verdict(Value):
    """Base of all verdicts."""

    __slots__: tuple[str, ...] = ()


class Allow(Verdict):
    """The event goes on, unchanged."""

    __slots__ = ()


class Block(Verdict):
    """The event is refused. The model or the user sees the `reason`."""

    __slots__ = ("reason",)

    def __init__(self, reason: str = "") -> None:
        if not isinstance(reason, str):
            raise TypeError(f"the reason of a block is a str, not {type(reason).__name__}")
        self.reason = reason


class Ask(Verdict):
    """A person has to decide. If no person can be asked, the event is refused with the `reason`, unless the user lets
    such events pass."""

    __slots__ = ("reason",)

    def __init__(self, reason: str = "") -> None:
        if not isinstance(reason, str):
            raise TypeError(f"the reason of a question is a str, not {type(reason).__name__}")
        self.reason = reason


class AddContext(Verdict):
    """The event goes on, and the model gets this text behind the prompt, or behind the tool's result."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"the context is a str, not {type(text).__name__}")
        self.text = text


class RewriteArgs(Verdict):
    """The tool is called with these arguments instead. They are the whole object, not only the changes."""

    __slots__ = ("args",)

    def __init__(self, args: Mapping[str, Any]) -> None:
        if not isinstance(args, dict):
            raise TypeError(f"a tool's arguments are a dict, not {type(args).__name__}")
        self.args: dict[str, Any] = args


class ReplaceText(Verdict):
    """Replaces a message or prompt. Empty text is a `ValueError`: a host takes it for "unchanged"."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"the new text is a str, not {type(text).__name__}")
        if not text:
            raise ValueError("the new text is empty, which a host takes for unchanged: use block() to withhold it")
        self.text = text


class ReplaceResult(Verdict):
    """The model sees this result of a tool instead. With `is_error` None the flag stays as it was."""

    __slots__ = ("content", "is_error")

    def __init__(
        self, content: str | ContentBlock | Iterable[str | ContentBlock], *, is_error: bool | None = None
    ) -> None:
        self.content = Result(content).content
        self.is_error = is_error


def allow() -> Allow:
    """Lets the event go on, unchanged. The same as returning None."""
    return Allow()


def block(reason: str = "") -> Block:
    """Refuses the event. The model or the user sees the reason."""
    return Block(reason)


def ask(reason: str = "") -> Ask:
    """Lets a person decide. If no person can be asked, the event is refused, unless the user lets such events pass."""
    return Ask(reason)


def add_context(text: str) -> AddContext:
    """For `intercept_user_prompt`, `intercept_tool_call` and `intercept_tool_result`: the model gets this text, too,
    behind the prompt or behind the tool's result."""
    return AddContext(text)


def rewrite_args(args: Mapping[str, Any]) -> RewriteArgs:
    """For `intercept_tool_call`: the tool is called with these arguments."""
    return RewriteArgs(args)


def replace_text(text: str) -> ReplaceText:
    """For `intercept_assistant_message` and `intercept_user_prompt`: this text is used instead."""
    return ReplaceText(text)


def replace_result(
    content: str | ContentBlock | Iterable[str | ContentBlock], *, is_error: bool | None = None
) -> ReplaceResult:
    """For `intercept_tool_result`: the model sees this result instead."""
    return ReplaceResult(content, is_error=is_error)
