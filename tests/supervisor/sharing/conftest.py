"""A host that leases the processes of one extension."""

from __future__ import annotations

import pytest

from tests.support.host import SOON
from tests.support.leasing_host import LeasingHost


@pytest.fixture
def host(tmp_path):
    with LeasingHost(tmp_path) as host:
        yield host


@pytest.fixture
def record(tmp_path):
    """The file to which the processes write each frame that they get."""
    (tmp_path / "record").touch()
    return tmp_path / "record"


@pytest.fixture
def leased(host, record):
    host.add("lease_holder.py", record, name="leased", sessions="leased", restart=SOON)
    return host.start()
