"""Fixtures for the tests of runs."""

from __future__ import annotations

from tests.support.compacting_bench import bench

__all__ = ["bench"]
