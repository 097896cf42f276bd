"""Delivers the outcome of a run: files first, then stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cli.os_errors import discard_output
from cli.run.request import OutputForm
from cli.terminal import is_terminal
from wire.exit_codes import Status
from wire.text import printable

if TYPE_CHECKING:
    from cli.run.output.summary import SummaryData
    from cli.run.request import RunOutput
    from wire import events


def deliver(
    result: events.Result, output: RunOutput, *, has_answer: bool, seen: SummaryData | None, is_kept: bool
) -> int:
    """Writes the answer and the summary to their files, and to stdout what `output` says. Returns the exit status of
    the process: the run's, or 1 if the run ended well and something could not be written."""
    answer = result.text if has_answer else ""
    if output.answer_file is not None:
        result = _to_file(result, output.answer_file, answer)
    if output.summary_file is not None and seen is not None:
        result = _to_summary(result, output.summary_file, answer, seen, is_kept=is_kept)
    printed = 0
    if output.form is OutputForm.TEXT and answer:
        printed = _print(printable(answer) if is_terminal(1) else answer)
    elif output.form is OutputForm.OBJECT:
        printed = print_object(result)
    return result.exit_code or printed


def print_object(result: events.Result) -> int:
    """Prints the record on one line; returns the exit status."""
    from wire import events

    return _print(events.encode(result).decode().rstrip("\n"))


def unstarted_result(status: Status, reason: str) -> events.Result:
    """The result of a run that ended before it began."""
    from agent.engine.prompt_result import PromptResult

    return PromptResult(status, reason).record()


def _to_file(result: events.Result, path: str, answer: str) -> events.Result:
    from cli.run.output.files import OUTPUT, OutputFileError, write_answer

    if not answer:
        print(f"zot: {OUTPUT} {printable(path)}: there is no answer; the file is left as it is", file=sys.stderr)  # noqa: T201
        return result
    try:
        write_answer(path, answer)
    except OutputFileError as error:
        return _report_unwritten(result, error)
    return result


def _to_summary(result: events.Result, path: str, answer: str, seen: SummaryData, *, is_kept: bool) -> events.Result:
    from cli.run.output.files import SUMMARY, SUMMARY_LIMIT, OutputFileError, append_summary, room_in_summary
    from cli.run.output.summary import summary

    text = summary(result, seen, answer=answer, is_kept=is_kept, most_bytes=room_in_summary(path))
    if not text:
        full = f"it has no room left: GitHub shows at most {SUMMARY_LIMIT >> 20} MiB; nothing was appended"
        print(f"zot: {SUMMARY} {printable(path)}: {full}", file=sys.stderr)  # noqa: T201
        return result
    try:
        append_summary(path, text)
    except OutputFileError as error:
        return _report_unwritten(result, error)
    return result


def _report_unwritten(result: events.Result, error: ValueError) -> events.Result:
    print(f"zot: {error}", file=sys.stderr)  # noqa: T201
    if result.exit_code:
        return result
    return replace(result, status=Status.ERROR.value, exit_code=Status.ERROR.exit_code, reason=str(error))


def _print(text: str) -> int:
    """Prints the text and a line end; returns the exit status."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
    except OSError as error:
        discard_output()
        if isinstance(error, BrokenPipeError):
            return Status.INTERRUPTED.exit_code
        print(f"zot: cannot write to stdout: {error.strerror}", file=sys.stderr)  # noqa: T201
        return Status.ERROR.exit_code
    return Status.OK.exit_code
