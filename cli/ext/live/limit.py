"""`zot ext limit`: shows the limits of an extension beside its use, and changes them in a running host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from cli import number_format
from cli.choices import CommandLineError
from cli.columns import align_columns
from cli.ext.live.consent import order
from cli.hosts.find import host_with
from cli.json_line import print_json
from cli.terminal import say, terminal_text
from supervisor.control.client import ControlError
from wire import control
from wire.settings.limit_changes import LimitError, parse_changes, shown_changes

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.control.client import ControlClient
    from wire.settings.limit_changes import LimitValue

ORIGINS = {
    "command": "zot ext limit, until the host ends",
    "kept": "config.json, for this extension",
    "manifest": "its manifest",
    "config": "config.json, for all extensions",
}
"""The origins of limits in words."""


def run_limit(name: str, words: list[str], pid: int | None, *, keep: bool, yes: bool, as_json: bool) -> int:
    """Shows limits without words, else changes them. Returns the exit status. Raises `ControlError`, `UnableError` and
    `ConfigError`, and `CommandLineError` for wrong words, an unknown name, several hosts, or if a person should be
    asked and there is none."""
    try:
        changes = parse_changes(words)
    except LimitError as error:
        raise CommandLineError(str(error)) from None
    if keep and not changes:
        raise CommandLineError("--keep keeps limits that you name, as in rss_mb=300")
    client, name, _ = host_with(name, pid)
    if client is None:
        return _without_host(_installed_name(name), changes, keep=keep, as_json=as_json)
    with client:
        if not changes:
            return _show(client, name, as_json=as_json)
        return _change(client, name, changes, keep=keep, yes=yes, as_json=as_json)


def _installed_name(name: str) -> str:
    """The name of the installed extension that has this name or is in a folder of this name. Raises
    `CommandLineError` for a name that nothing has."""
    from cli.ext.live.status import find_installed  # a host that has it is enough in most cases

    found = find_installed(name)
    return name if found is None else found.name


def _show(client: ControlClient, name: str, *, as_json: bool) -> int:
    reply = client.ask(control.GetStatus(client.next_id(), name), control.StatusReply)
    status = reply.status
    if as_json:
        limits = [msgspec.structs.asdict(limit) for limit in status.limits]
        print_json({"host": reply.pid, "name": name, "limits": limits, "action": status.limit_action})
    elif not status.limits:
        say(f"{terminal_text(name, 200)} has no limits; zot ext limit {name} rss_mb=300 sets one")
    else:
        rows = [
            (use.limit, "-" if use.used is None else number_format.number(use.used), f"{use.allowed:g}", _origin(use))
            for use in status.limits
        ]
        for line in align_columns([("limit", "now", "allowed", "from"), *rows], {1, 2}):
            print(line)  # noqa: T201
        print(f"over them: {status.limit_action}")  # noqa: T201
    return 0


def _origin(use: control.LimitUse) -> str:
    return ORIGINS.get(use.origin, "-")


def _change(
    client: ControlClient, name: str, changes: dict[str, LimitValue], *, keep: bool, yes: bool, as_json: bool
) -> int:
    """Checks with the host, then writes the file, then changes the limits in the host: a file that cannot be written
    changes nothing."""
    checked = order(
        client,
        name,
        lambda consent: control.SetLimits(client.next_id(), name, changes, consent, only_check=True),
        control.LimitsSet,
        yes=yes,
        may_ask=not as_json,
        question=f"limit {terminal_text(name, 200)} to {shown_changes(changes)}?",
    )
    if checked is None:
        return 0
    path = _keep(name, changes) if keep else None
    request = control.SetLimits(client.next_id(), name, changes, consent=True, kept=keep)
    try:
        reply = client.ask(request, control.LimitsSet)
    except ControlError as error:
        raise ControlError(f"{error}{'' if path is None else f'; {path} has the limits for its next start'}") from None
    if as_json:
        limits = [msgspec.structs.asdict(limit) for limit in reply.limits]
        print_json({"host": client.pid, "name": name, "limits": limits, "later": reply.later, **_kept_in(path)})
        return 0
    say(f"zot ext limit: host {client.pid} limits {terminal_text(name, 200)} now: {shown_changes(changes)}")
    if reply.later:
        say(f"  {', '.join(reply.later)}: wholly in force from its next start, zot ext restart {name}")
    say(f"  kept in {path}" if path is not None else "  until the host ends; --keep keeps it")
    return 0


def _without_host(name: str, changes: dict[str, LimitValue], *, keep: bool, as_json: bool) -> int:
    """Keeps limits for the next start of an extension that no running host has."""
    if not changes:
        raise ControlError(f"no host that runs has {name}; zot ext info {name} shows its limits")
    if not keep:
        raise ControlError(f"no host that runs has {name}; with --keep it gets the limits at its next start")
    path = _keep(name, changes)
    if as_json:
        print_json({"host": None, "name": name, "limits": None, "later": list(changes), **_kept_in(path)})
    else:
        say(f"zot ext limit: no host runs {terminal_text(name, 200)}; from its next start: {shown_changes(changes)}")
        say(f"  kept in {path}")
    return 0


def _kept_in(path: Path | None) -> dict[str, Any]:
    return {"kept_in": None if path is None else os.fspath(path)}


def _keep(name: str, changes: dict[str, LimitValue]) -> Path:
    from cli.ext.live.kept_limits import keep_limits
    from supervisor.home.zot_home import zot_home

    return keep_limits(zot_home(), name, changes)
