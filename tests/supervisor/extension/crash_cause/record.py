"""Runs the programs in `crashes/` and records their stderr: `python -m tests.supervisor.extension.crash_cause.record`.

Names of languages may follow; without them those that are installed are recorded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.supervisor.extension.crash_cause.crash_file import LANGUAGES, Crash, read, write

DEADLINE_S = 120.0
LIBRARIES = {
    "python": [sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
    "go": ["go", "env", "GOROOT"],
    "ruby": ["ruby", "-e", "puts RbConfig::CONFIG['rubylibprefix']"],
}
"""For each language the command that prints the folder of its library, which is another one on each machine."""


def stderr_of(crash: Crash, folder: Path) -> str:
    """Builds and runs the program of a crash in an empty folder, and returns what it wrote to stderr."""
    for name, text in crash.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    env = {
        "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath),
        "HOME": str(folder), "LC_ALL": "C.UTF-8", "GOPROXY": "off", "GO111MODULE": "auto",
        "GOCACHE": os.environ.get("GOCACHE") or str(folder.parent / "go-cache"), "GOTOOLCHAIN": "local",
        "PYTHONDONTWRITEBYTECODE": "1", "RUBYOPT": "--disable-did_you_mean",
    }  # fmt: skip
    if crash.build:
        subprocess.run(
            ["sh", "-c", crash.build],
            cwd=folder, env=env, check=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    command = crash.run.replace("{folder}", str(folder))
    if not re.search("[;|&<>'\"]", command):
        command = f"exec {command}"
    ran = subprocess.run(
        ["sh", "-c", f"ulimit -c 0; {command}"],
        cwd=folder, env=env, timeout=DEADLINE_S, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert ran.returncode != 0, f"{crash.title}: it ended with status 0"
    return ran.stderr.decode("utf-8", "replace")


def version_of(program: str) -> str:
    """The first line of what a program says about its version."""
    if program.endswith("/sh"):
        return os.path.basename(os.path.realpath(program))  # dash does not say
    ask = "version" if program.endswith("go") else "--version"
    ran = subprocess.run([program, ask], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    return next(iter((ran.stdout + ran.stderr).splitlines()), "").strip() or "of an unknown version"


def record(language: str, base: Path) -> None:
    head, crashes = read(language)
    program = shutil.which(LANGUAGES[language]) or LANGUAGES[language]
    head = f"{re.sub('# Recorded with .*', '', head).rstrip()}\n# Recorded with {version_of(program)}\n\n"
    places = {f"{os.path.dirname(sys.executable)}/": "/usr/bin/"}
    for name, command in LIBRARIES.items():
        if shutil.which(command[0]):
            folder_of_library = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
            places[f"{folder_of_library}/"] = f"/usr/lib/{name}/" if name != "python" else "/usr/lib/python3.11/"
    for number, crash in enumerate(crashes):
        folder = base / f"{language}{number}"
        folder.mkdir()
        stderr = stderr_of(crash, folder).replace(str(folder), "{folder}")
        for place, shown in places.items():
            stderr = stderr.replace(place, shown)
        crash.stderr = stderr
    write(language, head, crashes)


def main(languages: list[str]) -> None:
    with tempfile.TemporaryDirectory() as base:
        for language in languages or [name for name, program in LANGUAGES.items() if shutil.which(program)]:
            record(language, Path(base))


if __name__ == "__main__":
    main(sys.argv[1:])
