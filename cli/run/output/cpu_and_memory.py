"""The CPU time and the memory of an extension after a run, for tables. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.number_format import bytes_text

if TYPE_CHECKING:
    from wire.events import Cost


def cpu_and_memory(used: Cost) -> tuple[str, str]:
    """CPU milliseconds and peak RSS. For an extension of a host: the run's share of its CPU time, as `~12`, and the pid
    of the host, which has the memory once for all runs."""
    if not used.hosted:
        return f"{used.cpu_ms:,}", bytes_text(used.rss_peak_bytes)
    share_ms = used.hosted.cpu_share_ms
    return "-" if share_ms is None else f"~{share_ms:,.0f}", f"host {used.hosted.pid}"
