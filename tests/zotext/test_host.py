"""The facts that an extension has of its host."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from zotext.testing import Harness

if TYPE_CHECKING:
    from zotext import Extension


def test_the_host_is_known_after_its_hello(ext: Extension, tmp_path: Any):
    with pytest.raises(RuntimeError, match="wait_for_host"):
        _ = ext.host
    with pytest.raises(TimeoutError, match="no host has said hello"):
        ext.wait_for_host(0.001)
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(ext.wait_for_host(20)))
    waiting.start()
    with Harness(ext, data_dir=tmp_path, cwd=tmp_path) as host:
        waiting.join()
        assert ext.host is found[0]
        assert ext.host.data_dir == tmp_path
        assert ext.host.cwd == str(tmp_path)
        assert (ext.host.model, ext.host.provider, ext.host.zot_version) == ("test", "test", "test")
        assert "log" in ext.host.features
        host.settle()
    with Harness(ext):
        kept = ext.host.data_dir
        assert kept.is_dir()
    assert not kept.exists()
