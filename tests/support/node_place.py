"""Batches with nodes, for tests: their node programs are children of the test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.batch.request import RunState
from cli.version import VERSION
from tests.support.batch_place import BatchPlace
from tests.support.pipe_carrier import PipeCarrier
from tests.support.replay_script import Script
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.batch.batch import Batch
    from agent.batch.cluster.carrier import CarrierListener
    from supervisor.loop.loop import Loop
    from tests.support.messages_server.server import MessagesServer
    from wire.batch import control


PROGRAM = Path(__file__).with_name("standin_node.py")


class NodePlace(BatchPlace):
    """`carrier` is that of the last batch; its nodes are n1, n2, and so on."""

    carrier: PipeCarrier

    def batch(
        self,
        tasks: list[Task],
        *,
        nodes: int = 2,
        each: int = 2,
        run_program: Path | None = None,
        carrier: dict[str, Any] | None = None,
        **given: Any,
    ) -> Batch:
        """Each node offers `each` runs at the same time. With a `run_program` the runs are stand-ins. `carrier`: as
        with `PipeCarrier`."""
        program = {} if run_program is None else {"program": PROGRAM}
        key = {} if run_program is None else {"ANTHROPIC_API_KEY": "stand-ins ask nobody"}
        env = {"ZOT_TEST_JOBS": str(each), **key, **(carrier or {}).get("env", {})}

        def make(loop: Loop, listener: CarrierListener) -> PipeCarrier:
            self.carrier = PipeCarrier(loop, listener, **{"count": nodes, **program, **(carrier or {}), "env": env})
            return self.carrier

        given = {"engine": "ray", "make_carrier": make, "version": VERSION, "jobs": None, **given}
        return super().batch(tasks, **given)

    def asking(self, server: MessagesServer, count: int) -> tuple[list[Task], dict[str, Any]]:
        """Tasks that ask a server, and the flags for that. The nodes read the key."""
        project, key = self.folder / "project", self.folder / "key"
        project.mkdir(exist_ok=True)
        key.write_text("of-the-nodes\n")
        key.chmod(0o600)
        tasks = [Task(id=f"t{n}", prompt=f"task {n}", cwd=str(project)) for n in range(count)]
        flags = {"base_url": server.base_url, "model": "claude-sonnet-4-5", "provider": "anthropic"}
        return tasks, {"run": {**flags, "api_key_file": str(key)}}

    def replayed(self, count: int) -> list[Task]:
        """Tasks that a recording answers: t0, t1, and so on."""
        project, cassette = self.folder / "project", self.folder / "cassette.jsonl"
        if not cassette.exists():
            project.mkdir()
            Script(project, "go", home=self.folder / "home").answer("well done").write(cassette)
        return [Task(id=f"t{n}", prompt="go", cwd=str(project), replay=str(cassette)) for n in range(count)]


def running(batch: Batch, count: int) -> Callable[[], bool]:
    return lambda: sum(run.state is RunState.RUNNING for run in batch.view().runs) >= count


def begun(place: NodePlace, *names: str) -> Callable[[], bool]:
    """Whether the runs that do something only once have begun it: their next attempts do not."""
    return lambda: all((place.folder / name).exists() for name in names)


def change(batch: Batch, request: control.Request, answers: list[control.Reply] | None = None) -> None:
    """Has the batch carry out a request, as its socket does."""
    assert batch._control._server is not None
    batch._control._server._handler.answer(request, (answers if answers is not None else []).append)


def stop(batch: Batch) -> None:
    batch.controls.is_stopping = True
