"""How a built-in tool reports the end of a call that it does not wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from supervisor.loop.future import Failure


class Done(Protocol):
    """Gets the text for the model, whether it is an error, and why the tool itself has given no result."""

    def __call__(self, text: str, is_error: bool, failure: Failure | None = None) -> None: ...
