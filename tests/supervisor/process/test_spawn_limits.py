"""A child gets its limits before its program starts, and the program starts as it would without them."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.loop.loop import Loop
from supervisor.process import spawn_limits
from supervisor.process.child import Child, SpawnError
from supervisor.process.spawn_limits import Confinement, find_program, launch, limit_command, limit_core
from tests.support.git_server import command_lines
from tests.support.patience import PATIENCE_S
from wire.manifest import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASKED = Confinement(open_files=64)
TELL = f"""#!{sys.executable} -IS
import json, os, resource, sys
limits = {{name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in ("CORE", "NOFILE", "FSIZE")}}
print(json.dumps({{"argv": [os.fsencode(a).hex() for a in sys.argv], "env": dict(os.environ), "limits": limits,
                   "pid": os.getpid(), "cwd": os.getcwd()}}))
"""
OPEN = """
import os
for number in range(1024):
    try:
        os.fstat(number)
    except OSError:
        continue
    print(number, end=" ", flush=True)
"""
SHELLS = [path for path in ("/bin/dash", "/bin/bash", "/bin/busybox") if os.path.exists(path)]


@pytest.fixture
def teller(tmp_path: Path) -> Path:
    """A program that says how it was started."""
    return program(tmp_path / "teller", TELL)


def program(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each shell that a system may have as its /bin/sh, under that name."""
    link = tmp_path / "shell" / "sh"
    link.parent.mkdir()
    link.symlink_to(request.param)
    monkeypatch.setattr(spawn_limits, "SHELL", str(link))
    return str(link)


def start(argv: list[str], confinement: Confinement, cwd: Path, env: dict[str, str] | None = None):
    env = dict(os.environ) if env is None else env
    command = launch(argv, confinement, cwd=str(cwd), env=env)
    with subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        out, errors = child.communicate(timeout=PATIENCE_S)
        return child.pid, out, errors.decode()


def test_nothing_asked_nothing_changed(teller: Path, tmp_path: Path):
    argv = ["no such program", "a"]
    assert launch(argv, Confinement(), cwd="/nowhere", env={}) == argv
    assert Confinement.of(Limits(rss_mb=5, processes=3)).is_empty


def test_limits_are_set_and_final(shell: str, teller: Path, tmp_path: Path):
    confinement = Confinement.of(Limits(open_files=64, file_mb=0.5))
    pid, out, errors = start([str(teller), "a b"], confinement, tmp_path)
    said = json.loads(out)
    assert said["limits"] == {"CORE": [0, 0], "NOFILE": [64, 64], "FSIZE": [512 * 1024] * 2}
    assert said["pid"] == pid, "the shell has become the program"
    assert said["cwd"] == str(tmp_path)
    assert errors == ""


def test_a_lower_limit_of_our_own_stays(teller: Path, tmp_path: Path):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, out, errors = start([str(teller)], Confinement(open_files=hard + 1), tmp_path)
    assert json.loads(out)["limits"]["NOFILE"] == [hard, hard]
    assert errors == ""


def test_a_limit_that_cannot_be_set_is_reported_and_the_child_starts(shell: str, teller: Path, tmp_path: Path):
    confinement = Confinement(open_files=10**18, join_file=tmp_path / "gone" / "cgroup.procs")
    argv = limit_command([str(teller)], confinement, os.environ)
    done = subprocess.run(argv, capture_output=True, timeout=PATIENCE_S, check=True)
    assert json.loads(done.stdout)["argv"] == [os.fsencode(teller).hex()]
    first, second = done.stderr.decode().splitlines()
    assert first == "zot: could not limit open files to 1000000000000000000; continues without"
    assert second == f"zot: could not join the cgroup {tmp_path / 'gone'}; continues outside"


def test_it_joins_before_it_is_the_program(shell: str, teller: Path, tmp_path: Path):
    folder = tmp_path / "a $(touch made) 'leaf' \"\\"
    folder.mkdir()
    file = folder / "cgroup.procs"
    file.touch()
    pid, _, errors = start([str(teller)], Confinement(join_file=file), tmp_path)
    assert file.read_text() == f"{pid}\n"
    assert errors == ""
    assert not (tmp_path / "made").exists()


