"""Runs and model workers as forks of the template: as good as programs, with everything in memory already."""

from __future__ import annotations

import errno
import gc
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import pytest

from agent.batch.run import template_main
from agent.batch.run.begin import encode_request
from agent.batch.run.rehearsed_host import NAME, rehearsed_host
from agent.options import RunRequest
from supervisor.loop.loop import Loop
from supervisor.process.teardown import stop_all
from supervisor.template.client import Template
from supervisor.template.protocol import is_available
from tests.support.messages_server import text_reply
from tests.support.patience import PATIENCE_S
from tests.support.replay_script import Script, ok
from tests.support.warm_start import ROOT
from wire import events
from wire.batch import link
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task, encode_task
from wire.trace_context import TraceContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.process.child import ExitStatus
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

EXIT = "[exit 0]  Took 0.0s"
pytestmark = pytest.mark.skipif(not is_available(), reason="templates need Linux")


class Forks:
    """A template and what its forks have said."""

    def __init__(self, zot: Zot) -> None:
        self.loop = Loop()
        program = ROOT / "tests/support/traced_template.py"
        self.template = Template(self.loop, [sys.executable, "-P", str(program)], env=zot.env)
        self._zot = zot
        self.stdout, self.stderr = b"", b""
        self._ends: list[ExitStatus] = []

    def fork(self, entry: str, **options: Any) -> Any:
        return self.template.fork(
            entry, cwd="/", env=None, on_stdout=self._out, on_stderr=self._err, on_exit=self._ends.append,
            on_failed=lambda error: pytest.fail(str(error)), **options,
        )  # fmt: skip

    def _out(self, data: bytes) -> None:
        self.stdout += data

    def _err(self, data: bytes) -> None:
        self.stderr += data

    def wait(self) -> ExitStatus:
        """The next end of a fork."""
        assert self.loop.run_until(lambda: bool(self._ends), self.loop.clock() + PATIENCE_S), self.stderr
        return self._ends.pop()

    def run(self, task: Task, flags: dict[str, Any] | None = None, **begin: Any) -> tuple[list[Any], link.RunEnded]:
        """Carries out a task: its records, and how it ended. `flags` are further fields of the request."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self.stdout = self.stderr = b""
            request = RunRequest(cwd=str(self._zot.cwd), home=self._zot.home, **(flags or {}))
            ours.sendall(
                link.encode(
                    link.Begin(
                        task=msgspec.Raw(encode_task(task)), attempt=1, run="1", request=encode_request(request),
                        token="t" * 32 + ".1", version="0", **begin,
                    )
                )
            )  # fmt: skip
            self.fork("run", links=[theirs.fileno()])
            self.wait()
            lines = ours.recv(1 << 16).splitlines()
        ended = link.decode_from_run(lines[-1])
        assert isinstance(ended, link.RunEnded)
        return [events.decode(line) for line in self.stdout.splitlines()], ended


@pytest.fixture
def forks(zot: Zot) -> Iterator[Forks]:
    forks = Forks(zot)
    with forks.loop.signals([], lambda _number: None):
        yield forks
        stop_all(forks.loop, [forks.template])
    forks.loop.close()


def test_a_fork_runs_a_task_and_imports_nothing(zot: Zot, forks: Forks) -> None:
    (zot.cwd / "note").write_text("text\n")
    workspace = zot.folder / "rundir/workspaces/a"
    workspace.parent.mkdir(parents=True)
    prompt = f'<file path="{zot.cwd}/note">\ntext\n</file>\n\ngo'
    script = Script(workspace, prompt)
    script.call(("read", {"path": "note"}), results=[ok("text\n")])
    script.call(("bash", {"command": "echo more >> note"}), results=[ok(f"$ echo more >> note\n\n{EXIT}")])
    task = Task(
        id="a", prompt="go", files=(str(zot.cwd / "note"),), ext=(str(ROOT / "examples/extensions/turn-meter"),),
        setup="true", check="true", replay=str(script.answer("done").write(zot.folder / "c.jsonl")),
    )  # fmt: skip
    records, ended = forks.run(task, workspace=str(workspace))
    assert (ended.status, ended.diff) == (TaskStatus.OK, "diffs/a.diff"), forks.stderr
    assert isinstance(records[-1], events.Done)
    assert forks.stderr.splitlines()[-1] == b"imported: []"


def test_a_fork_with_spans_imports_nothing(zot: Zot, forks: Forks) -> None:
    script = Script(zot.cwd).call(("bash", {"command": "true"}), results=[ok(f"$ true\n\n{EXIT}")]).answer("done")
    task = Task(id="a", prompt="go", replay=str(script.write(zot.folder / "c.jsonl")))
    _, ended = forks.run(task, {"otel": True, "otel_content": True}, context=TraceContext("a" * 32, "b" * 16))
    assert (ended.status, ended.reason) == (TaskStatus.OK, ""), forks.stderr
    assert forks.stderr.splitlines() == [b"imported: []"]


def test_the_template_does_not_import_the_sdk_of_opentelemetry() -> None:
    """A library of others may import its API."""
    code = "import sys; from agent.batch.run import template_main; template_main.import_all()"
    shows = "; print([name for name in ('opentelemetry.sdk', 'opentelemetry.exporter') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + shows], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_a_fork_attaches_to_a_host_and_imports_nothing(zot: Zot, forks: Forks) -> None:
    script = Script(zot.cwd, extra={NAME: NAME}).call((NAME, {}), results=[ok("a")]).answer("done")
    cassette = script.write(zot.folder / "c.jsonl")
    with rehearsed_host(zot.folder) as (host, extension):
        flags = {"host": host, "is_host_of_batch": True, "extensions": (extension,)}
        records, ended = forks.run(Task(id="a", prompt="go", replay=str(cassette)), flags)
    assert (ended.status, ended.reason) == (TaskStatus.OK, ""), forks.stderr
    assert isinstance(records[-1], events.Done)
    assert forks.stderr.splitlines() == [b"imported: []"]


@pytest.mark.slow
def test_forks_do_not_share_what_they_do(zot: Zot, forks: Forks) -> None:
    for number in (1, 2):
        script = Script(zot.cwd).answer(f"done {number}").write(zot.folder / f"{number}.jsonl")
        records, ended = forks.run(Task(id=f"t{number}", prompt="go", replay=str(script), env={f"V{number}": "x"}))
        assert (ended.status, records[-2].text) == (TaskStatus.OK, f"done {number}")


@pytest.mark.slow
def test_a_fork_whose_task_cannot_begin_imports_nothing_either(forks: Forks) -> None:
    task = Task(id="a", prompt="go", output_schema={"type": 7}, provider="anthropic", base_url="http://localhost:1")
    _, ended = forks.run(task)
    assert ended.status is TaskStatus.USAGE
    assert forks.stderr.splitlines()[-1] == b"imported: []"


@pytest.mark.slow
def test_a_fork_is_a_model_worker(forks: Forks, server: MessagesServer) -> None:
    server.add(text_reply("hello"))
    worker = forks.fork("model_worker", stdin=True)
    configure = {"type": "configure", "api_key": "k", "auth_token": None, "base_url": server.base_url}
    worker.send(orjson.dumps({**configure, "max_retries": 0, "idle_timeout_s": 20}) + b"\n")
    params = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "go"}]}
    worker.send(orjson.dumps({"type": "request", "id": "7.1", "params": params}) + b"\n")
    assert forks.loop.run_until(lambda: b'"final"' in forks.stdout, forks.loop.clock() + PATIENCE_S), forks.stderr
    worker.stdin.close()
    assert forks.wait().code == 0
    assert [orjson.loads(line)["type"] for line in forks.stdout.splitlines()][0::3] == ["ready", "text_delta"]


def test_without_room_for_a_rehearsal_there_is_a_template(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(template_main, "import_all", lambda: None)
    monkeypatch.setattr(template_main, "rehearse", no_room)
    template_main.prepare()
    assert gc.isenabled()
