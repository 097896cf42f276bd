"""`zot --json PROMPT` and `zot -p PROMPT`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.configure import Prepared, UsageError, prepare
from agent.headless import Headless
from cli.os_errors import discard_output
from cli.run.prompt import STDIN, PromptError
from cli.run.status_line import StatusLine
from cli.run.stdin import is_terminal, read_prompt
from cli.version import VERSION
from supervisor.monitoring.stats_error import StatsFileError
from supervisor.process import fd_limit
from wire.exit_codes import Status
from wire.text import printable

if TYPE_CHECKING:
    from agent.options import RunRequest


def run(request: RunRequest, words: tuple[str, ...], *, literal: bool, as_json: bool, no_stdin: bool = False) -> int:
    """Returns the exit status. With `literal` the words are a prompt even if they look like a command; with `no_stdin`
    stdin is not read. Raises `OSError`."""
    fd_limit.check_least()
    try:
        key_on_stdin = request.api_key_file == STDIN
        if key_on_stdin and (not words or STDIN in words):
            raise PromptError("--api-key-file - reads the key from stdin: give the prompt as words, without -")
        prompt = read_prompt(words, no_stdin=no_stdin or key_on_stdin, timeout=request.timeout)
        prepared = prepare(request)
        if request.discover and not (as_json or request.trust_project):
            prepared = _with_consent(prepared)
    except TimeoutError as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.TIMEOUT.exit_code
    except (PromptError, UsageError) as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    status = None if as_json else StatusLine()
    try:
        headless = Headless(
            prepared.options,
            version=VERSION,
            make_provider=prepared.make_provider,
            on_record=status.show if status else None,
            before_line=status.clear if status else None,
            stdout=1 if as_json else None,
        )
    except StatsFileError as error:
        print(f"zot: {error}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    result = headless.run(prompt.text, literal=literal or prompt.is_literal)
    printed = 0 if as_json or not headless.has_answer or not result.text else _print_answer(result.text)
    return result.exit_code or printed


def _with_consent(prepared: Prepared) -> Prepared:
    """Asks on a terminal whether the project's extensions may run. Raises `KeyboardInterrupt`."""
    from cli.run.trust_prompt import ask

    options = prepared.options
    consent = ask(options.extensions, options.cwd, options.home)
    return replace(prepared, options=replace(options, consent=consent))


def _print_answer(text: str) -> int:
    """Prints the text, to a terminal without control characters; returns the exit status."""
    if is_terminal(1):
        text = printable(text)
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
