"""A browser for each test module."""

from tests.support.browser import browser

__all__ = ["browser"]