def test_any_bytes_pass(shell: str, tmp_path: Path):
    everything = os.fsdecode(bytes(range(1, 256)))
    odd = [everything, "", " ", "-x", "--", "$(touch made)", "`touch made`", "a\nb", "'\"\\", "${0}", "*"]
    folder = tmp_path / os.fsdecode(b"dir \xff\xc3 $(touch made) '\"\n=")
    folder.mkdir()
    teller = program(folder / "-prog ram", TELL)
    _, out, errors = start([str(teller), *odd], ASKED, tmp_path)
    assert [bytes.fromhex(word) for word in json.loads(out)["argv"]] == [os.fsencode(word) for word in (teller, *odd)]
    assert errors == ""
    assert not (tmp_path / "made").exists()


@settings(max_examples=25)
@given(st.lists(st.binary(max_size=30).map(lambda raw: os.fsdecode(raw.replace(b"\0", b""))), max_size=6))
def test_arguments_arrive_as_they_were(arguments):
    argv = limit_command(["/usr/bin/printf", "%s\\0", "x", *arguments], ASKED, {})
    out = subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout
    assert out.split(b"\0")[:-1] == [b"x", *map(os.fsencode, arguments)]


ODD = {"BASH_FUNC_f%%": "() { :; }", "a-b": "1", "c.d": " $(touch made) ", "1": "one"}
"""Variables that a shell cannot have."""


@pytest.mark.parametrize("locale", [{}, {"LC_CTYPE": "C"}, {"LC_ALL": "C", "LC_CTYPE": ""}])
def test_the_environment_stays_as_it_is_also_with_names_that_no_shell_has(tmp_path: Path, locale: dict[str, str]):
    env = {"PATH": os.environ["PATH"], "PLAIN": "x\ny", "IFS": "a", "ENV": "/nowhere", "PYTHONHOME": "/no", **ODD}
    (tmp_path / "a=b").symlink_to("/usr/bin/env")
    _, out, errors = start([f"{tmp_path}/a=b", "-0"], ASKED, tmp_path, env | locale)
    there = dict(os.fsdecode(entry).split("=", 1) for entry in out.split(b"\0")[:-1])
    assert there == env | locale
    assert errors == ""
    assert not (tmp_path / "made").exists()


def test_limits_do_not_depend_on_the_names_of_variables(teller: Path, tmp_path: Path):
    join = tmp_path / "cgroup.procs"
    join.touch()
    confinement = msgspec.structs.replace(Confinement.of(Limits(open_files=64, file_mb=0.5)), join_file=join)
    odd_bytes = os.fsdecode(b"\xff $(touch made)")
    pid, out, errors = start([str(teller), odd_bytes], confinement, tmp_path, dict(os.environ) | ODD)
    said = json.loads(out)
    assert said["limits"] == {"CORE": [0, 0], "NOFILE": [64, 64], "FSIZE": [512 * 1024] * 2}
    assert (said["pid"], join.read_text(), errors) == (pid, f"{pid}\n", "")
    assert bytes.fromhex(said["argv"][1]) == os.fsencode(odd_bytes)
    unset = Confinement(open_files=10**18, join_file=tmp_path / "gone" / "cgroup.procs")
    done = subprocess.run(limit_command([str(teller)], unset, ODD), capture_output=True, timeout=PATIENCE_S, check=True)
    assert done.stderr.decode().splitlines() == [
        "zot: could not limit open files to 1000000000000000000; continues without",
        f"zot: could not join the cgroup {tmp_path / 'gone'}; continues outside",
    ]


def test_signals_are_as_a_direct_start_leaves_them(tmp_path: Path):
    ask = program(tmp_path / "ask", "#!/bin/sh\nkill -PIPE $$\necho survived\n")
    assert start([str(ask)], ASKED, tmp_path, ODD)[1] == start([str(ask)], Confinement(), tmp_path, ODD)[1] == b""


def test_no_value_of_a_variable_is_in_a_command_line(shell: str, tmp_path: Path):
    pipe = tmp_path / "cgroup.procs"
    os.mkfifo(pipe)
    env = {"PATH": os.environ["PATH"], "BASH_FUNC_secret%%": "s3cr3t", "a.b": "s3cr3t", "PLAIN": "s3cr3t"}
    waits = program(tmp_path / "waits", "#!/bin/sh\nread line\n")
    command = launch([str(waits)], Confinement(join_file=pipe), cwd=str(tmp_path), env=env)
    assert "s3cr3t" not in "".join(command)
    seen = []
    with subprocess.Popen(command, env=env, cwd=tmp_path, stdin=subprocess.PIPE) as child:
        with pipe.open("rb", buffering=0) as joined:  # it is the shell, or Python, that opens the other end
            seen.append(command_lines())
            joined.read()
        while not any(line.endswith(b"waits\0") and b"cgroup.procs" not in line for line in command_lines()):
            assert child.poll() is None
        seen.append(command_lines())
        child.communicate(b"\n", timeout=PATIENCE_S)
    assert all(b"s3cr3t" not in line for lines in seen for line in lines)


