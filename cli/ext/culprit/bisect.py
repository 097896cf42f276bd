"""`zot ext bisect`: finds the extensions that make a recorded run go bad."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.bisect.bisect import BisectError, BisectRequest, Finding, bisect
from agent.bisect.checks import CommandCheck, DifferenceCheck, MemoryCheck, TextCheck, TimeCheck
from agent.bisect.last_reply import read_last_reply
from agent.bisect.trial_process import TrialProcesses
from agent.cassette.errors import CassetteError
from cli.ext.culprit.replayed_command import read_command
from cli.json_line import print_json
from cli.os_errors import UnableError
from cli.terminal import is_screen, say, terminal_text
from supervisor.process.child import SpawnError
from wire.exit_codes import Status
from wire.suggestions import join_names
from wire.text import counted, printable, valid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.bisect.bisect import Bisection, TrialRecord
    from agent.bisect.checks import Check
    from cli.ext.culprit.replayed_command import ReplayedCommand

ERASE = "\r\x1b[2K"
SHOWN = 8
"""Maximum number of extensions of a trial that are named."""


class BisectArguments(NamedTuple):
    """The arguments of the command."""

    command: tuple[str, ...]
    check: str | None
    check_text: str | None
    max_s: float | None
    max_rss: float | None
    differs: bool
    repeat: int
    timeout_s: float
    as_json: bool


def run_bisect(arguments: BisectArguments) -> int:
    """Returns the exit status: 0 if the extensions were found. Raises `UnableError`."""
    command = read_command(arguments.command)
    check = _check(arguments, command)
    request = BisectRequest(
        command.program, command.flags, command.wants_events, command.has_timeout, check, arguments.timeout_s,
        arguments.repeat,
    )  # fmt: skip
    view = _Progress() if is_screen(2) else _Silence()
    try:
        with TrialProcesses() as processes:
            found = bisect(request, processes, view)
    except (BisectError, SpawnError) as error:
        raise UnableError(str(error), Status.USAGE) from None
    finally:
        view.clear()
    if arguments.as_json:
        print_json(_as_json(found, check))
    else:
        lines = (printable(valid_text(line.replace("\n", " "))) for line in _lines(found, check))
        print("\n".join(lines))  # noqa: T201
    return 0 if found.finding is Finding.FOUND else Status.ERROR.exit_code


def _check(arguments: BisectArguments, command: ReplayedCommand) -> Check:
    given = {
        "--check": arguments.check,
        "--check-text": arguments.check_text,
        "--max-s": arguments.max_s,
        "--max-rss": arguments.max_rss,
        "--differs": arguments.differs or None,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        said = "exclude each other" if named else "one is needed"
        raise UnableError(f"{join_names(named or list(given), 5)}: {said}; it says when a run is bad", Status.USAGE)
    if arguments.check is not None:
        return CommandCheck(arguments.check)
    if arguments.max_s is not None:
        if arguments.max_s > arguments.timeout_s:
            raise UnableError(
                f"--max-s is longer than --timeout, {arguments.timeout_s:g} s; raise --timeout", Status.USAGE
            )
        return TimeCheck(arguments.max_s)
    if arguments.max_rss is not None:
        return MemoryCheck(arguments.max_rss)
    try:
        replies, last_text = read_last_reply(command.recording, command.cwd or os.getcwd())
        if arguments.check_text is None:
            return DifferenceCheck(replies, last_text)
        return TextCheck(re.compile(arguments.check_text), last_text)
    except re.error as error:
        raise UnableError(f"--check-text: no regular expression: {error}", Status.USAGE) from None
    except CassetteError as error:
        raise UnableError(str(error), Status.USAGE) from None


# --- the outcome --------------------------------------------------------------------------------------------


def _lines(found: Bisection, check: Check) -> list[str]:
    runs, decisive = counted(found.runs, "run"), found.decisive
    if found.finding is Finding.FOUND:
        lines = _found(found, check)
    elif found.finding is Finding.NEVER_BAD:
        lines = [
            f"The run is good with {_all(found)}: {decisive.why}.",
            "Give a check that fails, or a recording of a bad run. For a fault that comes and goes: --repeat.",
        ]
    elif found.finding is Finding.ALWAYS_BAD:
        lines = [
            f"The run fails without any extension, too: {decisive.why}.",
            "No extension is the cause, or the check also fails for good runs.",
        ]
    elif found.finding is Finding.FLAKY:
        lines = ["Not found: the same extensions are bad in one run and good in the next."]
    else:
        lines = [
            f"Unresolved: the run with {_all(found)} is neither good nor bad: {decisive.why}.",
            "Raise --timeout if it was ended, record it anew if the recording is too short, or take another check.",
        ]
    if (flaky := found.flaky) is not None:
        had = counted(len(flaky.extensions), "extension")
        lines.append(
            f"The check is flaky: with {had} {flaky.bad} of {counted(flaky.runs, 'run')} were bad."
            " More of them (--repeat) make the result surer."
        )
    return [*lines, f"{runs}."] if found.finding is not Finding.FOUND else lines


def _found(found: Bisection, check: Check) -> list[str]:
    names, decisive = found.culprits, found.decisive
    others = len(found.extensions) - len(names)
    if len(names) == 1:
        rest = "other extension" if others == 1 else f"{others} other extensions"
        without = f", alone and without the {rest}" if others else ""
        head = f"{names[0]} makes the run go bad{without}."
    else:
        head = f"{join_names(names, SHOWN)} make the run go bad together; each of them alone does not."
    lines = [head, f"Check: {check.title}.", f"Seen: {decisive.why}."]
    lines += [f"Notice: {line}" for line in decisive.complaints[:3] if line not in decisive.why]
    lines.append(f"{counted(found.runs, 'run')} with parts of {counted(len(found.extensions), 'extension')}.")
    lines.append("Next:")
    advice = list(_advice(names))
    width = max(len(words) for words, _ in advice)
    return [*lines, *(f"    {words:{width}}  {use}" for words, use in advice)]


def _all(found: Bisection) -> str:
    """All extensions of the run in words."""
    return f"all {len(found.extensions)} extensions" if len(found.extensions) != 1 else "its extension"


def _advice(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Commands, each with its use. Only an installed extension can be asked about and disabled by its name."""
    from cli.ext.author.doctor import is_installed

    for name in names:
        word = shlex.quote(name)
        if is_installed(name):
            yield f"zot ext info {word}", "where it comes from"
            yield f"zot ext disable {word}", "run without it meanwhile; if that is bad, too, bisect again without it"
        else:
            yield (
                f"without the --ext of {word}",
                "run without it meanwhile; if that is bad, too, bisect again without it",
            )
    yield "zot ext test FOLDER", "whether it still does what its scripts say"
    yield "zot ext history NAME", "how often it fell in past runs"


