"""The scripted model of a runtime whose program has tools: what it calls, and what it is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.messages_server import text_reply, tool_reply

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer


def calls(model: MessagesServer, *calls: tuple[str, dict[str, Any]], then: str = "Done.") -> None:
    """The model calls these tools in one turn, and then answers."""
    model.add(tool_reply(calls), text_reply(then))


def told(model: MessagesServer, number: int = 1) -> list[tuple[str, bool]]:
    """The results of the tools that the model was told last in this request, and whether they are errors."""
    messages = model.requests[number].body["messages"]
    last = next(message for message in reversed(messages) if message["content"][0]["type"] == "tool_result")
    return [
        (block["content"][0]["text"] if block["content"] else "", block.get("is_error", False))
        for block in last["content"]
    ]


def weather(city: str, days: int = 1) -> str:
    """Tell the weather of a city.

    Args:
        city: Its name.
    """
    if city == "Atlantis":
        raise LookupError("it has sunk")
    return f"{city}: {days} sunny day(s)"
