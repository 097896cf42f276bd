"""Extensions to install, and one with a broken manifest."""

from __future__ import annotations

import pytest

from supervisor.discovery.found_extension import Scope
from supervisor.install.install import install
from supervisor.install.installed_extension import ExtensionFolders
from supervisor.install.source import LocalSource
from tests.support.install_sources import source


@pytest.fixture
def made(zot):
    """An extension that writes a file when it starts."""
    folder = source(zot.folder / "made", program=f"#!/bin/sh\ntouch {zot.folder}/started\n", description="Guards")
    yield folder
    assert not (zot.folder / "started").exists()


@pytest.fixture
def broken(zot):
    folder = source(zot.home / "extensions" / "broken")
    (folder / "extension.json").write_text('{"name": "x\\u001b[31m"}')
    return folder


@pytest.fixture
def installed(zot):
    """Installs a folder in this process, which is quicker."""

    def put(folder, scope=Scope.GLOBAL):
        install(LocalSource(folder), scope, ExtensionFolders(zot.cwd, zot.home))

    return put
