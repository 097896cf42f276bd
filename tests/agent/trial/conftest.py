"""`zot` as a process."""

from tests.support.zot_fixtures import zot

__all__ = ["zot"]
