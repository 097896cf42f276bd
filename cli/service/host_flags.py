"""The flags of `zot host` for another start of it: judged as a host judges them, and written with absolute paths."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cli.choices import CommandLineError
from cli.hosts.host import check_flags, make_host
from cli.os_errors import UnableError
from cli.terminal import say
from supervisor.discovery.skipped_extension import lines_of
from supervisor.host import UnknownShareError
from wire.exit_codes import Status
from wire.flags.flag import Kind
from wire.flags.host import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wire.flags.flag import Flag

NO_FILES: dict[str, Any] = {
    "stats": None, "stats_interval": None, "metrics": None, "openmetrics": False, "no_trace": True,
}  # fmt: skip
"""Flags of a host that writes nothing."""


def judge(flags: Mapping[str, Any], *, may_ask: bool) -> None:
    """Finds the extensions that a host with these flags starts, and tells of those that it skips, without starting one.
    With `may_ask` a person at the terminal is asked whether the project's extensions may run. Raises
    `CommandLineError`, `KeyboardInterrupt`, `OSError`, and `UnableError` if a required extension is missing."""
    place = check_flags(flags, "host" if may_ask else "mcp")
    for name in ("stats", "metrics"):
        if flags[name] is not None and not os.path.isdir(folder := os.path.dirname(os.path.abspath(flags[name]))):
            raise CommandLineError(f"--{name} {flags[name]}: there is no folder {folder}")
    host = make_host({**flags, **NO_FILES}, place)
    try:
        skipped = host.find_extensions().skipped
    except UnknownShareError as error:
        raise CommandLineError(str(error)) from None
    finally:
        host.loop.close()
    for line in lines_of(skipped):
        say(line)
    if missing := next((each.why_needed for each in skipped if each.why_needed), ""):
        raise UnableError(missing, Status.REQUIRED_EXTENSION)


def written_flags(flags: Mapping[str, Any]) -> tuple[str, ...]:
    """The flags as words. The project's folder is always among them: a service manager has a working folder of its
    own."""
    values = {**flags, "cwd": flags["cwd"] or os.curdir}
    return tuple(word for flag in HOST for word in _words(flag, values[flag.name]))


def _words(flag: Flag, value: Any) -> Iterator[str]:
    if not flag.takes_value:
        if value:
            yield flag.long
        return
    for each in (value or ()) if flag.is_repeatable else (value,):
        if each is None or each == flag.default:
            continue
        yield flag.long
        yield os.path.abspath(each) if flag.kind in (Kind.PATH, Kind.PATHS) else str(each)
