"""`zot top`: shows the use of a host and its extensions, live or once."""

from __future__ import annotations

import sys
from math import isfinite
from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.hosts.find import connect
from cli.terminal import is_screen
from cli.top.model import SORT_KEYS, TopView, sort_names
from cli.top.rows import TopRow
from wire import control, stats
from wire.suggestions import not_one_of

if TYPE_CHECKING:
    from supervisor.control.client import ControlClient


def run_top(
    pid: int | None, *, once: bool, as_json: bool, sort: str, text: str, interval_s: float, reverse: bool = False
) -> int:
    """Shows the use. Returns the exit status. Raises `HostError`; `CommandLineError` for a bad sort key or interval."""
    if sort not in SORT_KEYS:
        raise CommandLineError(f"--sort: {not_one_of(sort, SORT_KEYS)}")
    if not isfinite(interval_s):
        raise CommandLineError(f"--interval: {interval_s} is not a number of seconds")
    view = TopView(sort=sort, filter=text, reverse=reverse)
    live = not (once or as_json) and is_screen(0) and is_screen(1)
    with connect(pid) as client:
        if live:
            from cli.top.live import LiveTop

            return LiveTop(client, view, interval_s).run()
        return _print_once(client, view, as_json=as_json)


def _print_once(client: ControlClient, view: TopView, *, as_json: bool) -> int:
    found = client.ask(control.GetStats(client.next_id()), control.StatsReply).stats
    names = sort_names(found.extensions, view)
    if as_json:
        sys.stdout.buffer.write(
            stats.encode(stats.Stats(found.time, found.host, {name: found.extensions[name] for name in names}))
        )
        sys.stdout.flush()
        return 0
    from cli.styled_lines import RaisingConsole
    from cli.top.screen import header, table

    console = RaisingConsole(highlight=False)
    width = console.width if console.is_terminal else None
    for line in (
        *header(found, None, width),
        *table(found, [TopRow(name) for name in names], view, None, width, ascii_only=False),
    ):
        console.print(line, soft_wrap=True)
    return 0
