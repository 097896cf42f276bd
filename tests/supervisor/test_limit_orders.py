"""A person changes the limits of an extension that runs: they hold at once, in every place that enforces them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor import orders, queries
from supervisor.extension.lifecycle import WorkerState
from tests.support.extension_versions import Folder, reload
from tests.support.host import SOON, Host
from wire.settings.limit_changes import LimitError, LimitRules

if TYPE_CHECKING:
    from pathlib import Path

    from wire.settings.limit_changes import LimitChanges

READY = WorkerState.READY
LOUD = """
hello("say")
send(type="ready")
for frame in frames():
    sys.stderr.write(("x" * 99 + chr(10)) * 1000)
    sys.stderr.flush()
    result(frame, "")
"""
HOG = "memory_hog"


def limit(host: Host, changes: LimitChanges, *, consent: bool = False, **how: Any) -> tuple[str, ...]:
    return orders.limit(host.supervisor, HOG, changes, consent=consent, **how)


def eat(host: Host) -> None:
    """Has it hold 100 MiB more, and waits until that is seen."""
    host.text("eat", mb=100)

    def is_seen() -> bool:
        host.supervisor.sample()
        return host.supervisor.stats()[HOG].rss_bytes > 100 * 2**20

    host.until(is_seen)


def rows(host: Host) -> dict[str, tuple[float, str]]:
    """The limits that are set, with their origins."""
    return {each.limit: (each.allowed, each.origin) for each in queries.limits(host.supervisor, HOG)}


def test_a_new_limit_ends_it_at_once(host: Host):
    host.add(HOG, restart=SOON)
    host.start()
    assert limit(host, {"rss_mb": 60, "breaches": 1}) == ()
    host.text("eat", mb=100)
    host.until(lambda: host.is_restarted(HOG))
    assert "over rss_mb 60" in str(host.said_of(HOG))
    assert "[zot] zot ext limit: rss_mb 60, breaches 1" in host.log(HOG)


def test_a_limit_that_is_lifted_ends_it_no_more(host: Host):
    host.add(HOG, limits={"rss_mb": 60, "breaches": 1, "action": "stop"})
    host.start()
    limit(host, {"rss_mb": None})
    eat(host)
    for _ in range(3):
        host.supervisor.sample()
    assert (host.state(HOG), host.cost(HOG).exits) == (READY, 0)
    assert rows(host) == {}
    with pytest.raises(orders.ConsentNeededError):
        limit(host, {"rss_mb": "default"})
    limit(host, {"rss_mb": "default"}, consent=True)
    host.until(lambda: host.state(HOG) is WorkerState.FAILED)


def test_a_limit_below_the_use_needs_consent_and_nothing_has_changed_before(host: Host):
    host.add(HOG, limits={"processes": 20, "action": "stop"})
    host.start()
    eat(host)
    for only_check in (True, False):
        with pytest.raises(orders.ConsentNeededError) as needed:
            limit(host, {"rss_mb": 50, "processes": 30}, only_check=only_check)
        (reason,) = needed.value.reasons
        assert reason.startswith("rss_mb is 1")
        assert reason.endswith(" now, over 50: it would be ended")
    assert rows(host) == {"processes": (20, "manifest")}
    assert limit(host, {"rss_mb": 50}, consent=True, only_check=True) == ()
    assert rows(host) == {"processes": (20, "manifest")}
    limit(host, {"rss_mb": 50}, consent=True)
    assert rows(host) == {"processes": (20, "manifest"), "rss_mb": (50, "command")}
    host.until(lambda: host.state(HOG) is WorkerState.FAILED)


def test_one_limit_without_sense_changes_none(host: Host):
    host.add(HOG)
    host.start()
    for changes in ({"rss_mb": 300, "processes": 0.5}, {"rss_mb": 300, "rss": 1}, {"rss_mb": float("nan")}):
        with pytest.raises(LimitError):
            limit(host, changes, consent=True)
    assert rows(host) == {}


def test_limits_come_from_the_file_and_a_command_counts_more(tmp_path: Path):
    rules = LimitRules(kept={HOG: {"rss_mb": 700, "processes": None}, "other": {"rss_mb": 1}})
    with Host(tmp_path, limits=rules) as host:
        host.add(HOG, limits={"rss_mb": 500, "processes": 5, "log_mb": 1})
        host.start()
        assert rows(host) == {"rss_mb": (700, "kept"), "log_mb": (1, "manifest")}
        limit(host, {"rss_mb": 600, "processes": "default"})
        assert rows(host) == {"rss_mb": (600, "command"), "processes": (5, "manifest"), "log_mb": (1, "manifest")}


def test_limits_outlive_a_restart_and_a_stop(host: Host):
    host.add(HOG, restart=SOON)
    host.start()
    limit(host, {"rss_mb": 60, "breaches": 1})
    host.supervisor.restart(HOG)
    host.until(lambda: host.state(HOG) is READY)
    orders.stop(host.supervisor, HOG, lambda: None, consent=True)
    limit(host, {"rss_mb": 50})
    assert rows(host) == {"rss_mb": (50, "command")}
    orders.start(host.supervisor, HOG)
    host.until(lambda: host.state(HOG) is READY)
    host.text("eat", mb=100)
    host.until(lambda: host.cost(HOG).state == "ready" and "over rss_mb 50" in str(host.said_of(HOG)))


def test_a_reload_keeps_them_over_those_of_the_new_manifest(host: Host):
    folder = Folder(host, limits={"rss_mb": 500})
    host.start()
    orders.limit(host.supervisor, "one", {"rss_mb": 300}, consent=False)
    folder.version("v2", limits={"rss_mb": 400, "processes": 7})
    assert [each.outcome for each in reload(host, "one")] == ["reloaded"]
    assert {each.limit: each.allowed for each in queries.limits(host.supervisor, "one")} == {
        "rss_mb": 300, "processes": 7
    }  # fmt: skip


def test_some_limits_hold_from_the_next_start(host: Host):
    host.add(HOG)
    host.start()
    assert limit(host, {"file_mb": 5, "open_files": 100, "output_bytes": 5000, "rss_mb": 500}) == (
        "open_files", "file_mb", "output_bytes"
    )  # fmt: skip
    orders.stop(host.supervisor, HOG, lambda: None, consent=True)
    host.until(lambda: not any(worker.is_running for worker in host.extension(HOG).all_workers))
    assert limit(host, {"file_mb": 6}) == ()


def test_the_log_takes_its_new_size_at_once(host: Host):
    host.write(HOG, LOUD)
    host.start()
    limit(host, {"log_mb": 0.1})
    for _ in range(5):
        host.text("say")
    log = host.extension(HOG).log.path
    host.until(lambda: log.with_name(f"{log.name}.4").exists())
    assert sum(each.stat().st_size for each in log.parent.iterdir()) < 0.12 * 2**20