def test_a_program_is_found_as_it_would_be_without(teller: Path, tmp_path: Path):
    env = {"PATH": str(tmp_path)}
    assert find_program("teller", cwd="/", env=env) == str(teller)
    assert find_program("./teller", cwd=str(tmp_path), env={}) == f"{tmp_path}/./teller"
    assert find_program(str(teller), cwd="/", env={}) == str(teller)


def faulty(tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Program and folder, by what is wrong."""
    program(tmp_path / "plain", "data", 0o644)
    program(tmp_path / "orphan", "#!/no/such/interpreter -x\n")
    program(tmp_path / "script", "echo no first line\n")
    program(tmp_path / "good", TELL)
    (tmp_path / "folder").mkdir()
    there = str(tmp_path)
    return {
        "missing": (f"{there}/missing", there),
        "relative": ("./missing", there),
        "not on PATH": ("surely-no-such-program", there),
        "not executable": (f"{there}/plain", there),
        "a folder": (f"{there}/folder", there),
        "no interpreter": (f"{there}/orphan", there),
        "no first line": (f"{there}/script", there),
        "no folder": (f"{there}/good", f"{there}/gone"),
    }


@pytest.mark.parametrize(
    "fault",
    [
        "missing",
        "relative",
        "not on PATH",
        "not executable",
        "a folder",
        "no interpreter",
        "no first line",
        "no folder",
    ],
)
def test_what_cannot_be_started_is_said_in_the_same_words(tmp_path: Path, fault: str):
    """The words are the same with a shell in between and without."""
    name, cwd = faulty(tmp_path)[fault]
    loop = Loop()
    with pytest.raises(SpawnError) as direct:
        Child(loop, [name], cwd=cwd, env=dict(os.environ), on_stdout=lambda _: None, on_exit=lambda _: None)
    loop.close()
    with pytest.raises(SpawnError) as confined:
        launch([name], ASKED, cwd=cwd, env=dict(os.environ))
    assert str(confined.value) == str(direct.value)


# --- what a child inherits ----------------------------------------------------------------------------------


@pytest.fixture
def busy_loop(tmp_path: Path) -> Iterator[Loop]:
    """A host with sockets, pipes, files and other children."""
    loop = Loop()
    ends = socket.socketpair()
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "s"))
    server.listen()
    log = open(tmp_path / "log", "w")  # noqa: SIM115
    other = Child(
        loop, ["/bin/cat"], cwd="/", env={}, on_stdout=lambda _: None, on_stderr=lambda _: None, on_exit=lambda _: None
    )
    yield loop
    other.stdin.close()
    assert loop.run_until(lambda: not other.is_running, loop.clock() + PATIENCE_S)
    for end in (*ends, server, log):
        end.close()
    loop.close()


@pytest.mark.parametrize("confinement", [Confinement(), ASKED], ids=["plain", "confined"])
def test_a_child_inherits_exactly_three_descriptors(busy_loop: Loop, confinement: Confinement):
    heard: list[bytes] = []
    argv = launch([sys.executable, "-I", "-S", "-c", OPEN], confinement, cwd="/", env={})
    child = Child(
        busy_loop, argv, cwd="/", env={}, on_stdout=heard.append, on_stderr=heard.append, on_exit=lambda _: None
    )
    assert busy_loop.run_until(lambda: not child.is_running, busy_loop.clock() + PATIENCE_S)
    child.stdin.close()
    child.stderr.close()
    assert b"".join(heard) == b"0 1 2 "


def test_core_files_are_off_for_all_that_is_started(teller: Path, tmp_path: Path):
    before = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        limit_core()
        assert resource.getrlimit(resource.RLIMIT_CORE) == (0, before[1])
        _, out, _ = start([str(teller)], Confinement(), tmp_path)
        assert json.loads(out)["limits"]["CORE"] == [0, before[1]]
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="a Linux call")
def test_core_files_of_one_child_leave_the_host_alone():
    before = resource.getrlimit(resource.RLIMIT_CORE)
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as child:
        limit_core(child.pid)
        assert resource.prlimit(child.pid, resource.RLIMIT_CORE) == (0, 0)
    assert resource.getrlimit(resource.RLIMIT_CORE) == before
    limit_core(child.pid)
