"""`zot --json PROMPT` and `zot -p PROMPT`."""

from __future__ import annotations

import os
import select
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent.configure import Prepared, RunRequest, UsageError, launch
from agent.headless import Headless
from cli.run.status_line import StatusLine
from cli.version import VERSION
from supervisor.discovery.admission import Consent
from supervisor.monitoring.stats_file import RecordingError
from wire.events import Status
from wire.text import printable, valid_text

if TYPE_CHECKING:
    from agent.model.request import Reasoning


@dataclass(frozen=True)
class Request:
    """The command line of a headless run, as it was given."""

    words: tuple[str, ...]
    literal: bool
    """Whether the words are a prompt even if they look like a command."""
    json: bool
    provider: str | None
    model: str | None
    api_key: str | None
    base_url: str | None
    system_prompt: str | None
    append_system_prompt: tuple[str, ...]
    reasoning: Reasoning | None
    record: str | None
    replay: str | None
    tools: frozenset[str]
    extensions: tuple[str, ...]
    discover: bool
    extension_wait: float | None
    strict_guards: bool
    stream_before_guards: bool
    cwd: str | None
    max_steps: int | None
    timeout: float | None
    session: bool
    stats: str | None = None
    metrics: str | None = None
    trust_project: bool = False
    watch: bool = False


def run(request: Request) -> int:
    """Returns the exit status."""
    try:
        prompt = read_prompt(request.words, request.timeout)
        prepared = launch(
            RunRequest(
                provider=request.provider,
                model=request.model,
                api_key=request.api_key,
                base_url=request.base_url,
                system_prompt=request.system_prompt,
                append_system_prompt=request.append_system_prompt,
                reasoning=request.reasoning,
                record=request.record,
                replay=request.replay,
                tools=request.tools,
                extensions=request.extensions,
                discover=request.discover,
                extension_wait=request.extension_wait,
                strict_guards=request.strict_guards,
                stream_before_guards=request.stream_before_guards,
                cwd=request.cwd,
                max_steps=request.max_steps,
                timeout=request.timeout,
                session=request.session,
                stats=request.stats,
                metrics=request.metrics,
                consent=Consent(whole_project=request.trust_project),
                watch=request.watch,
            )
        )
        if request.discover and not (request.json or request.trust_project):
            prepared = _with_consent(prepared)
    except TimeoutError as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.TIMEOUT.exit_code
    except UsageError as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    status = None if request.json else StatusLine()
    try:
        headless = Headless(
            prepared.options,
            version=VERSION,
            make_provider=prepared.make_provider,
            on_record=status.show if status else None,
            before_line=status.clear if status else None,
            stdout=1 if request.json else None,
        )
    except RecordingError as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    is_piped = not request.words or request.words == ("-",)
    result = headless.run(prompt, literal=request.literal or is_piped)
    if not request.json and result.status == Status.OK.value and result.text:
        return _print_answer(result.text)
    return result.exit_code


def _with_consent(prepared: Prepared) -> Prepared:
    """Asks on a terminal whether the project's extensions may run. Raises `KeyboardInterrupt`."""
    from cli.run.trust_prompt import ask

    options = prepared.options
    consent = ask(options.extensions, options.cwd, options.home)
    return replace(prepared, options=replace(options, consent=consent))


def read_prompt(words: tuple[str, ...], timeout: float | None = None) -> str:
    """The words, joined; `-` alone, or no words with something piped in, reads stdin. Otherwise stdin is left alone.

    Bytes that are not UTF-8 become U+FFFD, wherever they come from.
    """
    if words and words != ("-",):
        prompt = " ".join(words)
    elif words or not _is_terminal(0):
        prompt = _read_stdin(timeout)
    else:
        prompt = ""
    if not prompt.strip():
        if words and words != ("-",):
            where = "its words are empty"
        else:
            where = "stdin was empty" if words or not _is_terminal(0) else "no words and nothing piped in"
        raise UsageError(f"no prompt: {where}. Give it as words, as -, or through a pipe; see zot --help")
    return valid_text(prompt)


def _read_stdin(timeout: float | None) -> str:
    """Raises `TimeoutError` if the end of stdin does not come in time."""
    deadline = None if timeout is None else time.monotonic() + timeout
    pieces: list[bytes] = []
    try:
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([0], [], [], left)[0]:
                raise TimeoutError(f"timeout: the prompt on stdin did not end within {timeout:g} s")
            if not (piece := os.read(0, 65_536)):
                return b"".join(pieces).decode("utf-8", "replace").strip()
            pieces.append(piece)
    except TimeoutError:
        raise
    except OSError as error:
        raise UsageError(f"cannot read the prompt from stdin: {error.strerror}") from None


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _print_answer(text: str) -> int:
    """Returns the exit status. To a terminal goes only what cannot control it; a pipe gets the text as it is."""
    if _is_terminal(1):
        text = printable(text)
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the flush at exit must not complain again
        if isinstance(error, BrokenPipeError):
            return Status.INTERRUPTED.exit_code
        print(f"zot: cannot write to stdout: {error.strerror}", file=sys.stderr)  # noqa: T201
        return Status.ERROR.exit_code
    return Status.OK.exit_code
