"""A browser for each test module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser import Browser

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    try:
        yield browser
    finally:
        browser.close()
