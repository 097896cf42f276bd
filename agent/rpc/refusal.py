"""The error by which a handler refuses a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    Code = Literal["no_prompt", "busy"]


class RequestRefusedError(Exception):
    """The request is not carried out. The text says why; `code`, if any, does so for programs."""

    def __init__(self, text: str, code: Code | None = None) -> None:
        self.code = code
        super().__init__(text)
