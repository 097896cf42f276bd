"""The file worker as a process on two pipes."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.tools.file_worker import main
from tests.support.patience import PATIENCE_S

COMMAND = [sys.executable, "-I", "-S", main.__file__]


class Host:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def receive(self) -> dict:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, name: str, cwd: Path, identity: object = 1, **args: object) -> tuple[str, bool]:
        """The text of the answer and whether it is an error."""
        self.send(json.dumps({"id": identity, "name": name, "args": args, "cwd": str(cwd)}).encode())
        answer = self.receive()
        assert set(answer) == {"id", "content", "is_error"}
        assert answer["id"] == identity
        return answer["content"][0]["text"], answer["is_error"]


@pytest.fixture
def host() -> Iterator[Host]:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        host = Host(process)
        assert host.receive() == {"type": "ready"}
        yield host
        assert process.stdin
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0


def test_the_file_tools(host: Host, tmp_path: Path) -> None:
    assert host.ask("write", tmp_path, path="d/a", content="one\ntwo\n") == ("one\ntwo\n", False)
    edits = [{"oldText": "two", "newText": "2\u20281"}]
    assert host.ask("edit", tmp_path, path="d/a", edits=edits) == (" one\n-two\n+2\u20281\n", False)
    assert host.ask("read", tmp_path, identity="x", path="d/a") == ("one\n2\u20281\n", False)


def test_failures_are_answers(host: Host, tmp_path: Path) -> None:
    assert host.ask("read", tmp_path, path="a") == (f"stat {tmp_path}/a: no such file or directory", True)
    assert host.ask("read", tmp_path, path=3) == ("invalid args: path must be a string, not a number", True)
    assert host.ask("dance", tmp_path) == ('unknown tool "dance"', True)


@pytest.mark.parametrize(
    ("line", "identity", "message"),
    [
        (b"{oops", None, "worker: the request is not JSON: "),
        (b"\xff\xfe", None, "worker: the request is not JSON: "),
        (b"[" * 100_000, None, "worker: the request is not JSON: "),
        (b"[1]", None, "worker: the request has no tool name"),
        (b'{"id":7}', 7, "worker: the request has no tool name"),
        (b'{"id":8,"name":"read","args":[]}', 8, "invalid args: the arguments must be an object, not an array"),
    ],
)
def test_a_malformed_request_is_answered_with_an_error(
    host: Host, tmp_path: Path, line: bytes, identity: object, message: str
) -> None:
    host.send(line)
    answer = host.receive()
    assert answer["id"] == identity
    assert answer["is_error"]
    assert answer["content"][0]["text"].startswith(message)
    assert host.ask("write", tmp_path, path="a", content="still here") == ("still here", False)


def test_an_unexpected_exception_names_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_args: object, _cwd: str, _root: str) -> None:
        raise ZeroDivisionError("by zero")

    def silent(_args: object, _cwd: str, _root: str) -> None:
        raise MemoryError

    monkeypatch.setitem(main._TOOLS, "broken", broken)
    monkeypatch.setitem(main._TOOLS, "silent", silent)
    for name, text in (("broken", "broken: by zero"), ("silent", "silent: MemoryError")):
        outcome = main.perform(name, {}, "/")
        assert (outcome.content, outcome.is_error) == ([{"type": "text", "text": text}], True)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process cannot be set here")
@pytest.mark.parametrize("linked", [False, True])
def test_a_write_that_the_system_stops_half_way_leaves_the_old_file(host: Host, tmp_path: Path, linked: bool) -> None:
    """The limit on file sizes stands in for a full disk: the kernel refuses in the middle of a write."""
    (tmp_path / "a").write_text("old")
    if linked:
        (tmp_path / "b").hardlink_to(tmp_path / "a")
    resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (1000, 1000))
    failed = (f"write {tmp_path}/a: file too large", True)
    assert host.ask("write", tmp_path, path="a", content="x" * 5000) == failed
    assert host.ask("edit", tmp_path, path="a", edits=[{"oldText": "old", "newText": "y" * 5000}]) == failed
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == (["a", "b"] if linked else ["a"])


def test_stray_prints_do_not_reach_the_host() -> None:
    program = (
        "import os, runpy, sys, atexit\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from agent.tools.file_worker import main as worker\n"
        "def noisy(args, cwd, root):\n"
        "    print('noise', flush=True); os.system('echo more'); sys.stdin.readline()\n"
        "    return worker.ToolOutput.of_text('quiet')\n"
        "worker._TOOLS['read'] = noisy\n"
        "sys.exit(worker.main())\n"
    )
    root = Path(main.__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, root],
        input=b'{"id":1,"name":"read"}\n{"id":2,"name":"read"}\n',
        capture_output=True,
    )
    quiet = {"content": [{"type": "text", "text": "quiet"}], "is_error": False}
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines == [{"type": "ready"}, {"id": 1, **quiet}, {"id": 2, **quiet}]
    assert done.stderr == b"noise\nmore\nnoise\nmore\n"
    assert done.returncode == 0


def test_a_host_that_goes_away_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        host = Host(process)
        host.receive()
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        host.send(b"x")
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == b""


def test_it_loads_nothing_but_the_standard_library_and_its_siblings() -> None:
    done = subprocess.run([*COMMAND[:3], "-X", "importtime", COMMAND[3]], input=b"", capture_output=True)
    loaded = {line.rsplit(b"|", 1)[1].strip().decode() for line in done.stderr.splitlines() if b"|" in line}
    pure = {"agent.images", "agent.images.kinds", "agent.images.limits", "wire", "wire.image_types"}
    known = sys.stdlib_module_names | {"agent", "imported package"}
    foreign = {name for name in loaded - pure if name.split(".")[0] not in known}
    assert not foreign
    assert {name for name in loaded if name.startswith("agent.")} >= {"agent.tools", "agent.tools.edit"}
    assert not [name for name in loaded - pure if name.startswith("agent.") and not name.startswith("agent.tools")]
    assert not loaded & {"pathlib", "typing", "inspect", "tempfile"}  # each would add ten milliseconds
