"""Requests in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.requests_in_flight import RequestsInFlight

if TYPE_CHECKING:
    from tests.support.host import Host


@pytest.fixture
def in_flight(host: Host) -> RequestsInFlight:
    return RequestsInFlight(host)
