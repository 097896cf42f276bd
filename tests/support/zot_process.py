"""Runs the product as its users do: `zot` as a process with its own home, folder and environment."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import psutil

from supervisor.discovery.environment import is_secret
from supervisor.home.config import Config
from tests.support import warm_start
from tests.support.child_pids import child_pids
from tests.support.marked_processes import command_line, marked_pids
from tests.support.patience import PATIENCE_S
from tests.support.warm_start import MARK, ROOT
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.replay_script import Script


@dataclass(frozen=True)
class Outcome:
    """The end of a process: its status, its output, and the processes of it that still run."""

    status: int
    stdout: bytes
    stderr: str
    leftovers: list[str] = field(default_factory=list)

    @cached_property
    def records(self) -> list[Any]:
        """The event stream, each line checked against its definition."""
        assert self.stdout.endswith(b"\n"), self.stdout[-200:]
        return [events.decode(line) for line in self.stdout.splitlines()]

    @cached_property
    def result(self) -> events.Result:
        (found,) = self.of(events.Result)
        return found

    @property
    def text(self) -> str:
        return self.stdout.decode()

    @property
    def json_lines(self) -> list[Any]:
        return [msgspec.json.decode(line) for line in self.stdout.splitlines()]

    @property
    def warnings(self) -> list[str]:
        return self.stderr.splitlines()

    def of(self, kind: type) -> list[Any]:
        return [record for record in self.records if isinstance(record, kind)]

    def tool_texts(self) -> list[str]:
        """The texts of all tool results, in order."""
        return ["".join(part.text for part in result.content) for result in self.of(events.ToolResult)]

    def refusal(self) -> str:
        """The complaint about a command line, on one line; nothing else was said or done."""
        assert (self.status, self.stdout, self.leftovers) == (Status.USAGE.exit_code, b"", []), self
        assert "Traceback" not in self.stderr
        assert "\x1b" not in self.stderr
        return " ".join(re.sub("[│╭╮╰╯─]", " ", self.stderr).split())

    def check(self, status: Status, *, user_messages: int = 1) -> Outcome:
        """Checks the promises that hold for every stream. Only after an answer that does not fit a schema has it more
        than one user message."""
        records = self.records
        assert isinstance(records[0], events.Session)
        assert [type(record) for record in records[-2:]] == [events.Result, events.Done]
        for once in (events.Session, events.Result, events.Done):
            assert len(self.of(once)) <= 1
        assert len(self.of(events.UserMessage)) <= user_messages
        assert (self.result.status, self.result.exit_code, self.status) == (status.value, *[status.exit_code] * 2)
        assert bool(self.result.reason) == (status is not Status.OK), self.result
        of_extensions: list[list[str]] = []
        """The ids of the calls that extensions have made, and of their results: these may overlap."""
        of_the_model: list[list[str]] = []
        for kind in (events.ToolCall, events.ToolResult):
            of_extensions.append(sorted(each.id for each in self.of(kind) if each.origin_extension))
            of_the_model.append([each.id for each in self.of(kind) if not each.origin_extension])
        assert (of_extensions[0], of_the_model[0]) == (of_extensions[1], of_the_model[1])
        assert self.leftovers == []
        return self


class Running:
    """A started `zot`. Its output is read when the test asks for it."""

    def __init__(self, argv: list[str], *, env: dict[str, str], cwd: Path, folder: Path, **popen: Any) -> None:
        self._mark = env[MARK]
        self._errors = folder / f"stderr-{self._mark}"
        self._lines: list[bytes] = []
        self._taken = bytearray()
        self._partial = bytearray()
        self._has_left_nothing = False
        begin = popen.pop("begin", subprocess.Popen)
        with self._errors.open("wb") as stderr:
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": stderr, **popen}
            self.process: subprocess.Popen[bytes] = begin(argv, env=env, cwd=cwd, **streams)

    @property
    def pid(self) -> int:
        return self.process.pid

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._wait_for_reaper()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not stream.closed:
                stream.close()
        for pid in [] if self._has_left_nothing else marked_pids(MARK, self._mark):
            os.kill(pid, signal.SIGKILL)

    def _wait_for_reaper(self) -> None:
        """The reaper of a killed `zot` ends what that left, then itself. By now it is our child, to be collected."""
        for pid in child_pids():
            command = command_line(pid).split()
            if str(self.pid) in command and any("reaper_main" in word for word in command):
                psutil.Process(pid).wait(PATIENCE_S)

    def wait_for(self, kind: type, **fields: Any) -> Any:
        """Reads up to the first record of this type with these field values."""
        deadline = time.monotonic() + PATIENCE_S
        while line := self._read_line(deadline):
            record = events.decode(line)
            if isinstance(record, kind) and all(getattr(record, name) == value for name, value in fields.items()):
                return record
        raise AssertionError(f"no {kind.__name__} {fields}; got {self._taken.decode()}\n{self.errors()}")

    def read(self, count: int) -> list[Any]:
        """Reads so many records; returns all that came, which may be more."""
        deadline = time.monotonic() + PATIENCE_S
        for _ in range(count):
            self._read_line(deadline)
        whole = bytes(self._taken).rpartition(b"\n")[0]
        return [events.decode(line) for line in whole.splitlines()]

    def child(self, name: str) -> int:
        """The pid of a child whose command line holds this text; waits until there is one."""
        return wait_until(lambda: self.find_child(name))

    def find_child(self, name: str) -> int | None:
        return next(
            (pid for pid in marked_pids(MARK, self._mark) if pid != self.pid and name in command_line(pid)), None
        )

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def errors(self) -> str:
        return self._errors.read_text(errors="replace")

    def finish(self, timeout_s: float = PATIENCE_S) -> Outcome:
        """Waits for the end; all of its output is in the outcome."""
        deadline = time.monotonic() + timeout_s
        if self.process.stdout is not None and not self.process.stdout.closed:
            while self._read_line(deadline):
                pass
        try:
            status = self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running; {self._taken.decode()}\n{self.errors()}") from None
        left = marked_pids(MARK, self._mark)
        self._has_left_nothing = not left  # nor will anything come of it
        return Outcome(status, bytes(self._taken), self.errors(), [command_line(pid) for pid in left])

    def _read_line(self, deadline: float) -> bytes:
        """The next line; at the end of the output, an incomplete line."""
        stdout = self.process.stdout
        assert stdout is not None
        while not self._lines:
            ready, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"nothing more came; {self._taken[-5000:].decode()}\n{self.errors()}")
            data = os.read(stdout.fileno(), 1 << 20)
            if not data:
                rest, self._partial = bytes(self._partial), bytearray()
                return rest
            self._taken += data
            self._partial += data
            if b"\n" in data:
                *lines, rest = bytes(self._partial).split(b"\n")
                self._lines = [line + b"\n" for line in lines]
                self._partial = bytearray(rest)
        return self._lines.pop(0)


class Zot:
    """A home, a project folder, and an environment without the developer's secrets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.cwd = folder / "project"
        self.cwd.mkdir()
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANTHROPIC_", "ZOT")) and not is_secret(name, Config(), value)
        }
        self.env = {**inherited, "ZOT_HOME": str(self.home), "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            self.env.pop(name, None)
        self.command = warm_start.COMMAND

    def start(self, *args: str | Path, cold: bool = False, **popen: Any) -> Running:
        """Starts from a template where possible; `cold` starts the program itself."""
        env = {**self.env, **popen.pop("env", {}), MARK: uuid.uuid4().hex}
        argv = [*popen.pop("command", self.command), *map(str, args)]
        begin = subprocess.Popen if cold else warm_start.start
        return Running(argv, env=env, cwd=popen.pop("cwd", self.cwd), folder=self.folder, begin=begin, **popen)

    def run(self, *args: str | Path, **popen: Any) -> Outcome:
        with self.start(*args, **popen) as running:
            return running.finish()

    def with_file_limit(self, blocks: int) -> list[str]:
        """The command of a `zot` whose files have at most so many blocks of 512 bytes. It writes no bytecode: Python
        before 3.14 takes a short write for a whole one, and the half module would end every later program here."""
        script = f'PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE; ulimit -f {blocks}; exec "$@"'
        return ["/bin/sh", "-c", script, "sh", *self.command]

    def replay(self, script: Script, *args: str | Path, **popen: Any) -> Outcome:
        return self.run(*self.replay_flags(script), *args, "go", **popen)

    def replay_flags(self, script: Script) -> list[str]:
        return ["--json", "--replay", str(script.write(self.folder / "cassette.jsonl"))]

    def session_rows(self) -> list[Any]:
        """The rows of the only session file; each line must be whole."""
        (path,) = self.session_files()
        return rows(path.read_bytes())

    def session_files(self) -> list[Path]:
        return sorted(self.home.glob("sessions/*/*.jsonl"))


def wait_until(condition: Callable[[], Any], *, pause_s: float = 0.005) -> Any:
    """Polls the condition, for changes that another process does not announce; returns its value."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(pause_s)
    raise AssertionError("it did not come about")


def rows(data: bytes) -> list[Any]:
    assert data.endswith(b"\n")
    return [msgspec.json.decode(line) for line in data.splitlines()]


def check_transcript(session: list[Any]) -> None:
    """Checks a session: it has a header, and a result for each tool call."""
    assert session[0]["type"] == "meta"
    assert {row["type"] for row in session} <= {"meta", "message", "usage"}
    messages = [row["message"] for row in session if row["type"] == "message"]
    assert messages[0]["role"] == "user"
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert [block["call_id"] for block in message["content"]] == open_calls
            open_calls = []
        assert not open_calls
        open_calls = [block["id"] for block in message["content"] if "arguments" in block]
    assert not open_calls
