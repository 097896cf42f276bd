"""Makes the request for a run from its flags: the run itself, the form in which stdout gets its outcome, and the files
that get it, too."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from wire.suggestions import not_one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.options import RunRequest

BUILT_IN_TOOLS = ("read", "write", "edit", "bash")
RPC_ONLY = ("drain_timeout", "listen")
"""Parameters that have no effect without --rpc."""


class FlagError(ValueError):
    """A flag has a value that cannot be used; the text says what can."""


def request_from(parameters: Mapping[str, Any]) -> RunRequest:
    """Makes a request from the parameters of `command.root`; a missing one, or None, keeps its default. Raises
    `FlagError`."""
    from agent.options import RunRequest
    from agent.run_flags import FIELDS

    given: dict[str, Any] = {
        field: not value if name.startswith("no_") else value
        for name, field in FIELDS.items()
        if (value := parameters.get(name)) is not None
    }
    is_compacting, is_not = parameters.get("auto_compact"), parameters.get("no_auto_compact")
    if is_compacting and is_not:
        raise FlagError("--auto-compact and --no-auto-compact exclude each other: leave one of them out")
    return RunRequest(
        **given,
        tools=frozenset() if parameters.get("no_tools") else tools_from(parameters.get("tools")),
        keep_session=_keeps_session(parameters),
        auto_compact=True if is_compacting else False if is_not else None,
    )


def _keeps_session(given: Mapping[str, Any]) -> bool:
    """Whether the run keeps its transcript. zot's rpc keeps none, so with --rpc only where that is asked for. Raises
    `FlagError`."""
    if given.get("save_session") and not given.get("rpc"):
        raise FlagError("--save-session has no effect without --rpc: other runs keep their transcript")
    if given.get("no_session"):
        if given.get("save_session"):
            raise FlagError("--no-session and --save-session exclude each other: leave one of them out")
        return False
    names = [given.get("continue_"), given.get("resume") is not None, given.get("session") is not None]
    return not given.get("rpc") or bool(given.get("save_session") or any(names))


def tools_from(csv: str | None) -> frozenset[str]:
    """The built-in tools in a comma-separated list; all of them without a list. Raises `FlagError`."""
    if csv is None:
        return frozenset(BUILT_IN_TOOLS)
    names = [name.strip() for name in csv.split(",") if name.strip()]
    for name in names:
        if name not in BUILT_IN_TOOLS:
            raise FlagError(f"--tools: {not_one_of(name, BUILT_IN_TOOLS)}")
    return frozenset(names)


def dollars_from(text: str) -> float:
    """An amount of US dollars above zero: `2`, `0.50`, `$1.5`. Raises ValueError."""
    found = re.fullmatch(r"\$?([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})", text.strip())
    amount = float(found[1]) if found else 0.0
    if not amount:
        raise ValueError(f"{text!r} is no amount of dollars above zero, such as 0.50")
    return amount


class OutputForm(Enum):
    """The form of the output on stdout."""

    TEXT = "text"
    """The final answer."""
    OBJECT = "object"
    """The `result` record, at the end."""
    STREAM = "stream"
    """Each event as a line."""
    RPC = "rpc"
    """The answers to a program."""


class RunOutput(msgspec.Struct, frozen=True):
    """The outputs of a run. A file is None if no flag names it."""

    form: OutputForm
    answer_file: str | None = None
    summary_file: str | None = None


def output_from(parameters: Mapping[str, Any]) -> RunOutput | None:
    """The output that the parameters of `command.root` ask for; None if they ask for no run. Raises `FlagError` for
    flags that exclude each other."""
    json, text, rpc = (bool(parameters.get(name)) for name in ("json", "print", "rpc"))
    shape = parameters.get("output_format")
    answer_file, summary_file = parameters.get("output"), parameters.get("summary")
    if json + text + rpc > 1:
        raise FlagError("choose one of --json, --print and --rpc")
    if shape is not None and json:
        raise FlagError(
            "--output-format and --json exclude each other: --json prints each event, --output-format json one object"
        )
    if rpc:
        files = {"--output-format": shape, "--output": answer_file, "--summary": summary_file}
        for flag, value in (*files.items(), ("--image", parameters.get("image"))):
            if value:
                raise FlagError(f"{flag} has no effect with --rpc: each prompt has its own images and its own result")
        return RunOutput(OutputForm.RPC)
    if json:
        return RunOutput(OutputForm.STREAM, answer_file, summary_file)
    if shape == "json":
        return RunOutput(OutputForm.OBJECT, answer_file, summary_file)
    return RunOutput(OutputForm.TEXT, answer_file, summary_file) if text or shape else None
