"""How many arguments a handler takes. A handler of events may take the event, or nothing."""

from __future__ import annotations

from .errors import RegistrationError
from .signature import function_of, is_async, required_and_most

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def with_subject(handler: Callable[..., Any], what: str) -> Callable[[Any], Any]:
    """Makes a handler with one parameter or none callable with one argument. Raises `RegistrationError` for more."""
    least, most = _arity(handler, what)
    if least > 1:
        raise RegistrationError(f"{what} takes one argument or none, not {least}")
    return handler if most else lambda _subject: handler()


def check(handler: Callable[..., Any], what: str, count: int) -> None:
    """Raises `RegistrationError` unless the handler can be called with `count` arguments."""
    least, most = _arity(handler, what)
    if not least <= count <= most:
        raise RegistrationError(f"{what} takes {('no argument', 'one argument')[count]}, not {max(least, most)}")


def _arity(handler: Callable[..., Any], what: str) -> tuple[int, int]:
    function_of(handler, what)
    is_async(handler, what)
    return required_and_most(handler, what)
