"""`zot` as a process, and a scripted server."""

from tests.support.zot_fixtures import server, zot

__all__ = ["server", "zot"]
