"""`zot` as a process, a scripted server, and compiled children."""

from tests.support.compiled_children import compiled
from tests.support.zot_fixtures import rpc, server, zot

__all__ = ["compiled", "rpc", "server", "zot"]
