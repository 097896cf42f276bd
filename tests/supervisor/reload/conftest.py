"""An extension in two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.extension_versions import Folder

if TYPE_CHECKING:
    from tests.support.host import Host


@pytest.fixture
def folder(host: Host) -> Folder:
    return Folder(host)
