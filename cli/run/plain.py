"""Reads plain command lines of a run, such as `-p --model M a prompt`, without typer, whose import takes a third of the
time of a replayed run. Everything else (help, a sub-command, completion, an unknown flag, a value that cannot be used)
is left to typer, which also says what is wrong."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from cli.duration import limit_from, seconds_from
from cli.os_errors import exit_after, leave
from cli.resume_flag import JOINED, with_value
from cli.run import screen
from cli.run.plain_flags import COMMANDS, FLAGS
from cli.run.request import RPC_ONLY, FlagError, OutputForm, RunOutput, dollars_from, output_from, request_from

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.options import RunRequest

COMPLETION = "_ZOT_COMPLETE"
"""While the shell completes a command line, this variable says what it asks for."""


class PlainRun:
    """A run that a command line asks for."""

    def __init__(self, parameters: dict[str, Any], output: RunOutput, words: tuple[str, ...], *, literal: bool) -> None:
        """Raises `FlagError`."""
        self.request: RunRequest = request_from(parameters)
        self.words = words
        self.literal = literal
        self.output = output
        self.drain_s: float | None = parameters.get("drain_timeout")
        self.listen: str | None = parameters.get("listen")
        self.no_stdin = bool(parameters.get("no_stdin"))


class ScreenRun(NamedTuple):
    """A screen that a command line asks for."""

    parameters: dict[str, Any]
    words: tuple[str, ...]


def read(arguments: Sequence[str]) -> PlainRun | ScreenRun | None:
    """The run or the screen that the arguments of `zot` ask for; None if they are not plain."""
    if arguments[:1] == ["rpc"]:
        arguments = ["--rpc", *arguments[1:]]
    if not arguments or arguments[0] in COMMANDS or COMPLETION in os.environ:
        return None
    try:
        parameters, words, literal = _parse(arguments)
        output = output_from(parameters)
        if output is None:
            return ScreenRun(parameters, words) if screen.is_wanted(parameters) and _is_valid(parameters) else None
        if "rpc" not in parameters and not parameters.keys().isdisjoint(RPC_ONLY):
            return None
        return PlainRun(parameters, output, words, literal=literal)
    except ValueError:  # also `FlagError`
        return None


def carry_out(plain: PlainRun | ScreenRun) -> None:
    """Runs it and exits with its status."""
    try:
        if isinstance(plain, ScreenRun):
            leave(screen.open_screen(plain.parameters, plain.words))
        if not plain.request.otel or plain.listen:
            leave(_run(plain))
        from supervisor.telemetry.early_start import exporter_beside  # other runs do not load it

        with exporter_beside(os.environ):
            status = _run(plain)
        leave(status)
    except OSError as error:
        exit_after(error)


def _run(plain: PlainRun) -> int:
    """Returns the exit status."""
    if plain.output.form is OutputForm.RPC:
        from cli.run.rpc import serve

        return serve(plain.request, plain.words, drain_s=plain.drain_s, no_stdin=plain.no_stdin, listen=plain.listen)
    from cli.run.headless import run

    return run(plain.request, plain.words, literal=plain.literal, output=plain.output, no_stdin=plain.no_stdin)


def _is_valid(parameters: dict[str, Any]) -> bool:
    """Whether the flags suit a screen and each other. Raises `FlagError`."""
    request_from(parameters)
    return not {*RPC_ONLY, "image"} & parameters.keys()


def _parse(arguments: Sequence[str]) -> tuple[dict[str, Any], tuple[str, ...], bool]:
    """The parameters that are given, the words, and whether `--` ended the flags. Raises ValueError."""
    parameters: dict[str, Any] = {}
    words: list[str] = []
    rest = iter(with_value(arguments, _VALUED))
    for argument in rest:
        if argument.startswith(JOINED):
            parameters["resume"] = argument.removeprefix(JOINED)
            continue
        if argument == "--":
            return parameters, (*words, *rest), True
        if not argument.startswith("-") or argument == "-":
            words.append(argument)
            continue
        name, kind = FLAGS.get(argument) or _refuse(argument)
        if kind == "switch":
            parameters[name] = True
            continue
        value = next(rest, "-")
        if value.startswith("-"):
            _refuse(value)
        if kind == "texts":
            parameters[name] = (*parameters.get(name, ()), value)
        else:
            parameters[name] = _VALUES[kind](value) if isinstance(kind, str) else _one_of(value, kind)
    return parameters, tuple(words), False


def _count(value: str) -> int:
    return int(value) if re.fullmatch(r"[1-9][0-9]{0,8}", value) else _refuse(value)


def _one_of(value: str, choices: tuple[str, ...]) -> str:
    return value if value in choices else _refuse(value)


def _refuse(value: str) -> Any:
    raise FlagError(value)


_VALUED = frozenset(flag for flag, (_, kind) in FLAGS.items() if kind != "switch")
_VALUES: dict[str, Callable[[str], Any]] = {
    "text": str,
    "count": _count,
    "wait": seconds_from,
    "limit": limit_from,
    "dollars": dollars_from,
}
