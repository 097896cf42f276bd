"""`zot events` and `zot metrics` beside a batch: its runs are hosts, and its own start and end are told."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.support.batch_command import BatchCommand
from tests.support.extension_folder import extension
from tests.support.incidents import incidents, next_incident
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot


def test_a_batch_is_told_from_its_start_to_its_end_with_what_happens_in_its_runs(zot: Zot, server: MessagesServer):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    failing = extension(zot.folder, "exits_before_hello", name="failing", restart={"policy": "temporary"})
    batch = BatchCommand(zot, server)
    batch.tasks({"a": "one", "b": "bash while [ ! -e go ]; do sleep 0.05; done"})
    with zot.start("events", "-f", "--json") as watching:
        wait_until(lambda: "no host is running" in watching.errors())
        with batch.start("-e", failing, "--jobs", "2", "--workspace", "shared") as running:
            held = next_incident(watching, "host_started")
            assert held.host == "batch"
            fallen = [next_incident(watching, None, "failing") for _run in range(2)]
            with zot.start("events", str(held.pid), "-f", "--json") as of_batch:
                assert next_incident(of_batch, "host_started") == held
                (zot.cwd / "go").touch()
                assert running.finish().status == 0
                alone = of_batch.finish()
            assert alone.status == 0
            assert [each.event for each in incidents(alone) if each.extension] == ["exited", "exited"]
        while (told := next_incident(watching, "host_ended")).host != "batch":
            assert told.host == "run"
        assert (told.pid, told.text) == (held.pid, "done")
        watching.signal(signal.SIGINT)
        every = incidents(watching.finish())
    assert [each for each in every if each.extension == "failing"] == fallen
