from __future__ import annotations

import pytest

from supervisor.discovery.discover import Scope
from supervisor.install.install import install
from supervisor.install.installed import ExtensionFolders
from supervisor.install.source import LocalSource
from tests.support.installing import source


@pytest.fixture
def made(zot):
    """An extension that would leave a file if it were ever started."""
    folder = source(zot.folder / "made", program=f"#!/bin/sh\ntouch {zot.folder}/started\n", description="Guards")
    yield folder
    assert not (zot.folder / "started").exists()


@pytest.fixture
def broken(zot):
    folder = source(zot.home / "extensions" / "broken")
    (folder / "extension.json").write_text('{"name": "x\\u001b[31m"')
    return folder


@pytest.fixture
def installed(zot):
    """Installs a folder without the time that a process takes."""

    def put(folder, scope=Scope.GLOBAL):
        install(LocalSource(folder), scope, ExtensionFolders(zot.cwd, zot.home))

    return put
