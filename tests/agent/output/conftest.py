"""A pipe whose ends a test may close."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    yield reading, writing
    for fd in (reading, writing):
        try:
            os.close(fd)
        except OSError:
            pass
