"""Without `--watch` the files of extensions are not looked at; with it, their program is, and not their data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.reload.file_watcher import LOOK_S
from supervisor.reload.watch_mode import watch
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from tests.support.extension_versions import Folder
    from tests.support.host import Host


def test_files_are_not_looked_at_without_watch_mode(host: Host, folder: Folder):
    host.start()
    passes = host.loop.passes
    host.supervisor.sampler.stop()
    host.loop.run_until(lambda: False, host.loop.clock() + LOOK_S / 5)
    assert host.loop.passes - passes <= 2


def test_data_of_the_extension_is_no_change_of_its_program(host: Host, folder: Folder):
    folder.version("v1", data=["notes.txt"])
    host.found[-1] = FoundExtension(folder.path, parse_manifest(folder.text()), Scope.EXPLICIT)
    host.start()
    watching = watch(host.supervisor, host.reloader, (), lambda _line: None)
    (folder.path / "notes.txt").write_text("1")
    folder.version("v2")
    host.until(lambda: folder.extension.reloads)
    watching.stop()
    assert folder.says()["version"] == "v2"
    assert "changed: extension.json, x.py" in host.log("one")
    assert "notes.txt" not in host.log("one")
