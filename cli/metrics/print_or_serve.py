"""Prints the metrics of all hosts once, or serves them until the process is stopped."""

from __future__ import annotations

import errno
import socket
import sys
from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.metrics.address import parse_address
from cli.os_errors import UnableError
from cli.terminal import say
from supervisor.fleet.metrics_server import MetricsServer, listen
from supervisor.fleet.scraper import Scraper
from supervisor.home.runtime_dir import runtime_dirs
from supervisor.loop.loop import Loop, stop_signals
from supervisor.monitoring.metrics import render_scrape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.metrics.address import Address
    from supervisor.monitoring.metrics import Scrape

ADVICE = {
    errno.EADDRINUSE: "another program listens there; choose another port, or 0 for a free one",
    errno.EACCES: "ports below 1024 are the administrator's; choose another one",
    errno.EADDRNOTAVAIL: "this machine has no such address",
}


def run_metrics(address: str | None, kinds: Sequence[str], *, openmetrics: bool) -> int:
    """Prints the metrics, or serves them at the address; returns the exit status. Raises `CommandLineError` and
    `UnableError`."""
    if address is not None and openmetrics:
        raise CommandLineError("--openmetrics has no effect with --listen: the reader chooses the format")
    place = None if address is None else parse_address(address)
    loop = Loop()
    try:
        scraper = Scraper(loop, runtime_dirs(), kinds)
        try:
            return _print(loop, scraper, openmetrics=openmetrics) if place is None else _serve(loop, scraper, place)
        finally:
            scraper.close()
    finally:
        loop.close()


def _print(loop: Loop, scraper: Scraper, *, openmetrics: bool) -> int:
    found: list[Scrape] = []
    scraper.begin(found.append)
    loop.run_until(lambda: bool(found))
    sys.stdout.buffer.write(render_scrape(found[0], openmetrics=openmetrics))
    return 0


def _serve(loop: Loop, scraper: Scraper, place: Address) -> int:
    listener = _listen(place)
    place = place._replace(port=listener.getsockname()[1])
    server = MetricsServer(loop, listener, scraper, place.host)
    stopped: list[object] = []
    try:
        with loop.signals(stop_signals(), stopped.append):
            if not place.is_loopback:
                say(f"zot metrics: {place} is not only of this machine: who reaches it reads names and folders")
            say(f"zot metrics: serving http://{place}/metrics; to stop: Ctrl-C")
            loop.run_until(lambda: bool(stopped))
    finally:
        server.close()
    return 0


def _listen(place: Address) -> socket.socket:
    try:
        return listen(*place)
    except socket.gaierror as error:
        raise CommandLineError(f"--listen {place}: {place.host} is no host here: {error.strerror}") from None
    except UnicodeError:
        raise CommandLineError(f"--listen {place}: {place.host!r} is no host") from None
    except OSError as error:
        advice = ADVICE.get(error.errno or 0, "choose another address")
        raise UnableError(f"--listen {place}: {error.strerror}; {advice}") from None
