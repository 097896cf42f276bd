"""`zot --json PROMPT` and `zot -p PROMPT`."""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.configure import prepare
from agent.headless import Headless
from agent.request_checks import UsageError
from cli.run.output.delivery import deliver, print_object, unstarted_result
from cli.run.prompt import STDIN, PromptError
from cli.run.request import OutputForm, RunOutput
from cli.run.stdin import read_prompt
from cli.terminal import is_screen
from cli.version import VERSION
from supervisor.home.zot_home import zot_home
from supervisor.monitoring.rotated_file import StatsFileError
from supervisor.process import fd_limit
from wire import events
from wire.exit_codes import Status
from wire.text import counted, printable

if TYPE_CHECKING:
    from pathlib import Path

    from agent.options import RunRequest
    from cli.run.output.summary import SummaryData
    from supervisor.discovery.admission import Consent

ERASE = "\r\x1b[2K"


def run(
    request: RunRequest, words: tuple[str, ...], *, literal: bool, output: RunOutput, no_stdin: bool = False
) -> int:
    """Returns the exit status. With `literal` the words are a prompt even if they look like a command; with `no_stdin`
    stdin is not read. Raises `OSError`."""
    fd_limit.check_least()
    as_stream = output.form is OutputForm.STREAM
    try:
        key_on_stdin = request.api_key_file == STDIN
        if key_on_stdin and (not words or STDIN in words):
            raise PromptError("--api-key-file - reads the key from stdin: give the prompt as words, without -")
        _check_files(output, request)
        prompt = read_prompt(
            words, no_stdin=no_stdin or key_on_stdin, timeout=request.timeout, has_images=bool(request.images)
        )
        request = _with_session(request)
        asks = request.discover and not (as_stream or request.trust_project)
        prepared = prepare(request, ask=partial(_consent, request) if asks else None)
    except TimeoutError as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return _end_before_start(output, Status.TIMEOUT, str(error))
    except (PromptError, UsageError) as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    except KeyboardInterrupt:
        return _end_before_start(output, Status.INTERRUPTED, "interrupted by SIGINT")
    status = StatusLine() if not as_stream and is_screen(2) else None
    seen = _summary_data() if output.summary_file is not None else None
    try:
        headless = Headless(
            prepared.options,
            version=VERSION,
            make_provider=prepared.make_provider,
            readers=(*([status.show] if status else ()), *([seen.see] if seen else ())),
            session=prepared.session,
            before_line=status.clear if status else None,
            stdout=1 if as_stream else None,
        )
    except StatsFileError as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    delivered: list[int] = []

    def take(result: events.Result) -> None:
        is_kept = prepared.options.keep_session
        delivered.append(deliver(result, output, has_answer=headless.has_answer, seen=seen, is_kept=is_kept))

    is_exported = prepared.options.otel  # nobody waits for a collector to see the answer
    result = headless.run(
        prompt.text, literal=literal or prompt.is_literal, images=prepared.images,
        on_result=take if is_exported else None,
    )  # fmt: skip
    if not is_exported:
        take(result)
    return delivered[0]


def _check_files(output: RunOutput, request: RunRequest) -> None:
    """Raises `UsageError` if a file of the outcome cannot be written."""
    if output.answer_file is None and output.summary_file is None:
        return
    from cli.run.output.files import OutputFileError, check_files

    others = [
        ("--stats", request.stats),
        ("--metrics", request.metrics),
        ("--record", request.record),
        ("--replay", request.replay),
        ("--session", request.session),
        ("--output-schema", None if (request.output_schema or "").lstrip().startswith("{") else request.output_schema),
        ("--api-key-file", None if request.api_key_file == STDIN else request.api_key_file),
        *(("--image", image) for image in request.images),
    ]
    try:
        check_files(output, others)
    except OutputFileError as error:
        raise UsageError(str(error)) from None


def _end_before_start(output: RunOutput, status: Status, reason: str) -> int:
    """The exit status of a run that ended while its prompt was read; its object is printed, if that was asked for."""
    if output.form is OutputForm.OBJECT:
        print_object(unstarted_result(status, reason))
    return status.exit_code


def _summary_data() -> SummaryData:
    from cli.run.output.summary import SummaryData

    return SummaryData()


def _with_session(request: RunRequest) -> RunRequest:
    """Asks on a terminal which session to go on with, where `--resume` has no ID. Raises `UsageError`, and
    `KeyboardInterrupt` if none."""
    if request.resume != "":
        return request
    from cli.run.session_prompt import NoChoiceError, ask

    try:
        path = ask(request.cwd, request.home or zot_home())
    except NoChoiceError as error:
        raise UsageError(str(error)) from None
    if path is None:
        raise KeyboardInterrupt
    return replace(request, resume=None, session=path)


def _consent(request: RunRequest, cwd: str, home: Path) -> Consent:
    """Asks on a terminal whether the project's extensions may run. Raises `KeyboardInterrupt`."""
    from cli.run.trust_prompt import ask

    return ask(request.extensions, cwd, home, request.mcp_configs)


class StatusLine:
    """Rewrites the last line of a terminal."""

    def __init__(self, fd: int = 2) -> None:
        self._fd = fd
        self._shown = False
        self._step = 0
        self._on = True

    def show(self, record: events.Record) -> None:
        match record:
            case events.Session(extensions=names):
                self._write(counted(len(names), "extension") if names else "starting")
            case events.TurnStart(step=step):
                self._step = step
                self._write(f"turn {step}: waiting for the model")
            case events.Retry(attempt=attempt, of=of, wait_s=wait, reason=reason):
                self._write(f"turn {self._step}: {reason}; try {attempt} of {of} in {_seconds(wait)}")
            case events.CompactStart():
                self._write("compacting the conversation")
            case events.AssistantStart():
                self._write(f"turn {self._step}: the model is answering")
            case events.ToolCall(name=name, args=args):
                self._write(f"turn {self._step}: {name} {bytes(args).decode('utf-8', 'replace')}")
            case events.Result():
                self.clear()

    def clear(self) -> None:
        """Erases the line; to be called before other output to the terminal."""
        if self._shown:
            self._shown = False
            self._put(ERASE)

    def _write(self, text: str) -> None:
        if self._on:
            width = shutil.get_terminal_size().columns
            self._shown = True
            self._put(ERASE + printable(text)[: width - 1])

    def _put(self, text: str) -> None:
        try:
            os.write(self._fd, text.encode("utf-8", "replace"))
        except OSError:
            self._on = False


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 1 else f"{value:.1f} s"
