"""A reload of all extensions finds them again: new ones start, and those that are gone or disabled stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from supervisor.discovery.discover import DISABLED, Discovery
from supervisor.discovery.found_extension import Scope
from supervisor.discovery.skipped_extension import SkippedExtension, SkipReason
from supervisor.discovery.steps import no_steps
from supervisor.extension.lifecycle import WorkerState
from supervisor.reload.reloader import Reloader
from tests.support.extension_versions import Folder, lone, reload, slowly

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host
    from wire.control import ReloadOutcome


def test_an_extension_whose_reload_fails_costs_no_other(host: Host):
    good, bad = Folder(host, "good"), Folder(host, "bad")
    host.start()
    bad.code("sys.exit(1)")
    assert [(outcome.name, outcome.outcome) for outcome in reload(host)] == [("good", "reloaded"), ("bad", "kept")]
    assert {good.extension.reloads, bad.extension.reloads} == {1, 0}


def test_a_reload_of_all_starts_stops_and_skips(host: Host, tmp_path: Path):
    _, goes, off = (Folder(host, name) for name in ("stays", "goes", "off"))
    host.found = [replace(found, scope=Scope.GLOBAL, position=0) for found in host.found]
    host.start()
    new = Folder(host, "new")
    (new_found,) = [found for found in host.found if found.manifest.name == "new"]
    stays_found = next(found for found in host.found if found.manifest.name == "stays")
    discovery = Discovery(
        (stays_found, new_found),
        (
            SkippedExtension(off.path, DISABLED, is_error=False),
            SkippedExtension(tmp_path / "odd", SkipReason("read manifest: nothing")),
        ),
    )
    host.reloader = Reloader(host.supervisor, rediscover=lambda: no_steps(discovery))
    said = {outcome.name: (outcome.outcome, outcome.reason) for outcome in reload(host)}
    assert said == {
        "stays": ("reloaded", ""),
        "goes": ("stopped", "its folder is gone"),
        "off": ("stopped", "it is disabled"),
        "new": ("started", ""),
        "odd": ("skipped", "read manifest: nothing"),
    }
    for folder in (goes, off):
        lone(host, folder.extension)
        assert folder.extension.state is WorkerState.EXITED
        assert folder.extension.guards == set()
    assert new.extension.is_up
    assert host.ask().blocked_by == "new", "a named one is asked before the others"
    assert [outcome.name for outcome in reload(host)] == ["new", "stays", "odd"]
    found = next(found for found in host.found if found.manifest.name == "off")
    host.reloader = Reloader(
        host.supervisor, rediscover=lambda: no_steps(Discovery((stays_found, new_found, found), ()))
    )
    assert ("off", "started") in [(outcome.name, outcome.outcome) for outcome in reload(host)]


def test_an_extension_that_a_reload_stopped_is_restarted_as_it_was(host: Host, folder: Folder):
    folder.code("hello('env'); send(type='ready')\nfor frame in frames(): result(frame, json.dumps(dict(os.environ)))")
    host.found = [replace(found, scope=Scope.GLOBAL) for found in host.found]
    host.start()
    before = folder.says("env")
    host.reloader = Reloader(host.supervisor, rediscover=lambda: no_steps(Discovery((), ())))
    assert [outcome.outcome for outcome in reload(host)] == ["stopped"]
    host.supervisor.restart("one")
    host.until(lambda: "env" in host.supervisor.registrations.tools())
    after = folder.says("env")
    assert (after.pop("ZOT_EXTENSION_START"), before.pop("ZOT_EXTENSION_START")) == ("2", "1")
    assert after == before


@pytest.mark.parametrize("name", [None, "one"])
def test_an_extension_that_is_disabled_during_its_start_does_not_start(host: Host, folder: Folder, name: str | None):
    host.found = [replace(found, scope=Scope.GLOBAL) for found in host.found]
    host.start()
    (there,) = host.found
    disabled = SkippedExtension(folder.path, DISABLED, is_error=False)
    host.reloader = Reloader(host.supervisor, rediscover=lambda: no_steps(Discovery((), (disabled,))))
    assert [outcome.outcome for outcome in reload(host)] == ["stopped"]
    host.reloader = Reloader(host.supervisor, rediscover=lambda: no_steps(Discovery((there,), ())))
    gate, got = slowly(host, folder)
    host.reloader = Reloader(host.supervisor, rediscover=lambda: no_steps(Discovery((), (disabled,))))
    folder.version("v3", enabled=False)
    assert [outcome.outcome for outcome in reload(host, name)] == ["stopped"]
    host.until(lambda: got)
    gate.touch()
    lone(host, folder.extension)
    assert [outcome.outcome for outcome in got[0]] == ["stopped"]
    assert folder.extension.state is WorkerState.EXITED


def test_a_new_name_is_started_and_an_unknown_one_is_an_error(host: Host):
    host.start()
    host.found = []
    new = Folder(host, "new")
    host.reloader = Reloader(host.supervisor, rediscover=lambda: no_steps(Discovery(tuple(host.found), ())))
    assert reload(host, "new")[0].outcome == "started"
    assert new.extension.is_up
    assert reload(host, "nobody") == ()


def test_a_storm_of_reloads_of_all_starts_few_versions_and_ends_with_the_last(host: Host, folder: Folder):
    host.start()
    got: list[tuple[ReloadOutcome, ...]] = []
    for _ in range(30):
        host.reloader.begin(None, got.append)
    folder.version("last")
    host.reloader.begin(None, got.append)
    host.until(lambda: len(got) == 31)
    assert {outcome.outcome for outcome in got[-1]} == {"reloaded"}
    assert folder.says()["version"] == "last"
    assert folder.extension.reloads <= 2
    assert [kind for kind, _ in host.said_of("one") if kind == "warning"] == []
    lone(host, folder.extension)


def test_a_reload_without_extensions_has_no_outcome(host: Host):
    host.start()
    assert reload(host) == ()