def _as_json(found: Bisection, check: Check) -> dict[str, Any]:
    return {
        "result": found.finding.value,
        "culprits": list(found.culprits),
        "check": check.title,
        "why": found.decisive.why,
        "notices": list(found.decisive.complaints),
        "flaky": found.flaky is not None,
        "runs": found.runs,
        "extensions": list(found.extensions),
        "trials": [
            {
                "extensions": list(trial.extensions),
                "verdict": trial.verdict.value,
                "why": trial.why,
                "seconds": round(trial.seconds, 3),
                "bad": trial.bad,
                "runs": trial.runs,
            }
            for trial in found.trials
        ],
    }


class _Silence:
    """Shows nothing: stderr is no terminal."""

    def begins(self, kept: int, total: int, run: int) -> None:
        pass

    def ended(self, trial: TrialRecord, total: int) -> None:
        pass

    def clear(self) -> None:
        pass


class _Progress(_Silence):
    """Shows each trial as a line on stderr, and the present run as the last line."""

    def begins(self, kept: int, total: int, run: int) -> None:
        part = f"{kept or 'none'} of {counted(total, 'extension')}" if total else "all extensions"
        self._put(f"{ERASE}run {run}: with {part} ...")

    def ended(self, trial: TrialRecord, total: int) -> None:
        self.clear()
        kept = len(trial.extensions)
        names = f" ({', '.join(trial.extensions)})" if 0 < kept <= SHOWN < total else ""
        why = terminal_text(trial.why, 160)
        say(f"with {kept or 'none'} of {counted(total, 'extension')}{names}: {trial.verdict.value}, {why}")

    def clear(self) -> None:
        self._put(ERASE)

    def _put(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
