"""`zot ext status`: one screen about an extension, whether it runs in a host or not."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cli.choices import CommandLineError
from cli.hosts.find import host_with
from cli.hosts.status_lines import LABEL, USABLE, profile_lines, status_lines, with_log
from cli.json_line import print_json
from cli.logs.timed_lines import as_record, last_timed_lines, with_time
from supervisor.control.client import ControlError
from supervisor.home.zot_home import zot_home
from supervisor.traces.places import newest_profile
from wire import control
from wire.suggestions import no_such
from wire.text import one_line, printable

if TYPE_CHECKING:
    from supervisor.install.installed_extension import InstalledExtension

LINES = 24
"""Lines of one screen, where the output is no terminal."""
LOG_LINES = 50
LOG_LINES_IN_JSON = 20
NO_PROGRAM = "nothing to start"
"""The state of an extension without a program that may be used."""


def run_status(name: str, pid: int | None, *, as_json: bool) -> int:
    """Prints one screen about the extension. Returns 0 if it works in a host or soon will, or needs no host; else 1.
    Raises `ControlError`, and `CommandLineError` for an unknown name or if several hosts have the extension."""
    client, name, found = host_with(name, pid)
    if client is None:
        unanswering = [host.pid for host in found if host.info is None]
        return _print_not_running(name, unanswering, as_json=as_json)
    with client:
        reply = client.ask(control.GetStatus(client.next_id(), name), control.StatusReply)
    log, profile = Path(reply.status.log), newest_profile(zot_home(), name)
    if as_json:
        status = msgspec.structs.asdict(reply.status)
        print_json({"host": reply.pid, **status, "profile": profile or None, "last_lines": _last_records(log)})
    else:
        _print(status_lines(reply, time.time(), profile), log)
    return 0 if reply.status.state in USABLE else 1


# --- an extension that no host has -----------------------------------------------------------------------------


def _print_not_running(name: str, unanswering: list[int], *, as_json: bool) -> int:
    found = find_installed(name)
    log = zot_home() / "logs" / f"ext-{name if found is None else found.name}.log"
    if found is None:
        state, why, to_do = "not running", "no host has it, and it is not installed", "zot host -e FOLDER"
    else:
        state, why, to_do = _reason_not_running(found)
    exit_code = 0 if state == NO_PROGRAM else 1
    if unanswering:
        why += f" (host {', '.join(map(str, unanswering))} does not answer)"
    if as_json:
        folder = None if found is None else str(found.folder)
        print_json(
            {"host": None, "name": name, "state": state, "why": why, "to_do": to_do, "folder": folder, "log": str(log),
             "profile": newest_profile(zot_home(), name) or None, "last_lines": _last_records(log)}
        )  # fmt: skip
        return exit_code
    facts = [f"{one_line(name, 200)}: {state}", f"{'why':<{LABEL}}{one_line(why, 2000)}", f"{'to do':<{LABEL}}{to_do}"]
    if found is not None:
        label = "folder" if found.kind.has_folder else "file"
        entry = "" if found.mcp_found is None or found.mcp_found.mcp_entry is None else found.mcp_found.mcp_entry.key
        where = f"{found.where}, entry {entry}" if entry else found.where
        facts.append(f"{label:<{LABEL}}{one_line(where, 4096)}")
    facts.append(f"{'log':<{LABEL}}{log}{'' if log.exists() else ' (none yet)'}")
    facts += profile_lines(newest_profile(zot_home(), name))
    _print(facts, log)
    return exit_code


def find_installed(name: str) -> InstalledExtension | None:
    """The installed extension of this name, of the project here or of the user; None if it is not installed but has a
    log. Raises `CommandLineError` for a name that nothing has."""
    from cli.ext.manage.shared_options import folders_at
    from supervisor.discovery.found_extension import Scope
    from supervisor.install.installed_extension import installed_extensions

    every = installed_extensions(folders_at(None), (Scope.PROJECT, Scope.GLOBAL))
    for extension in every:
        if name in (extension.name, extension.folder.name):
            return extension
    logs = zot_home() / "logs"
    if os.sep not in name and (logs / f"ext-{name}.log").exists():
        return None
    logged = {path.name.removeprefix("ext-").removesuffix(".log") for path in logs.glob("ext-*.log")}
    raise CommandLineError(no_such("extension", name, sorted({extension.name for extension in every} | logged)))


def _reason_not_running(extension: InstalledExtension) -> tuple[str, str, str]:
    """The state of an installed extension that no host has, why, and what to do."""
    from supervisor.install.installed_extension import judge_trust

    name = shlex.quote(extension.name)
    if extension.manifest is None:
        return "broken", extension.trouble, f"zot ext doctor {shlex.quote(str(extension.folder))}"
    if not extension.manifest.is_enabled:
        return "disabled", "its manifest says so", f"zot ext enable {name}"
    judged = judge_trust(extension, zot_home())
    if judged is not None and not judged.is_trusted:
        return "not trusted", judged.reason or judged.standing.value, f"zot ext trust {name}"
    if extension.manifest.without_program:
        return NO_PROGRAM, extension.manifest.without_program, "nothing"
    return "not running", "no host that runs has it", "zot host, or any run of zot, starts it"


# --- output ----------------------------------------------------------------------------------------------------


def _print(facts: list[str], log: Path) -> None:
    width, height = shutil.get_terminal_size((0, 0)) if os.isatty(1) else (0, LINES)
    try:
        lines = [with_time(line) for line in last_timed_lines(log, LOG_LINES)]
    except OSError as error:
        raise ControlError(f"{log} cannot be shown: {error.strerror}") from None
    for line in with_log(facts, lines, height - 1 if height else None):  # one line is for the prompt
        shown = printable(line).expandtabs()
        print(shown if not width or len(shown) <= width else shown[: width - 1] + "…")  # noqa: T201


def _last_records(log: Path) -> list[dict[str, str | int | None]]:
    return [as_record(line) for line in last_timed_lines(log, LOG_LINES_IN_JSON)]
