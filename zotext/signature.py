"""Reads the parameters of a handler, without `inspect`, which takes longer to import than this whole package."""

from __future__ import annotations

from types import FunctionType, MethodType

from .errors import RegistrationError
from .values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_VARARGS, _VARKEYWORDS, _COROUTINE, _ASYNC_GENERATOR = 0x04, 0x08, 0x80, 0x200


class Missing:
    """Stands for "no default" and "no hint"."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


class Parameter(Value):
    """One parameter. `hint` and `default` are `MISSING` if it has none."""

    __slots__ = ("default", "hint", "keyword", "name")

    def __init__(self, name: str, hint: object, default: object, keyword: bool) -> None:
        self.name = name
        self.hint = hint
        self.default = default
        self.keyword = keyword
        """Whether it can only be passed by name."""


def function_of(handler: Callable[..., object], what: str) -> tuple[FunctionType, bool]:
    """Returns the function behind decorators and bindings, and whether its first parameter is already bound.

    Raises `RegistrationError` if there is no function, as for a class or a `functools.partial`.
    """
    found: Any = handler
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    if not isinstance(found, (FunctionType, MethodType)) and not isinstance(found, type):
        found = getattr(found, "__call__", found)  # noqa: B004 - a callable object
    if isinstance(found, MethodType):
        return function_of(found.__func__, what)[0], True
    if not isinstance(found, FunctionType):
        raise RegistrationError(f"{what} is a {type(found).__name__}: wrap it in a function with type hints")
    return found, False


def is_async(handler: Callable[..., object], what: str) -> bool:
    function, _ = function_of(handler, what)
    if function.__code__.co_flags & _ASYNC_GENERATOR:
        raise RegistrationError(f"{what} is an async generator: return one value instead of yielding several")
    return bool(function.__code__.co_flags & _COROUTINE)


def parameters(
    handler: Callable[..., object], what: str, local_names: Mapping[str, object] | None = None
) -> list[Parameter]:
    """Returns all parameters in order, without `self`. Raises `RegistrationError` for `*args`, `**kwargs`, and
    unreadable hints."""
    function, bound = function_of(handler, what)
    code = function.__code__
    for flag, sign in ((_VARARGS, "*"), (_VARKEYWORDS, "**")):
        if code.co_flags & flag:
            name = code.co_varnames[code.co_argcount + code.co_kwonlyargcount + (sign == "**" and _has_varargs(code))]
            raise RegistrationError(f"{what}: parameter {sign}{name} has no name to be given by: name each parameter")
    hints = _hints(function, what, local_names)
    positional = code.co_varnames[: code.co_argcount]
    given = function.__defaults__ or ()
    defaults: dict[str, object] = {positional[position - len(given)]: value for position, value in enumerate(given)}
    defaults.update(function.__kwdefaults__ or {})
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [
        Parameter(name, hints.get(name, MISSING), defaults.get(name, MISSING), position >= code.co_argcount)
        for position, name in enumerate(names)
        if not (bound and position == 0)
    ]


def required_and_most(handler: Callable[..., object], what: str) -> tuple[int, int]:
    """Returns the minimum and the maximum number of positional arguments (99 with `*args`)."""
    function, bound = function_of(handler, what)
    code = function.__code__
    required = code.co_argcount - len(function.__defaults__ or ()) - bound
    return required, 99 if code.co_flags & _VARARGS else code.co_argcount - bound


def _has_varargs(code: Any) -> bool:
    return bool(code.co_flags & _VARARGS)


def _hints(function: FunctionType, what: str, local_names: Mapping[str, object] | None) -> dict[str, Any]:
    """Returns the hints by name. They may use `local_names`: the names of the scope in which the handler is defined."""
    if not function.__annotations__:
        return {}
    from typing import get_type_hints

    try:
        return get_type_hints(function, localns=dict(local_names or {}), include_extras=True)
    except Exception as error:
        texts = {name: hint for name, hint in function.__annotations__.items() if isinstance(hint, str)}
        missing = getattr(error, "name", None)
        culprits = [name for name, hint in texts.items() if missing and missing in hint] or list(texts)
        raise RegistrationError(
            f"{what}: the type hint of {' or '.join(map(repr, culprits))} cannot be read ({error}); "
            "it must be importable at run time, not only under TYPE_CHECKING"
        ) from error


def with_subject(handler: Callable[..., Any], what: str) -> Callable[[Any], Any]:
    """Lets a handler with one parameter or none take one argument. Raises `RegistrationError` for more."""
    least, most = _arity(handler, what)
    if least > 1:
        raise RegistrationError(f"{what} takes one argument or none, not {least}")
    return handler if most else lambda _subject: handler()


def check_arity(handler: Callable[..., Any], what: str, count: int) -> None:
    """Raises `RegistrationError` unless the handler can be called with `count` arguments."""
    least, most = _arity(handler, what)
    if not least <= count <= most:
        raise RegistrationError(f"{what} takes {('no argument', 'one argument')[count]}, not {max(least, most)}")


def _arity(handler: Callable[..., Any], what: str) -> tuple[int, int]:
    function_of(handler, what)
    is_async(handler, what)
    return required_and_most(handler, what)
