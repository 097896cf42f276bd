"""Has py-spy make the profile of a Python process: from outside, without stopping the process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

from supervisor.profile.errors import ProfileError
from wire.text import one_line

HOW_TO_INSTALL = "py-spy is needed and is not installed: pip install 'pyzot[profile]'"
SLACK_S = 15.0
"""Maximum number of seconds that py-spy may need beyond those of the profile."""
END_S = 2.0
"""Seconds from SIGINT until py-spy is killed."""
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


def find_py_spy() -> str | None:
    """py-spy beside this Python, where the extra `profile` installs it, else on PATH; None if it is missing."""
    beside = (Path(sys.executable).parent, Path(sysconfig.get_path("scripts")))
    return shutil.which("py-spy", path=os.pathsep.join(map(str, beside))) or shutil.which("py-spy")


def record(program: str, pid: int, seconds: float, file: Path) -> None:
    """Writes the profile of these seconds into the file, as speedscope reads it. Raises `ProfileError`. After Ctrl-C
    py-spy has ended, too.

    Threads that wait are sampled, too: a hang mostly is a wait. py-spy reads the process's memory while it runs on, and
    so never leaves a stopped process behind, not even when it is killed.
    """
    whole = max(1, round(seconds))  # py-spy takes whole seconds
    argv = [program, "record", "--pid", str(pid), "--duration", str(whole), "--format", "speedscope", "--idle"]
    argv += ["--nonblocking", "--full-filenames", "--output", str(file)]
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "RUST_BACKTRACE": "0", "RUST_LIB_BACKTRACE": "0"},
    ) as process:  # fmt: skip
        try:
            _, told = process.communicate(timeout=whole + SLACK_S)
        except subprocess.TimeoutExpired:
            raise ProfileError(f"py-spy has not ended {SLACK_S:g} s after its time; try again") from None
        finally:
            _end(process)
    if process.returncode != 0:
        raise ProfileError(explain(told.decode("utf-8", "replace"), pid))


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()


def explain(told: str, pid: int) -> str:
    """Explains an error of py-spy, with the way out."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    lowered = told.casefold()
    if "requires root" in lowered and "osx" in lowered:
        return f"macOS lets only root read another process: {by_hand(pid)}"
    if "permission denied" in lowered or "operation not permitted" in lowered or "eperm" in lowered:
        return refused(pid, owner_of(pid), os.geteuid(), _yama_scope())
    said = next((line for line in lines if line.startswith("Error: ")), lines[-1] if lines else "it says nothing")
    causes = [line.partition(": ")[2] for line in lines if line[:2] in ("0:", "1:")]
    return f"py-spy cannot profile pid {pid}: " + one_line(": ".join([said.removeprefix("Error: "), *causes[:1]]), 300)


def refused(pid: int, owner: int | None, own: int, yama: int) -> str:
    """Why the kernel does not let this user read a process, and what to do. Pure."""
    if owner is not None and owner != own:
        return f"pid {pid} runs as user {owner}, and this is user {own}: only user {owner} and root may profile it"
    if yama > 0:
        return (
            f"the kernel lets only root read other processes (kernel.yama.ptrace_scope is {yama}):"
            f" sudo sysctl kernel.yama.ptrace_scope=0, or {by_hand(pid)}"
        )
    return (
        f"the kernel refuses to let pid {pid} be read (ptrace); start the container with --cap-add SYS_PTRACE,"
        f" or {by_hand(pid)}"
    )


def by_hand(pid: int) -> str:
    """The command with which root makes the same profile."""
    return f"sudo py-spy record --idle --format speedscope --pid {pid} --duration 10 --output profile.json"


def owner_of(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def _yama_scope() -> int:
    try:
        return int(YAMA.read_text())
    except (OSError, ValueError):
        return 0
