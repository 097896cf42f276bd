"""Reads the command of a replayed run that another command repeats. Pure, but for a look at the recording."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from cli.ext.drive import typed_lines
from cli.os_errors import UnableError
from cli.run.plain_flags import FLAGS
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE = "write it as: -- zot -p --replay FILE PROMPT"
TEXT_FLAGS = ("-p", "--print")
REFUSED = {
    "--host": "extensions of a host cannot be left out; leave --host out",
    "--rpc": "only -p and --json can be repeated",
    "--output-format": "leave it out: -p gives a check the answer, --json the events",
    "--record": "a replayed run is not recorded",
    "--watch": "a run that is repeated reloads nothing; leave it out",
    **dict.fromkeys(("-o", "--output", "--summary", "--stats", "--metrics"), "each run would write it; leave it out"),
}
SESSION_FLAGS = ("-c", "--continue", "-r", "--resume", "--session")
OF_SESSION = "each run would write to that session; record a run of its own without it"


class ReplayedCommand(NamedTuple):
    """The command of a replayed run."""

    program: tuple[str, ...]
    """The words that start zot."""
    flags: tuple[str, ...]
    """The others, with `--json` in place of `--print`."""
    recording: str
    """The path of the recording."""
    cwd: str
    """The folder of `--cwd`; "" without it."""
    wants_events: bool
    """Whether the command itself has `--json`."""
    has_timeout: bool


def read_command(words: Sequence[str]) -> ReplayedCommand:
    """Raises `UnableError` for another command than a replayed run, or without a recording."""
    program = _program(words)
    flags = list(words[len(program) :])
    if program == ("zot",):
        program = (sys.executable, str(typed_lines.program().with_name("__main__.py")))
    given = _given(flags)
    for name in given:
        if name in REFUSED:
            raise _unusable(f"{name}: {REFUSED[name]}")
        if name in SESSION_FLAGS:
            raise _unusable(f"{name}: {OF_SESSION}")
    recording = given.get("--replay")
    if recording is None:
        raise _unusable(f"the command replays no recording; {EXAMPLE}, after: zot -p --record FILE PROMPT")
    wants_events = "--json" in given
    if not wants_events and not any(name in given for name in TEXT_FLAGS):
        raise _unusable(f"the command is no run with -p or --json; {EXAMPLE}")
    if not os.path.isfile(recording):
        raise _unusable(f"the recording {recording} does not exist; make it: zot -p --record {recording} PROMPT")
    end = flags.index("--") if "--" in flags else len(flags)
    kept = [word for word in flags[:end] if word not in TEXT_FLAGS] + flags[end:]
    flags = kept if wants_events else ["--json", *kept]
    folder = given.get("--cwd") or given.get("-C") or ""
    return ReplayedCommand(program, tuple(flags), recording, folder, wants_events, "--timeout" in given)


def _program(words: Sequence[str]) -> tuple[str, ...]:
    """The words that start zot: its path, or `python -m pyzot`. The word `zot` alone is this program, whatever else has
    this name on PATH."""
    first = os.path.basename(words[0]) if words else ""
    if first == "zot":
        return tuple(words[:1])
    if first.startswith("python") and list(words[1:3]) == ["-m", "pyzot"]:
        return tuple(words[:3])
    raise _unusable(f"{words[0] if words else 'nothing'} is not zot; {EXAMPLE}")


def _given(flags: Sequence[str]) -> dict[str, str]:
    """The flags of a run with their values, "" for a switch; the words of the prompt are left out."""
    given: dict[str, str] = {}
    rest = iter(flags)
    for word in rest:
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            continue
        name, joined, value = word.partition("=")
        kind = FLAGS.get(name, ("", "switch"))[1]
        given[name] = value if joined or kind == "switch" else next(rest, "")
    return given


def _unusable(text: str) -> UnableError:
    return UnableError(text, Status.USAGE)
