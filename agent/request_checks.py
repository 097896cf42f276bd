"""Checks a request for a run by itself: flags that are empty, exclude each other, or are no text. Reads nothing but
the working folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wire.text import valid_text

if TYPE_CHECKING:
    from pathlib import Path

    from agent.options import RunRequest


class UsageError(ValueError):
    """The request cannot be run; the text says what to change."""


def checked_folder(request: RunRequest) -> str:
    """The absolute path of the working folder. Raises `UsageError`."""
    _check_given(request)
    path = os.path.abspath(request.cwd or os.curdir)
    if not os.path.isdir(path):
        raise UsageError(f"--cwd {request.cwd}: {'not a folder' if os.path.exists(path) else 'no such folder'}")
    return path


def check(request: RunRequest, cwd: str, home: Path) -> None:
    """Raises `UsageError`."""
    _check_texts(request, cwd, home)
    _check_exclusions(request)
    check_telemetry(request)


def check_telemetry(request: RunRequest) -> None:
    """Raises `UsageError` if the spans of this request cannot be exported."""
    if request.otel_content and not request.otel:
        raise UsageError("--otel-content has no effect without --otel")
    if request.otel:
        from supervisor.telemetry.telemetry import MissingExtraError, check_extra  # other requests do not load it

        try:
            check_extra()
        except MissingExtraError as error:
            raise UsageError(str(error)) from None


def _check_given(request: RunRequest) -> None:
    """Raises `UsageError` for a flag that is given and empty, as from a variable that is not set: the run would use
    another folder, model or key than was meant."""
    for flag, value in (
        ("--cwd", request.cwd),
        ("--model", request.model),
        ("--api-key", request.api_key),
        ("--session", request.session),
    ):
        if value is not None and not value.strip():
            raise UsageError(f"{flag} is empty: give it a value, or leave it out")


def _check_texts(request: RunRequest, cwd: str, home: Path) -> None:
    """Raises `UsageError` for a text that is not UTF-8. The model and the extensions get these texts in JSON, which
    holds only UTF-8, but arguments and paths may hold other bytes."""
    texts = {
        "the working folder": [cwd],
        "ZOT_HOME": [str(home)],
        "--model": [request.model or ""],
        "--system-prompt": [request.system_prompt or ""],
        "--append-system-prompt": request.append_system_prompt,
        "--ext": request.extensions,
        "--mcp-config": request.mcp_configs,
    }
    for where, values in texts.items():
        for value in values:
            if value != valid_text(value):
                raise UsageError(f"{where} {valid_text(value)!r}: not valid UTF-8")


def _check_exclusions(request: RunRequest) -> None:
    """Raises `UsageError` for flags that exclude each other."""
    name = request.provider or ""
    if name == "replay" and request.replay is None:
        raise UsageError("--provider replay needs a cassette: --replay FILE (or try zot demo)")
    if name not in ("", "replay") and request.replay is not None:
        raise UsageError(f"--replay FILE and --provider {name} exclude each other")
    if request.replay is not None and request.record is not None:
        raise UsageError("--replay and --record exclude each other: a replayed run has nothing new to record")
    if request.copilot and not request.discover:
        raise UsageError("--copilot and --no-ext exclude each other: what the agent makes would not be found")
    if request.openmetrics and request.metrics is None:
        raise UsageError("--openmetrics has no effect without --metrics FILE")
    stats, metrics = request.stats, request.metrics
    if stats is not None and metrics is not None and os.path.realpath(stats) == os.path.realpath(metrics):
        raise UsageError(f"--stats and --metrics name the same file, {metrics}; each needs its own")
