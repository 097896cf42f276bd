"""Without `--watch` the files of extensions are not looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.reload.file_watcher import LOOK_S

if TYPE_CHECKING:
    from tests.support.host import Host
    from tests.support.reloading import Folder


def test_files_are_not_looked_at_without_watch_mode(host: Host, folder: Folder):
    host.start()
    passes = host.loop.passes
    host.supervisor.sampler.stop()
    host.loop.run_until(lambda: False, host.loop.clock() + LOOK_S / 5)
    assert host.loop.passes - passes <= 2
