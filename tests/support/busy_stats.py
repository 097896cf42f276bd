"""Figures of a host with extensions that are busy, large, given up, or about to be restarted."""

from __future__ import annotations

from tests.support.control_peer import extension_stats, host_stats
from wire.stats import Stats

BUSY = {
    "busy": extension_stats(cpu_percent=120.0, rss_bytes=5 << 20, p99_ms=1.0),
    "fat": extension_stats(cpu_percent=1.0, rss_bytes=900 << 20, p99_ms=None),
    "gone": extension_stats(state="failed", failure='5 exits in 9 s, last exit 3: "no \x1b[31mconfig"'),
    "waits": extension_stats(state="backoff", failure="it is restarted in 3 s"),
}


def stats_of(**extensions) -> Stats:
    return Stats(0.0, host_stats(), extensions)
