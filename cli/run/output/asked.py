"""What the flags ask for: in which form stdout gets the outcome, and which files get it, too."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from cli.run.request import FlagError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Form(Enum):
    """What stdout gets."""

    TEXT = "text"
    """The final answer."""
    OBJECT = "object"
    """The `result` record, at the end."""
    STREAM = "stream"
    """Each event as a line."""
    RPC = "rpc"
    """The answers to a program."""


class Asked(msgspec.Struct, frozen=True):
    """Files are None if no flag names one."""

    form: Form
    answer_file: str | None = None
    summary_file: str | None = None


def asked_from(parameters: Mapping[str, Any]) -> Asked | None:
    """What the parameters of `command.root` ask for; None if they ask for no run. Raises `FlagError` for flags that
    exclude each other."""
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
        return Asked(Form.RPC)
    if json:
        return Asked(Form.STREAM, answer_file, summary_file)
    if shape == "json":
        return Asked(Form.OBJECT, answer_file, summary_file)
    return Asked(Form.TEXT, answer_file, summary_file) if text or shape else None
