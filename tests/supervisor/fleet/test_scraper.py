"""All hosts are asked at the same time; one that does not answer costs the others nothing but the wait."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from supervisor.fleet.scraper import WITHIN_S, Scraper
from supervisor.monitoring.metrics import render_scrape

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.monitoring.metrics import Scrape
    from tests.support.control_peer import Serving


def scrape(serving: Serving, scraper: Scraper, *, skips: bool = False) -> Scrape:
    """The next scrape; with `skips` the clock jumps to the end of the wait once all others have answered."""
    found: list[Scrape] = []
    scraper.begin(found.append)
    if skips:
        serving.until(lambda: os.getpid() in scraper._answers)
        serving.skew += WITHIN_S
    serving.until(lambda: found)
    return found[0]


def up(found: Scrape) -> dict[int, bool]:
    return {host.pid: host.stats is not None for host in found.hosts}


def test_a_host_that_answers(serving: Serving, scraper: Scraper):
    found = scrape(serving, scraper)
    assert [(host.pid, host.kind, list(host.stats.extensions)) for host in found.hosts if host.stats] == [
        (os.getpid(), "host", ["alpha", "beta"])
    ]
    text = render_scrape(found).decode()
    assert f'zot_host_up{{kind="host",pid="{os.getpid()}"}} 1.0\n' in text
    assert 'zot_host_info{cwd="/project",kind="host",pid="1",task="",version="1.0"} 1.0\n' in text


def test_no_host(serving: Serving, tmp_path: Path):
    empty = Scraper(serving.loop, [tmp_path / "nothing"])
    assert scrape(serving, empty).hosts == ()


def test_a_connection_serves_many_scrapes(serving: Serving, scraper: Scraper):
    for _ in range(3):
        assert up(scrape(serving, scraper)) == {os.getpid(): True}
    assert serving.server.clients == 1


def test_a_silent_host_is_told_and_asked_only_once(serving: Serving, scraper: Scraper, silent: socket.socket):
    for _ in range(3):
        assert up(scrape(serving, scraper, skips=True)) == {7: False, os.getpid(): True}
    connection, _ = silent.accept()
    with connection:
        assert connection.recv(1000).count(b"get_stats") == 1


def test_a_host_of_unknown_kind_is_told_though_only_some_kinds_are_wanted(
    serving: Serving, folder: Path, silent: socket.socket
):
    runs = Scraper(serving.loop, [folder], ["run"])
    try:
        runs.begin(lambda _scrape: None)
        serving.until(lambda: os.getpid() in runs._answers)
        serving.skew += WITHIN_S
        serving.until(lambda: runs._timer is None)
        found = scrape(serving, runs, skips=True)
        assert [(host.pid, host.kind) for host in found.hosts] == [(7, "unknown")]
    finally:
        runs.close()


def test_a_late_answer_is_no_answer_to_the_next_scrape(serving: Serving, scraper: Scraper, silent: socket.socket):
    scrape(serving, scraper, skips=True)
    connection, _ = silent.accept()
    with connection:
        stats = serving.served.snapshot("run", "1", "/late")
        import msgspec

        line = {"type": "stats_reply", "id": "1", "stats": stats}
        connection.sendall(msgspec.json.encode(line) + b"\n")
        serving.until(lambda: 7 not in scraper._asked)
        assert up(scrape(serving, scraper, skips=True)) == {7: False, os.getpid(): True}


def test_a_host_that_ends_is_forgotten_at_once(serving: Serving, scraper: Scraper, silent: socket.socket):
    scrape(serving, scraper, skips=True)
    silent.accept()[0].close()
    silent.close()
    assert up(scrape(serving, scraper)) == {os.getpid(): True}


def test_a_socket_that_a_killed_host_left_is_no_host(serving: Serving, scraper: Scraper, folder: Path):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "8.sock"))
    assert up(scrape(serving, scraper)) == {os.getpid(): True}
    assert not (folder / "8.sock").exists()


def test_a_host_that_talks_nonsense_is_told_as_not_answering(serving: Serving, scraper: Scraper, silent: socket.socket):
    found: list[Scrape] = []
    scraper.begin(found.append)
    connection, _ = silent.accept()
    with connection:
        connection.sendall(b"220 smtp ready\n")
        serving.until(lambda: found)
    assert up(found[0]) == {7: False, os.getpid(): True}
