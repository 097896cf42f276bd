"""A control socket with a client."""

from __future__ import annotations

import pytest

from tests.support.control_peer import Serving


@pytest.fixture
def serving(tmp_path):
    with Serving(tmp_path / "run") as serving:
        yield serving


@pytest.fixture
def client(serving):
    return serving.client()
