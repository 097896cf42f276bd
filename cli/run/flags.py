"""Makes typer's parameters from the table of flags, `wire.flags`."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.duration import limit_from, seconds_from
from cli.help import completion
from cli.run.request import dollars_from
from wire.flags.flag import METAVARS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.flags.flag import Flag

SIZES = "bytes (1048576) or a number with KB, MB, GB (1000s) or KiB, MiB, GiB, K, M, G (1024s)"
_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _UNITS |= {_letter: 1024**_power, f"{_letter}IB": 1024**_power, f"{_letter}B": 1000**_power}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}) ?([A-Za-z]{0,3})")


def bytes_from(text: str) -> int:
    """The bytes that `text` means, at least one: `512MB`, `1.5GiB`, `800M`, `1048576`. Units may be in lower case.
    Raises ValueError, whose text says what is accepted."""
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[2].upper()) if found else None
    size = int(float(found[1]) * unit) if found and unit else 0
    if not size:
        raise ValueError(f"{text!r} is not a size above zero: write {SIZES}")
    return size


TYPES: dict[Kind, Any] = {
    Kind.SWITCH: bool, Kind.TEXTS: list[str], Kind.PATHS: list[str], Kind.COUNT: int, Kind.NUMBER: float,
}  # fmt: skip
"""The types of the values of flags. All others are read as text."""
READERS: dict[Kind, Callable[[str], float]] = {
    Kind.WAIT: seconds_from, Kind.LIMIT: limit_from, Kind.DOLLARS: dollars_from, Kind.SIZE: bytes_from,
}  # fmt: skip
"""Parsers of the text, for kinds of values that typer does not know."""


def with_flags(flags: tuple[Flag, ...]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command these flags, behind the parameters of its own. Their values are in the `params` of its context;
    those of a repeatable flag are a tuple."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        made = signature.replace(parameters=[*own, *(parameter(flag) for flag in flags)])
        command.__signature__ = made  # type: ignore[attr-defined]  # typer asks for it
        return command

    return add


def parameter(flag: Flag) -> inspect.Parameter:
    """The flag as a parameter of a function that typer makes a command of."""
    option = typer.Option(
        *flag.words,
        help=flag.help,
        metavar=flag.metavar or METAVARS.get(flag.kind),
        min=flag.least if flag.kind in (Kind.COUNT, Kind.NUMBER) else None,
        max=flag.most,
        parser=_reader(flag.kind),
        autocompletion=_completer(flag),
        show_default=flag.shows_default,
        rich_help_panel=flag.panel or None,
    )
    kind: Any = Literal[flag.choices] if flag.kind is Kind.CHOICE else TYPES.get(flag.kind, str)
    is_optional = flag.takes_value and flag.default is None
    return inspect.Parameter(
        flag.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind | None if is_optional else kind, option],
        default=flag.default if flag.takes_value else False,
    )


def _reader(kind: Kind) -> Callable[[str], float] | None:
    """A function that typer calls with the text; errors name the flag."""
    read = READERS.get(kind)
    if read is None:
        return None

    def value(text: str) -> float:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return value


def _completer(flag: Flag) -> Any:
    if flag.completer:
        return getattr(completion, flag.completer)
    if flag.choices and flag.kind is not Kind.CHOICE:  # typer itself offers those of a choice
        return lambda incomplete: [word for word in flag.choices if word.startswith(incomplete)]
    return None
